//! A kubelet with a store, and independent witnesses: the process table and raw sockets.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(dead_code, reason = "each test program uses its part")]

use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rollscope_sandbox::kubelet::{Kubelet, KubeletConfig};
use rollscope_sandbox::logs::LogStore;
use rollscope_sandbox::{Change, ChangeType, Kind, Store};
use serde_json::{Value, json};

/// The test program that knows the hidden subcommands.
pub(crate) fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_sandbox-shim").into()
}

/// A node with its store and logs.
pub(crate) struct Cluster {
    pub(crate) store: Store,
    pub(crate) logs: LogStore,
    pub(crate) kubelet: Kubelet,
    created: std::sync::Mutex<Vec<(Instant, Change)>>,
}

impl Cluster {
    pub(crate) fn start() -> Arc<Self> {
        let (store, logs) = (Store::new(), LogStore::new());
        let kubelet = Kubelet::start(KubeletConfig {
            store: store.clone(),
            logs: logs.clone(),
            program: program(),
            node_name: "node1".to_owned(),
            working_dir: "/".into(),
            seed: 7,
            inherit_env: false,
            link_program: true,
        })
        .unwrap();
        let cluster = Arc::new(Self {
            store,
            logs,
            kubelet,
            created: Default::default(),
        });
        let (weak, mut pods) = (Arc::downgrade(&cluster), cluster.store.watch(Kind::Pod, 0));
        tokio::spawn(async move {
            while let Ok(change) = pods.next().await {
                let Some(cluster) = weak.upgrade() else { break };
                cluster
                    .created
                    .lock()
                    .unwrap()
                    .push((Instant::now(), change));
            }
        });
        cluster
    }

    /// Creates a pod that is already bound to the node.
    pub(crate) fn create(&self, pod: Value) {
        self.store.create(Kind::Pod, pod).unwrap();
    }

    pub(crate) fn pod(&self) -> Option<Arc<Value>> {
        self.store.get(Kind::Pod, "shop", "web")
    }

    /// What the API server does on DELETE.
    pub(crate) fn delete(&self, grace: i64) {
        let now = jiff::Timestamp::now();
        let until = now + jiff::SignedDuration::from_secs(grace);
        self.store
            .update(Kind::Pod, "shop", "web", |pod| {
                pod["metadata"]["generation"] = json!(2);
                let time = until.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                pod["metadata"]["deletionTimestamp"] = json!(time);
                pod["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
            })
            .unwrap();
    }

    /// Waits until the pod is as wanted.
    pub(crate) async fn until(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Arc<Value> {
        self.wait(what, || self.pod().filter(|p| wanted(p))).await
    }

    pub(crate) async fn until_ready(&self) -> Arc<Value> {
        self.until("ready", |p| condition(p, "Ready")["status"] == "True")
            .await
    }

    pub(crate) async fn until_gone(&self) {
        self.wait("gone", || self.pod().is_none().then_some(()))
            .await;
        // The recorder of changes has its turn.
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    /// Waits until a log line contains `text`; when that was.
    pub(crate) async fn until_logged(&self, text: &str) -> Instant {
        self.wait(text, || {
            let lines = self.logs.lines("shop", "web", "app");
            lines
                .iter()
                .any(|l| l.text.contains(text))
                .then(Instant::now)
        })
        .await
    }

    pub(crate) async fn wait<T>(&self, what: &str, found: impl Fn() -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(40);
        loop {
            if let Some(value) = found() {
                return value;
            }
            let logs: Vec<_> = self.logs.lines("shop", "web", "app");
            assert!(
                Instant::now() < deadline,
                "never {what}: {:#?} {logs:?} {:?}",
                self.pod(),
                self.events()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Every change of the pod with the time of its receipt.
    pub(crate) fn changes(&self) -> Vec<(Instant, Change)> {
        self.created.lock().unwrap().clone()
    }

    /// The last change before the removal that has a terminated container and the given grace.
    pub(crate) fn last_modified(&self) -> Arc<Value> {
        let changes = self.changes();
        let last = changes
            .iter()
            .rfind(|(_, c)| c.change == ChangeType::Modified);
        Arc::clone(&last.unwrap().1.object)
    }

    /// (reason, count, message) of the pod's events in their order.
    pub(crate) fn events(&self) -> Vec<(String, i64, String)> {
        let (mut events, _) = self.store.list(Kind::Event, Some("shop"));
        events.sort_by_key(|e| e["metadata"]["name"].as_str().map(str::to_owned));
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        events
            .iter()
            .map(|e| {
                (
                    text(&e["reason"]),
                    e["count"].as_i64().unwrap(),
                    text(&e["message"]),
                )
            })
            .collect()
    }

    pub(crate) fn event(&self, reason: &str) -> Option<(String, i64, String)> {
        self.events().into_iter().find(|e| e.0 == reason)
    }
}

/// A pod of one container `app`; `with` is merged into the container.
pub(crate) fn pod(command: &[&str], with: Value) -> Value {
    let mut container = json!({
        "name": "app",
        "image": "local/app:1",
        "command": command,
        "ports": [{"name": "http", "containerPort": 8080}],
    });
    for (field, value) in with.as_object().unwrap() {
        container[field] = value.clone();
    }
    pod_of(json!({"containers": [container]}))
}

/// A pod with this spec, bound to the node.
pub(crate) fn pod_of(mut spec: Value) -> Value {
    spec["nodeName"] = json!("node1");
    spec["restartPolicy"] = json!("Always");
    json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": spec})
}

pub(crate) fn condition<'a>(pod: &'a Value, kind: &str) -> &'a Value {
    let conditions = pod["status"]["conditions"].as_array();
    conditions
        .and_then(|all| all.iter().find(|c| c["type"] == kind))
        .unwrap_or(&Value::Null)
}

/// The state of the first container.
pub(crate) fn state(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]["state"]
}

/// Live processes (zombies do not count) whose command line contains the mark.
pub(crate) fn processes(mark: &str) -> Vec<(i32, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(mark) {
            found.push((pid, line));
        }
    }
    found
}

/// Waits until no process has the mark.
pub(crate) async fn until_no_process(mark: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !processes(mark).is_empty() {
        assert!(Instant::now() < deadline, "left: {:?}", processes(mark));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A mark that no other process has on its command line: a comment in a shell script.
pub(crate) fn mark() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("mark-{}-{n}-", std::process::id())
}

/// Whether something accepts connections there.
pub(crate) fn accepts(ip: &str, port: u16) -> bool {
    let address = format!("{ip}:{port}").parse().unwrap();
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
}
