//! The API as a client on a raw socket sees it.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rollscope_sandbox::api::ApiServer;
use rollscope_sandbox::logs::{LogStore, LogStream};
use rollscope_sandbox::{Kind, Store};
use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_secs(20);
const PODS: &str = "/api/v1/namespaces/shop/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/shop/deployments";

struct Api {
    store: Store,
    logs: LogStore,
    address: SocketAddr,
    _server: ApiServer,
}

/// A response: status, headers in lower case, and the body's bytes as they come.
struct Answer {
    status: u16,
    head: String,
    body: BufReader<TcpStream>,
    chunked: bool,
}

impl Answer {
    fn text(mut self) -> String {
        let mut whole = String::new();
        if !self.chunked {
            let length = self.header("content-length").unwrap().parse().unwrap();
            let mut bytes = vec![0; length];
            self.body.read_exact(&mut bytes).unwrap();
            return String::from_utf8(bytes).unwrap();
        }
        while let Some(piece) = self.chunk() {
            whole.push_str(&piece);
        }
        whole
    }

    fn json(self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|l| l.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The next chunk; `None` at the end.
    fn chunk(&mut self) -> Option<String> {
        let mut size = String::new();
        self.body.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut bytes = vec![0; size + 2];
        self.body.read_exact(&mut bytes).unwrap();
        bytes.truncate(size);
        (size > 0).then(|| String::from_utf8(bytes).unwrap())
    }

    /// The next event of a watch.
    fn event(&mut self) -> Value {
        serde_json::from_str(&self.chunk().expect("the watch goes on")).unwrap()
    }

    fn kind_and_name(&mut self) -> (String, String) {
        let event = self.event();
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        (
            text(&event["type"]),
            text(&event["object"]["metadata"]["name"]),
        )
    }
}

impl Api {
    async fn start() -> Self {
        let (store, logs) = (Store::new(), LogStore::new());
        let server = ApiServer::start(store.clone(), logs.clone(), 0)
            .await
            .unwrap();
        Self {
            address: server.address(),
            store,
            logs,
            _server: server,
        }
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        )
        .unwrap();
        let mut body = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(body.read_line(&mut head).unwrap() > 0, "{head}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let chunked = head.contains("transfer-encoding: chunked");
        Answer {
            status,
            head,
            body,
            chunked,
        }
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", "")
    }

    fn patch(&self, path: &str, kind: &str, body: &Value) -> Answer {
        self.send(
            "PATCH",
            path,
            &format!("content-type: application/{kind}\r\n"),
            &body.to_string(),
        )
    }

    fn pod(&self, name: &str) {
        self.store.create(Kind::Pod, pod(name)).unwrap();
    }

    fn deployment(&self) -> Value {
        let answer = self.send(
            "POST",
            DEPLOYMENTS,
            "content-type: application/json\r\n",
            &deployment().to_string(),
        );
        assert_eq!(answer.status, 201);
        answer.json()
    }
}

fn pod(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"nodeName": "node1", "containers": [{"name": "web"}], "terminationGracePeriodSeconds": 30},
        "status": {"phase": "Running"},
    })
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "a"}]}},
        },
    })
}

fn is_status(answer: Answer, code: u16, reason: &str) {
    assert_eq!(answer.status, code);
    let status = answer.json();
    assert_eq!(status["kind"], "Status", "{status}");
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&json!(code), &json!(reason)),
        "{status}"
    );
    assert_eq!(status["status"], "Failure");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_tells_the_second_it_was_made_in() {
    let api = Api::start().await;
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs()
    };
    for path in [
        "/version",
        "/healthz",
        "/api/v1/pods",
        "/nowhere",
        "/api/v1/pods?watch=true",
    ] {
        let before = now();
        let answer = api.get(path);
        let after = now();
        let date = answer.header("date").unwrap();
        let time = jiff::fmt::rfc2822::parse(date)
            .unwrap()
            .timestamp()
            .as_second();
        assert!(
            (before..=after).contains(&u64::try_from(time).unwrap()),
            "{path}: {date}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_names_all_resources() {
    let api = Api::start().await;
    assert_eq!(api.get("/api").json()["versions"], json!(["v1"]));
    let groups = api.get("/apis").json();
    assert_eq!(groups["groups"].as_array().unwrap().len(), 2);
    let core = api.get("/api/v1").json();
    let names: Vec<&str> = core["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["name"].as_str().unwrap())
        .collect();
    for name in [
        "pods",
        "pods/log",
        "services",
        "events",
        "nodes",
        "namespaces",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(api.get("/readyz").text(), "ok");
    for path in ["/openapi/v2", "/openapi/v3", "/apis/batch"] {
        is_status(api.get(path), 404, "NotFound");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_goes_on_from_a_list() {
    let api = Api::start().await;
    api.pod("a");
    let list = api.get(PODS).json();
    assert_eq!(list["kind"], "PodList");
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = api.get(&format!(
        "{PODS}?watch=true&resourceVersion={version}&fieldSelector=metadata.name!%3Dc"
    ));
    api.pod("b");
    api.pod("c");
    api.store
        .update(Kind::Pod, "shop", "b", |p| {
            p["status"]["phase"] = json!("Failed")
        })
        .unwrap();
    api.store.remove(Kind::Pod, "shop", "a").unwrap();
    let seen: Vec<(String, String)> = (0..3).map(|_| watch.kind_and_name()).collect();
    let expected = [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "a")];
    assert_eq!(seen, expected.map(|(k, n)| (k.to_owned(), n.to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_without_a_version_begins_with_what_is_there() {
    let api = Api::start().await;
    api.pod("a");
    for query in ["", "&resourceVersion=0"] {
        let mut watch = api.get(&format!("{PODS}?watch=1{query}"));
        assert_eq!(watch.kind_and_name(), ("ADDED".to_owned(), "a".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_stops_to_be_selected_is_deleted_for_the_watch() {
    let api = Api::start().await;
    api.pod("a");
    let version = api.store.version();
    let mut watch = api.get(&format!(
        "{PODS}?watch=true&resourceVersion={version}&fieldSelector=status.phase%3DRunning"
    ));
    let phase = |phase: &str| {
        api.store
            .update(Kind::Pod, "shop", "a", |p| {
                p["status"]["phase"] = json!(phase)
            })
            .unwrap();
    };
    phase("Failed");
    phase("Succeeded");
    phase("Running");
    assert_eq!(watch.kind_and_name().0, "DELETED");
    assert_eq!(watch.kind_and_name().0, "ADDED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streaming_list_ends_its_beginning_with_a_bookmark() {
    let api = Api::start().await;
    api.pod("a");
    let query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = api.get(&format!("{PODS}?{query}"));
    assert_eq!(watch.kind_and_name().0, "ADDED");
    let bookmark = watch.event();
    assert_eq!(bookmark["type"], "BOOKMARK");
    let meta = &bookmark["object"]["metadata"];
    assert_eq!(meta["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(meta["resourceVersion"], "1");
    is_status(
        api.get(&format!("{PODS}?watch=true&sendInitialEvents=true")),
        400,
        "BadRequest",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bookmarks_tell_how_far_a_watch_has_come() {
    let api = Api::start().await;
    let mut watch = api.get(&format!("{PODS}?watch=true&allowWatchBookmarks=true"));
    // Nothing of this is a pod.
    api.store
        .create(
            Kind::Event,
            json!({"metadata": {"name": "e", "namespace": "shop"}}),
        )
        .unwrap();
    let bookmark = watch.event();
    assert_eq!(
        (
            &bookmark["type"],
            &bookmark["object"]["metadata"]["resourceVersion"]
        ),
        (&json!("BOOKMARK"), &json!("1"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_ends_after_its_timeout() {
    let api = Api::start().await;
    let watch = api.get(&format!("{PODS}?watch=true&timeoutSeconds=1"));
    assert_eq!(watch.text(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_no_longer_kept_is_gone() {
    let api = Api::start().await;
    api.pod("a");
    api.pod("b");
    api.store.compact();
    let mut watch = api.get(&format!("{PODS}?watch=true&resourceVersion=1"));
    let event = watch.event();
    assert_eq!(event["type"], "ERROR");
    assert_eq!(
        (&event["object"]["code"], &event["object"]["reason"]),
        (&json!(410), &json!("Expired"))
    );
    assert!(watch.chunk().is_none());
    is_status(
        api.get(&format!(
            "{PODS}?resourceVersion=1&resourceVersionMatch=Exact"
        )),
        410,
        "Expired",
    );
    is_status(
        api.get(&format!("{PODS}?resourceVersion=99")),
        504,
        "Timeout",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_served_to_those_who_ask() {
    let api = Api::start().await;
    api.pod("a");
    let accept = "accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json\r\n";
    let table = api.send("GET", PODS, accept, "").json();
    assert_eq!(
        (&table["kind"], &table["rows"][0]["cells"][0]),
        (&json!("Table"), &json!("a"))
    );
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let mut watch = api.send(
        "GET",
        &format!("{PODS}?watch=true&includeObject=Object"),
        accept,
        "",
    );
    let event = watch.event();
    assert_eq!(
        (
            &event["object"]["kind"],
            &event["object"]["rows"][0]["object"]["kind"]
        ),
        (&json!("Table"), &json!("Pod"))
    );
    let protobuf = "accept: application/vnd.kubernetes.protobuf,application/json\r\n";
    assert_eq!(
        api.send("GET", PODS, protobuf, "").json()["kind"],
        "PodList"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_are_checked() {
    let api = Api::start().await;
    let made = api.deployment();
    assert_eq!(made["spec"]["progressDeadlineSeconds"], 600);
    let web = format!("{DEPLOYMENTS}/web");
    let again = api.send(
        "POST",
        DEPLOYMENTS,
        "content-type: application/json\r\n",
        &deployment().to_string(),
    );
    is_status(again, 409, "AlreadyExists");
    is_status(api.get(&format!("{DEPLOYMENTS}/other")), 404, "NotFound");
    is_status(
        api.patch(&web, "apply-patch+yaml", &json!({})),
        415,
        "UnsupportedMediaType",
    );
    is_status(
        api.patch(&web, "merge-patch+json", &json!({"spec": {"replicas": -1}})),
        422,
        "Invalid",
    );
    is_status(
        api.patch(
            &web,
            "merge-patch+json",
            &json!({"spec": {"replicas": "x"}}),
        ),
        422,
        "Invalid",
    );
    let selector = json!({"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}}}}});
    is_status(
        api.patch(&web, "merge-patch+json", &selector),
        422,
        "Invalid",
    );
    is_status(
        api.send(
            "PATCH",
            &web,
            "content-type: application/merge-patch+json\r\n",
            "{",
        ),
        400,
        "BadRequest",
    );
    is_status(
        api.send("DELETE", DEPLOYMENTS, "", ""),
        405,
        "MethodNotAllowed",
    );
    assert_eq!(
        *api.store.get(Kind::Deployment, "shop", "web").unwrap(),
        made
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_replacement_conflicts() {
    let api = Api::start().await;
    let first = api.deployment();
    let web = format!("{DEPLOYMENTS}/web");
    let put = |object: &Value| {
        api.send(
            "PUT",
            &web,
            "content-type: application/json\r\n",
            &object.to_string(),
        )
    };
    let mut second = first.clone();
    second["spec"]["replicas"] = json!(5);
    second["status"] = json!({"replicas": 99});
    let written = put(&second).json();
    assert_eq!(
        (
            &written["spec"]["replicas"],
            &written["metadata"]["generation"]
        ),
        (&json!(5), &json!(2))
    );
    assert_eq!(written["status"], json!({}));
    is_status(put(&first), 409, "Conflict");
    let stale = json!({"metadata": {"resourceVersion": "1"}, "spec": {"paused": true}});
    is_status(
        api.patch(&web, "strategic-merge-patch+json", &stale),
        409,
        "Conflict",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_writes_nothing() {
    let api = Api::start().await;
    api.deployment();
    api.pod("a");
    let version = api.store.version();
    let patched = api.patch(
        &format!("{DEPLOYMENTS}/web?dryRun=All"),
        "merge-patch+json",
        &json!({"spec": {"replicas": 9}}),
    );
    assert_eq!(patched.json()["spec"]["replicas"], 9);
    assert_eq!(
        api.send("DELETE", &format!("{PODS}/a?dryRun=All"), "", "")
            .status,
        200
    );
    assert_eq!(
        api.patch(
            &format!("{DEPLOYMENTS}/web/scale?dryRun=All"),
            "merge-patch+json",
            &json!({"spec": {"replicas": 9}})
        )
        .status,
        200
    );
    assert_eq!(api.store.version(), version);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scale_is_read_and_written() {
    let api = Api::start().await;
    api.deployment();
    let scale = api.get(&format!("{DEPLOYMENTS}/web/scale")).json();
    assert_eq!(
        (&scale["kind"], &scale["spec"]["replicas"]),
        (&json!("Scale"), &json!(3))
    );
    assert_eq!(scale["status"]["selector"], "app=web");
    let patched = api
        .patch(
            &format!("{DEPLOYMENTS}/web/scale"),
            "merge-patch+json",
            &json!({"spec": {"replicas": 7}}),
        )
        .json();
    assert_eq!(patched["spec"]["replicas"], 7);
    let deployment = api.store.get(Kind::Deployment, "shop", "web").unwrap();
    assert_eq!(
        (
            &deployment["spec"]["replicas"],
            &deployment["metadata"]["generation"]
        ),
        (&json!(7), &json!(2))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_are_deleted_with_the_grace_that_is_asked_for() {
    let api = Api::start().await;
    for name in ["own", "query", "body", "forced", "evicted", "kept"] {
        api.pod(name);
    }
    let grace = |name: &str| {
        api.get(&format!("{PODS}/{name}")).json()["metadata"]["deletionGracePeriodSeconds"].clone()
    };
    assert_eq!(
        api.send("DELETE", &format!("{PODS}/own"), "", "").json()["kind"],
        "Pod"
    );
    assert_eq!(grace("own"), 30);
    api.send(
        "DELETE",
        &format!("{PODS}/query?gracePeriodSeconds=5"),
        "",
        "",
    );
    assert_eq!(grace("query"), 5);
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 7});
    api.send(
        "DELETE",
        &format!("{PODS}/body"),
        "content-type: application/json\r\n",
        &options.to_string(),
    );
    assert_eq!(grace("body"), 7);
    api.send(
        "DELETE",
        &format!("{PODS}/forced?gracePeriodSeconds=0"),
        "",
        "",
    );
    assert_eq!(api.get(&format!("{PODS}/forced")).status, 404);
    let eviction =
        json!({"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "evicted"}});
    let evicted = api.send(
        "POST",
        &format!("{PODS}/evicted/eviction"),
        "content-type: application/json\r\n",
        &eviction.to_string(),
    );
    assert_eq!(evicted.status, 201);
    assert_eq!(grace("evicted"), 30);
    let options = json!({"preconditions": {"uid": "another"}});
    let refused = api.send(
        "DELETE",
        &format!("{PODS}/kept"),
        "content-type: application/json\r\n",
        &options.to_string(),
    );
    is_status(refused, 409, "Conflict");
    assert_eq!(grace("kept"), Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_read_in_part_and_followed_to_the_end() {
    let api = Api::start().await;
    api.pod("a");
    let log = |query: &str| api.get(&format!("{PODS}/a/log?{query}"));
    is_status(log(""), 400, "BadRequest");
    let writer = api.logs.start("shop", "a", "web");
    for line in ["one", "two", "three"] {
        writer.line(LogStream::Stdout, line, false);
    }
    assert_eq!(log("").text(), "one\ntwo\nthree\n");
    assert_eq!(log("tailLines=1").text(), "three\n");
    assert_eq!(log("limitBytes=5").text(), "one\nt");
    assert_eq!(log("sinceTime=2999-01-01T00%3A00%3A00Z").text(), "");
    let stamped = log("timestamps=true&tailLines=1").text();
    let (time, line) = stamped.split_once(' ').unwrap();
    assert_eq!(
        (time.len(), line),
        ("2026-01-01T00:00:00.123456789Z".len(), "three\n")
    );
    is_status(log("container=other"), 400, "BadRequest");
    is_status(log("previous=true"), 400, "BadRequest");
    let mut following = log("follow=true&tailLines=0");
    writer.line(LogStream::Stderr, "four", false);
    assert_eq!(following.chunk().unwrap(), "four\n");
    drop(writer);
    assert!(following.chunk().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_allowed() {
    let api = Api::start().await;
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let review = json!({"kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {"verb": "delete"}}});
    let answer = api.send(
        "POST",
        path,
        "content-type: application/json\r\n",
        &review.to_string(),
    );
    assert_eq!(answer.json()["status"]["allowed"], true);
}
