//! Pods of `recording.txt`: what their words do to the objects that the watch shows.

use rollscope_records::{ObjectKind, WatchType};
use serde_json::{Value, json};

use super::parse::{self, Options};

const SECOND: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;

/// A change reaches the watch this much after it happened, ns ...
const WATCHED_AFTER: i64 = 10 * MS;

/// ... the end of a container this much, as the kubelet's status loop makes it.
const END_WATCHED_AFTER: i64 = 200 * MS;

/// A watch event, to be received at `at` (ns of the run).
pub(super) struct Seen {
    pub(super) at: i64,
    pub(super) kind: ObjectKind,
    pub(super) event: WatchType,
    pub(super) object: Value,
}

impl Seen {
    fn modified(at: i64, kind: ObjectKind, object: Value) -> Self {
        Self {
            at,
            kind,
            event: WatchType::Modified,
            object,
        }
    }
}

/// Writes a moment of the run (ns) as a clock does: the clock's name, the moment, whole seconds or ns.
pub(super) type Writer<'w> = dyn Fn(&str, i64, bool) -> String + 'w;

/// One pod and its present state.
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) template: u64,
    node: String,
    ip: String,
    grace: i64,
    /// Period in seconds and threshold.
    readiness: Option<(i64, i64)>,
    readiness_port: i64,
    pre_stop: Option<Value>,
    command: Option<Value>,
    /// `creationTimestamp`, once it exists.
    created: Option<String>,
    phase: &'static str,
    ready: bool,
    state: Value,
    last: Value,
    restarts: u64,
    deletion: Option<(String, i64)>,
    /// The name and the state of a proxy container beside the server.
    proxy: Option<(String, Value)>,
    evicted: bool,
}

impl Pod {
    /// `pod NAME template=1 grace=30s readiness=1s prestop=sleep:5s ...`; `number` makes its address.
    pub(super) fn declared(name: &str, options: &mut Options<'_>, number: usize) -> Option<Self> {
        let length = |text: Option<&str>, default: i64| match text {
            Some(text) => parse::length(text).map(|ns| ns / SECOND),
            None => Some(default),
        };
        Some(Self {
            name: name.to_owned(),
            template: options.take("template")?.parse().ok()?,
            node: options.take("node").unwrap_or("node1").to_owned(),
            ip: format!("10.0.0.{}", number + 1),
            grace: length(options.take("grace"), 30)?,
            readiness: match options.take("readiness") {
                Some("none") => None,
                Some(text) => Some(probe(text)?),
                None => Some((1, 1)),
            },
            readiness_port: options
                .take("readiness_port")
                .map_or(Some(9090), |p| p.parse().ok())?,
            pre_stop: options
                .take("prestop")
                .map_or(Some(None), |p| hook(p).map(Some))?,
            command: options.take("command").map(|c| c.split(',').collect()),
            created: None,
            phase: "Pending",
            ready: false,
            state: json!({"waiting": {"reason": "ContainerCreating"}}),
            last: json!({}),
            restarts: 0,
            deletion: None,
            proxy: options
                .take("proxy")
                .map(|name| (name.to_owned(), json!({}))),
            evicted: false,
        })
    }

    /// What the watch shows of `words` (comma-separated: `running, ready`), which happened at `at`. `None` when a word
    /// is not known.
    pub(super) fn happened(
        &mut self,
        at: i64,
        words: &str,
        write: &Writer<'_>,
    ) -> Option<Vec<Seen>> {
        let mut seen = Vec::new();
        let event = if self.created.is_none() {
            seen.push(self.replica_set(at));
            self.created = Some(write("api-server", at, true));
            WatchType::Added
        } else {
            WatchType::Modified
        };
        let mut after = WATCHED_AFTER;
        for word in words.split(',').map(str::trim) {
            let mut parts = word.split(' ');
            match (parts.next()?, parts.next(), parts.next()) {
                ("pending", None, None) => {}
                ("running", None, None) => self.run(at, write),
                ("ready", None, None) => self.ready = true,
                ("unready", None, None) => self.ready = false,
                ("deleted", None, None) => {
                    let due = write("api-server", at + self.grace * SECOND, true);
                    self.deletion = Some((due, self.grace));
                    seen.push(self.event(
                        at + 2 * WATCHED_AFTER,
                        "Killing",
                        "Stopping container web",
                    ));
                }
                ("evicted", None, None) => self.evicted = true,
                ("proxy-ended", Some(code), reason) => {
                    let state =
                        self.ended(at, code.parse().ok()?, reason.unwrap_or("Error"), write);
                    self.proxy.as_mut()?.1 = state;
                    after = END_WATCHED_AFTER;
                }
                ("ended", Some(code), reason) => {
                    self.end(at, code.parse().ok()?, reason.unwrap_or("Error"), write);
                    after = END_WATCHED_AFTER;
                }
                ("gone", None, None) => return Some(self.gone(at, write)),
                _ => return None,
            }
        }
        let object = self.object();
        seen.push(Seen {
            at: at + after,
            kind: ObjectKind::Pod,
            event,
            object,
        });
        seen.push(self.slice(at + after + 5 * MS));
        Some(seen)
    }

    /// An Event about it.
    pub(super) fn event(&self, at: i64, reason: &str, message: &str) -> Seen {
        let object = json!({"kind": "Event", "reason": reason, "message": message,
            "metadata": {"name": format!("{}.{at}", self.name)},
            "involvedObject": {"kind": "Pod", "name": self.name}});
        Seen {
            at,
            kind: ObjectKind::Event,
            event: WatchType::Added,
            object,
        }
    }

    /// The name of its node's clock.
    pub(super) fn clock(&self) -> String {
        format!("node/{}", self.node)
    }

    fn run(&mut self, at: i64, write: &Writer<'_>) {
        if self.state.get("terminated").is_some() {
            self.last = self.state.take();
            self.restarts += 1;
        }
        self.phase = "Running";
        self.state = json!({"running": {"startedAt": write(&self.clock(), at, true)}});
        if let Some((_, state)) = &mut self.proxy {
            state.clone_from(&self.state);
        }
    }

    /// The state of a container that ended.
    fn ended(&self, at: i64, code: i64, reason: &str, write: &Writer<'_>) -> Value {
        let finished = write(&self.clock(), at, true);
        json!({"terminated": {"exitCode": code, "reason": reason,
            "startedAt": self.state["running"]["startedAt"], "finishedAt": finished,
            "containerID": format!("{}-{}", self.name, self.restarts)}})
    }

    fn end(&mut self, at: i64, code: i64, reason: &str, write: &Writer<'_>) {
        self.state = self.ended(at, code, reason, write);
        self.ready = false;
        if self.deletion.is_some() {
            self.phase = if code == 0 { "Succeeded" } else { "Failed" };
        }
    }

    /// The kubelet sets the grace to 0, and the API server removes the object.
    fn gone(&mut self, at: i64, write: &Writer<'_>) -> Vec<Seen> {
        self.deletion = Some((write("api-server", at, true), 0));
        self.phase = if self.phase == "Succeeded" {
            "Succeeded"
        } else {
            "Failed"
        };
        let object = self.object();
        vec![
            Seen::modified(at, ObjectKind::Pod, object.clone()),
            Seen {
                at: at + WATCHED_AFTER,
                kind: ObjectKind::Pod,
                event: WatchType::Deleted,
                object,
            },
            self.slice(at + WATCHED_AFTER + 5 * MS),
        ]
    }

    fn replica_set(&self, at: i64) -> Seen {
        let hash = self.hash();
        let object = json!({"kind": "ReplicaSet", "metadata": {"name": format!("web-{hash}"),
            "labels": {"pod-template-hash": hash},
            "annotations": {"deployment.kubernetes.io/revision": self.template.to_string()}}});
        Seen {
            at,
            kind: ObjectKind::ReplicaSet,
            event: WatchType::Added,
            object,
        }
    }

    fn hash(&self) -> String {
        format!("h{}", self.template)
    }

    /// The slice of this pod alone: the slices of a service add up.
    fn slice(&self, at: i64) -> Seen {
        let terminating = self.deletion.is_some();
        let endpoints = if self.phase == "Running" {
            json!([{"addresses": [self.ip], "targetRef": {"kind": "Pod", "name": self.name},
                "conditions": {"ready": self.ready && !terminating, "serving": self.ready, "terminating": terminating}}])
        } else {
            json!([])
        };
        let object = json!({"kind": "EndpointSlice", "metadata": {"name": format!("web-{}", self.name),
            "labels": {"kubernetes.io/service-name": "web"}}, "endpoints": endpoints, "ports": [{"port": 8080}]});
        Seen::modified(at, ObjectKind::EndpointSlice, object)
    }

    fn object(&self) -> Value {
        let mut container =
            json!({"name": "web", "ports": [{"name": "http", "containerPort": 8080}]});
        if let Some((period, threshold)) = self.readiness {
            container["readinessProbe"] = json!({"httpGet": {"path": "/ready", "port": self.readiness_port},
                "periodSeconds": period, "failureThreshold": threshold, "timeoutSeconds": 1});
        }
        if let Some(hook) = &self.pre_stop {
            container["lifecycle"] = json!({"preStop": hook});
        }
        if let Some(command) = &self.command {
            container["command"] = command.clone();
        }
        let mut metadata = json!({"name": self.name, "uid": format!("uid-{}", self.name),
            "creationTimestamp": self.created, "labels": {"pod-template-hash": self.hash()}});
        if let Some((due, grace)) = &self.deletion {
            metadata["deletionTimestamp"] = json!(due);
            metadata["deletionGracePeriodSeconds"] = json!(grace);
        }
        let ready = if self.ready { "True" } else { "False" };
        let mut object = json!({"kind": "Pod", "metadata": metadata,
            "spec": {"nodeName": self.node, "terminationGracePeriodSeconds": self.grace, "containers": [container]},
            "status": {"phase": self.phase, "podIP": self.ip, "conditions": [{"type": "Ready", "status": ready}],
                "containerStatuses": [{"name": "web", "ready": self.ready, "restartCount": self.restarts,
                    "state": self.state, "lastState": self.last}]}});
        self.add_proxy(&mut object);
        if let (true, Some(conditions)) =
            (self.evicted, object["status"]["conditions"].as_array_mut())
        {
            conditions.push(json!({"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}));
        }
        object
    }

    fn add_proxy(&self, object: &mut Value) {
        let Some((name, state)) = &self.proxy else {
            return;
        };
        if let Some(containers) = object["spec"]["containers"].as_array_mut() {
            containers.push(json!({"name": name}));
        }
        if let Some(statuses) = object["status"]["containerStatuses"].as_array_mut() {
            statuses.push(json!({"name": name, "ready": true, "restartCount": 0, "state": state, "lastState": {}}));
        }
    }
}

/// A node that is cordoned.
pub(super) fn cordoned(node: &str, at: i64) -> Seen {
    let object =
        json!({"kind": "Node", "metadata": {"name": node}, "spec": {"unschedulable": true}});
    Seen::modified(at, ObjectKind::Node, object)
}

/// `1s` or `10sx3`: period and threshold.
fn probe(text: &str) -> Option<(i64, i64)> {
    let (period, threshold) = text.split_once('x').unwrap_or((text, "1"));
    Some((parse::length(period)? / SECOND, threshold.parse().ok()?))
}

/// `sleep:5s` or `exec`.
fn hook(text: &str) -> Option<Value> {
    match text.split_once(':') {
        Some(("sleep", length)) => {
            Some(json!({"sleep": {"seconds": parse::length(length)? / SECOND}}))
        }
        None if text == "exec" => Some(json!({"exec": {"command": ["any"]}})),
        _ => None,
    }
}
