//! Small recordings made by hand, for tests: a scene of pods, requests and log lines, in milliseconds of the run.

use rollscope_records::{
    EndKind, Lane, LogRecord, LogSource, ObjectKind, Outcome, Phase, Recording, RequestRecord,
    RunEnd, RunOffset, RunRecord, StageEvent, StageRecord, TargetFacts, WatchRecord, WatchType,
    marks,
};
use serde_json::{Value, json};

use crate::kube_time::rfc3339;

/// The wall clock at the start of every scene: on a whole second.
pub(crate) const WALL: i64 = 1_796_036_900 * 1_000_000_000;

/// A recording that is being made.
pub(crate) struct Scene {
    /// Everything but the requests.
    pub(crate) recording: Recording,
    pub(crate) requests: Vec<RequestRecord>,
    seq: u64,
    connection: u64,
    version: u64,
}

/// A pod that is being described; times in milliseconds of the run.
#[derive(Clone)]
pub(crate) struct PodScript {
    name: String,
    hash: String,
    revision: u64,
    grace: i64,
    sleep: Option<i64>,
    exec_hook: bool,
    probe: Option<i64>,
    started: i64,
    ready: i64,
    restarts: Vec<(i64, i64, i64, String)>,
    kubelet_kill: Option<i64>,
    deleted: Option<i64>,
    not_ready: Option<i64>,
    exit: Option<(i64, i64, String)>,
    proxy: Option<(i64, i64)>,
    evicted: bool,
}

fn wall(ms: i64) -> i64 {
    WALL + ms * 1_000_000
}

/// A `metav1.Time`: truncated to the second.
fn second(ms: i64) -> String {
    let text = rfc3339(wall(ms).div_euclid(1_000_000_000) * 1_000_000_000);
    text.replace(".000", "")
}

impl Scene {
    /// A run of 20 requests a second without anything in it, with a stage `restart` from 5 s on.
    pub(crate) fn new() -> Self {
        let run = RunRecord {
            rate_per_second: 20.0,
            end: Some(RunEnd {
                at: RunOffset::from_millis(60_000),
                how: EndKind::Completed,
                reason: None,
            }),
            ..RunRecord::new(
                "run",
                "scene",
                "test",
                WALL,
                TargetFacts {
                    namespace: Some("shop".to_owned()),
                    workload: Some("deployment/web".to_owned()),
                    services: vec!["web".to_owned()],
                    ..TargetFacts::of("kubernetes")
                },
            )
        };
        let mut scene = Self {
            recording: Recording::new(run),
            requests: Vec::new(),
            seq: 0,
            connection: 0,
            version: 0,
        };
        scene.stage(5_000, StageEvent::Started, "");
        scene.stage(5_010, StageEvent::Mark, marks::ROLLOUT_REQUESTED);
        scene.stage(50_000, StageEvent::Completed, "");
        scene
    }

    pub(crate) fn stage(&mut self, at: i64, event: StageEvent, detail: &str) {
        self.recording.stages.push(StageRecord {
            at: RunOffset::from_millis(at),
            stage: 1,
            kind: "restart".to_owned(),
            event,
            detail: detail.to_owned(),
        });
    }

    /// A pod of the template `hash`; `h1` is the first revision, `h2` the second.
    pub(crate) fn pod(&self, name: &str, hash: &str) -> PodScript {
        PodScript {
            name: name.to_owned(),
            hash: hash.to_owned(),
            revision: if hash == "h1" { 1 } else { 2 },
            grace: 30,
            sleep: None,
            exec_hook: false,
            probe: Some(1),
            started: -5_000,
            ready: -4_000,
            restarts: Vec::new(),
            kubelet_kill: None,
            deleted: None,
            not_ready: None,
            exit: None,
            proxy: None,
            evicted: false,
        }
    }

    pub(crate) fn watch(&mut self, at: i64, kind: ObjectKind, event: WatchType, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.recording.watch.push(WatchRecord::Event {
            at: RunOffset::from_millis(at),
            kind,
            event,
            object,
        });
    }

    /// The recording as a whole.
    pub(crate) fn recorded(&self) -> Recording {
        let mut recording = self.recording.clone();
        recording.requests = self.requests.clone().into();
        recording
    }

    pub(crate) fn log(&mut self, at: i64, pod: &str, line: &str) {
        self.recording.logs.push(LogRecord {
            at: RunOffset::from_millis(at),
            source: LogSource::Container {
                pod: pod.to_owned(),
                container: "web".to_owned(),
            },
            timestamp: None,
            line: line.to_owned(),
        });
    }

    /// A new connection's id.
    pub(crate) fn connection(&mut self) -> u64 {
        self.connection += 1;
        self.connection
    }

    fn request(&mut self, lane: Lane, at: i64, took: i64) -> &mut RequestRecord {
        let seq = self.seq;
        self.seq += 1;
        let mut r = RequestRecord::scheduled(seq, lane, "list", RunOffset::from_millis(at));
        r.dispatched = Some(r.scheduled);
        r.written = Some(r.scheduled);
        r.ended = Some(RunOffset::from_millis(at + took));
        r.phase = Phase::Head;
        self.requests.push(r);
        let last = self.requests.len() - 1;
        &mut self.requests[last]
    }

    /// A request on a connection of its own, answered by `pod`.
    pub(crate) fn ok_new(&mut self, at: i64, took: i64, pod: &str) {
        let connection = self.connection();
        let r = self.request(Lane::New, at, took);
        (r.outcome, r.status, r.phase) = (Outcome::Ok, Some(200), Phase::Done);
        (r.pod, r.connection, r.ordinal) = (Some(pod.to_owned()), Some(connection), Some(0));
    }

    /// A request on `connection`, answered by `pod`.
    pub(crate) fn ok(
        &mut self,
        at: i64,
        took: i64,
        pod: &str,
        connection: u64,
    ) -> &mut RequestRecord {
        let r = self.request(Lane::Reused, at, took);
        (r.outcome, r.status, r.phase) = (Outcome::Ok, Some(200), Phase::Done);
        (r.pod, r.connection) = (Some(pod.to_owned()), Some(connection));
        r.reused = true;
        r
    }

    /// Requests on one connection of `pod`, every `step` in `[from, to)`, answered at once.
    pub(crate) fn keep(&mut self, from: i64, to: i64, step: i64, pod: &str) -> u64 {
        let connection = self.connection();
        let mut at = from;
        while at < to {
            self.ok(at, 3, pod, connection);
            at += step;
        }
        connection
    }

    /// A response of the endpoint `name` that was cut in its body.
    pub(crate) fn cut_stream(
        &mut self,
        name: &str,
        at: i64,
        took: i64,
        connection: u64,
    ) -> &mut RequestRecord {
        let r = self.cut(at, took, connection);
        (r.outcome, r.phase, r.status) = (Outcome::TruncatedBody, Phase::Body, Some(200));
        r.first_byte = Some(RunOffset::from_millis(at + 5));
        r.name = name.to_owned();
        r
    }

    /// A node is cordoned.
    pub(crate) fn cordon(&mut self, at: i64) {
        let node =
            json!({"kind": "Node", "metadata": {"name": "node1"}, "spec": {"unschedulable": true}});
        self.watch(at, ObjectKind::Node, WatchType::Modified, node);
    }

    pub(crate) fn refused(&mut self, at: i64) -> &mut RequestRecord {
        let r = self.request(Lane::New, at, 1);
        (r.outcome, r.phase) = (Outcome::ConnectRefused, Phase::Connect);
        r
    }

    pub(crate) fn cut(&mut self, at: i64, took: i64, connection: u64) -> &mut RequestRecord {
        let r = self.request(Lane::Reused, at, took);
        (r.outcome, r.connection, r.reused) = (Outcome::EofBeforeHeaders, Some(connection), true);
        r
    }

    /// An answer with `status`, by `pod` or by something in front (`None`).
    pub(crate) fn status(
        &mut self,
        at: i64,
        took: i64,
        status: u16,
        pod: Option<&str>,
    ) -> &mut RequestRecord {
        let r = self.request(Lane::New, at, took);
        (r.outcome, r.status, r.phase) = (Outcome::Status, Some(status), Phase::Done);
        r.pod = pod.map(str::to_owned);
        if pod.is_none() {
            r.emitted_by = Some("server=ingress".to_owned());
        }
        r
    }
}

impl PodScript {
    pub(crate) fn grace(mut self, seconds: i64) -> Self {
        self.grace = seconds;
        self
    }

    pub(crate) fn pre_stop_sleep(mut self, seconds: i64) -> Self {
        self.sleep = Some(seconds);
        self
    }

    pub(crate) fn pre_stop_exec(mut self) -> Self {
        self.exec_hook = true;
        self
    }

    pub(crate) fn no_probe(mut self) -> Self {
        self.probe = None;
        self
    }

    pub(crate) fn started(mut self, at: i64) -> Self {
        self.started = at;
        self
    }

    pub(crate) fn ready(mut self, at: i64) -> Self {
        self.ready = at;
        self
    }

    pub(crate) fn deleted(mut self, at: i64) -> Self {
        self.deleted = Some(at);
        self
    }

    pub(crate) fn not_ready(mut self, at: i64) -> Self {
        self.not_ready = Some(at);
        self
    }

    pub(crate) fn exit(mut self, at: i64, code: i64, reason: &str) -> Self {
        self.exit = Some((at, code, reason.to_owned()));
        self
    }

    /// A proxy container beside the server, which ends at `at` with `code`.
    pub(crate) fn proxy_ends(mut self, at: i64, code: i64) -> Self {
        self.proxy = Some((at, code));
        self
    }

    /// The deletion is an eviction.
    pub(crate) fn evicted(mut self) -> Self {
        self.evicted = true;
        self
    }

    /// The container ends at `at` and runs again at `again`.
    pub(crate) fn restarts(mut self, at: i64, again: i64, code: i64, reason: &str) -> Self {
        self.restarts.push((at, again, code, reason.to_owned()));
        self
    }

    /// The kubelet kills the container for its liveness probe.
    pub(crate) fn kubelet_kill(mut self, at: i64) -> Self {
        self.kubelet_kill = Some(at);
        self
    }

    /// Writes its watch events.
    pub(crate) fn add(self, scene: &mut Scene) {
        let mut state = State {
            ready: false,
            phase: "Pending",
            container: json!({"waiting": {"reason": "ContainerCreating"}}),
            last: Value::Null,
            restarts: 0,
            deletion: None,
            proxy: json!({"running": {"startedAt": second(self.started)}}),
        };
        self.replica_set(scene);
        let first = if self.started < 0 {
            -1_000
        } else {
            self.started - 300
        };
        if self.started < 0 {
            state.run(self.started);
            state.ready = true;
            self.see(scene, first, WatchType::Added, &state);
        } else {
            self.see(scene, first, WatchType::Added, &state);
            state.run(self.started);
            self.see(scene, self.started, WatchType::Modified, &state);
            state.ready = true;
            self.see(scene, self.ready, WatchType::Modified, &state);
        }
        self.play_restarts(scene, &mut state);
        self.play_end(scene, &mut state);
    }

    fn play_restarts(&self, scene: &mut Scene, state: &mut State) {
        if let Some(at) = self.kubelet_kill {
            self.event(scene, at, "Unhealthy", "Liveness probe failed");
            let will = "Container web failed liveness probe, will be restarted";
            self.event(scene, at + 1, "Killing", will);
        }
        for (at, again, code, reason) in &self.restarts {
            state.end(*at, *code, reason);
            state.ready = false;
            self.see(scene, at + 200, WatchType::Modified, state);
            state.last = state.container.clone();
            state.restarts += 1;
            state.run(*again);
            self.see(scene, *again, WatchType::Modified, state);
            state.ready = true;
            self.see(scene, again + 1_000, WatchType::Modified, state);
        }
    }

    fn play_end(&self, scene: &mut Scene, state: &mut State) {
        if let Some(at) = self.deleted {
            state.deletion = Some((second(at + self.grace * 1_000), self.grace));
            self.see(scene, at + 10, WatchType::Modified, state);
            self.event(scene, at + 20, "Killing", "Stopping container web");
        }
        if let Some(at) = self.not_ready {
            state.ready = false;
            self.see(scene, at, WatchType::Modified, state);
        }
        let last = self.exit.as_ref().map_or(i64::MAX, |(at, ..)| *at);
        if let Some((at, code)) = self.proxy {
            state.proxy = ended(at, code, if code == 0 { "Completed" } else { "Error" });
            if at < last {
                self.see(scene, at + 200, WatchType::Modified, state);
            }
        }
        if let Some((at, code, reason)) = &self.exit {
            state.ready = false;
            state.end(*at, *code, reason);
            state.phase = if *code == 0 { "Succeeded" } else { "Failed" };
            self.see(scene, at + 200, WatchType::Modified, state);
            state.deletion = Some((second(at + 700), 0));
            self.see(scene, at + 690, WatchType::Modified, state);
            self.see(scene, at + 700, WatchType::Deleted, state);
        }
    }

    fn replica_set(&self, scene: &mut Scene) {
        let object = json!({"kind": "ReplicaSet", "metadata": {
            "name": format!("web-{}", self.hash),
            "labels": {"pod-template-hash": self.hash},
            "annotations": {"deployment.kubernetes.io/revision": self.revision.to_string()},
        }});
        let at = if self.revision == 1 { -1_000 } else { 5_050 };
        scene.watch(at, ObjectKind::ReplicaSet, WatchType::Added, object);
    }

    fn event(&self, scene: &mut Scene, at: i64, reason: &str, message: &str) {
        let object = json!({"kind": "Event", "reason": reason, "message": message,
            "metadata": {"name": format!("{}.{at}", self.name)}, "involvedObject": {"kind": "Pod", "name": self.name}});
        scene.watch(at, ObjectKind::Event, WatchType::Added, object);
    }

    fn see(&self, scene: &mut Scene, at: i64, event: WatchType, state: &State) {
        let object = self.object(state);
        scene.watch(at, ObjectKind::Pod, event, object);
        let endpoints = if state.phase == "Running" {
            let terminating = state.deletion.is_some();
            json!([{"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod", "name": self.name},
                "conditions": {"ready": state.ready && !terminating, "serving": state.ready, "terminating": terminating}}])
        } else {
            json!([])
        };
        // One slice a pod: the slices of a service add up.
        let slice = json!({"kind": "EndpointSlice", "metadata": {"name": format!("web-{}", self.name),
            "labels": {"kubernetes.io/service-name": "web"}}, "endpoints": endpoints, "ports": [{"port": 8080}]});
        scene.watch(
            at + 5,
            ObjectKind::EndpointSlice,
            WatchType::Modified,
            slice,
        );
    }

    fn object(&self, state: &State) -> Value {
        let mut container = json!({"name": "web", "image": "any", "ports": [{"name": "http", "containerPort": 8080}]});
        if let Some(period) = self.probe {
            container["readinessProbe"] = json!({"httpGet": {"path": "/ready", "port": 9090}, "periodSeconds": period, "failureThreshold": 1, "timeoutSeconds": 1});
        }
        if let Some(s) = self.sleep {
            container["lifecycle"] = json!({"preStop": {"sleep": {"seconds": s}}});
        }
        if self.exec_hook {
            container["lifecycle"] = json!({"preStop": {"exec": {"command": ["any"]}}});
        }
        let mut object = json!({"kind": "Pod",
            "metadata": {"name": self.name, "uid": format!("uid-{}", self.name), "creationTimestamp": second(self.started - 300),
                "labels": {"pod-template-hash": self.hash}},
            "spec": {"nodeName": "node1", "terminationGracePeriodSeconds": self.grace, "containers": [container]},
            "status": {"phase": state.phase,
                "conditions": [{"type": "Ready", "status": if state.ready { "True" } else { "False" }}],
                "containerStatuses": [{"name": "web", "ready": state.ready, "restartCount": state.restarts,
                    "state": state.container, "lastState": if state.last.is_null() { json!({}) } else { state.last.clone() }}]}});
        if self.proxy.is_some() {
            let beside = json!({"name": "istio-proxy", "image": "any"});
            object["spec"]["containers"] = json!([beside, object["spec"]["containers"][0]]);
            let status = json!({"name": "istio-proxy", "ready": true, "restartCount": 0, "state": state.proxy, "lastState": {}});
            object["status"]["containerStatuses"] =
                json!([status, object["status"]["containerStatuses"][0]]);
        }
        if self.evicted && state.deletion.is_some() {
            let ready = object["status"]["conditions"][0].clone();
            object["status"]["conditions"] = json!([ready, {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]);
        }
        if let Some((at, grace)) = &state.deletion {
            object["metadata"]["deletionTimestamp"] = json!(at);
            object["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
        }
        object
    }
}

struct State {
    ready: bool,
    phase: &'static str,
    container: Value,
    last: Value,
    restarts: u64,
    deletion: Option<(String, i64)>,
    /// State of the proxy container, where there is one.
    proxy: Value,
}

fn ended(at: i64, code: i64, reason: &str) -> Value {
    json!({"terminated": {"exitCode": code, "reason": reason,
        "startedAt": second(at - 60_000), "finishedAt": second(at), "containerID": format!("id-{at}")}})
}

impl State {
    fn run(&mut self, at: i64) {
        self.phase = "Running";
        self.container = json!({"running": {"startedAt": second(at)}});
    }

    fn end(&mut self, at: i64, code: i64, reason: &str) {
        self.container = ended(at, code, reason);
    }
}
