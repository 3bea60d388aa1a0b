//! A pod's state as the kubelet knows it, and the `status` that says so.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// A time as `metav1.Time`: whole seconds, truncated, UTC.
pub(super) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The end of one run of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Terminated {
    pub(super) code: i32,
    pub(super) reason: String,
    pub(super) message: Option<String>,
    /// `None`: it never ran.
    pub(super) started: Option<Timestamp>,
    pub(super) finished: Option<Timestamp>,
    pub(super) id: String,
}

/// What a container does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContainerState {
    Waiting {
        reason: &'static str,
        message: Option<String>,
    },
    Running(Timestamp),
    Terminated(Terminated),
}

/// One container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContainerModel {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) state: ContainerState,
    pub(super) last: Option<Terminated>,
    pub(super) ready: bool,
    pub(super) started: bool,
    pub(super) restarts: u32,
    pub(super) id: String,
    /// A plain init container: it is to end, not to be ready.
    pub(super) is_init: bool,
}

impl ContainerModel {
    pub(super) fn new(name: &str, image: &str, is_init: bool) -> Self {
        Self {
            name: name.to_owned(),
            image: image.to_owned(),
            state: ContainerState::Waiting {
                reason: "ContainerCreating",
                message: None,
            },
            last: None,
            ready: false,
            started: false,
            restarts: 0,
            id: String::new(),
            is_init,
        }
    }

    /// It waits, and never ran.
    const fn is_new(&self) -> bool {
        matches!(self.state, ContainerState::Waiting { .. }) && self.last.is_none()
    }

    fn end(&self) -> Option<&Terminated> {
        match &self.state {
            ContainerState::Terminated(end) => Some(end),
            _ => None,
        }
    }
}

/// One pod.
#[derive(Debug, Clone)]
pub(super) struct PodModel {
    pub(super) started: Timestamp,
    pub(super) ip: Option<String>,
    pub(super) network: bool,
    pub(super) initialized: bool,
    pub(super) init: Vec<ContainerModel>,
    pub(super) main: Vec<ContainerModel>,
    /// Every container has ended for good.
    pub(super) finished: bool,
}

impl PodModel {
    /// The container of this name.
    pub(super) fn container(&mut self, name: &str) -> Option<&mut ContainerModel> {
        self.init
            .iter_mut()
            .chain(&mut self.main)
            .find(|c| c.name == name)
    }

    /// Ends the pod: a container whose end was not seen counts as lost, as a kubelet writes it.
    pub(super) fn finish(&mut self) {
        self.finished = true;
        self.network = false;
        for container in self.init.iter_mut().chain(&mut self.main) {
            container.ready = false;
            container.started = false;
            if container.end().is_none() && !(container.is_init && container.is_new()) {
                let lost = Terminated {
                    code: 137,
                    reason: "ContainerStatusUnknown".to_owned(),
                    message: Some(
                        "The container could not be located when the pod was terminated".to_owned(),
                    ),
                    started: None,
                    finished: None,
                    id: String::new(),
                };
                let end = container.last.take().unwrap_or(lost);
                container.state = ContainerState::Terminated(end);
            }
        }
    }

    /// Whether every main container is terminated.
    pub(super) fn main_ended(&self) -> bool {
        self.main.iter().all(|c| c.end().is_some())
    }

    /// The pod's phase.
    pub(super) fn phase(&self) -> &'static str {
        if self.finished {
            let clean = self
                .main
                .iter()
                .all(|c| c.end().is_some_and(|e| e.code == 0));
            return if clean && self.initialized {
                "Succeeded"
            } else {
                "Failed"
            };
        }
        if !self.initialized || self.main.iter().any(ContainerModel::is_new) {
            "Pending"
        } else {
            "Running"
        }
    }

    fn unready(&self) -> Vec<&str> {
        let sidecars = self.init.iter().filter(|c| !c.is_init);
        sidecars
            .chain(&self.main)
            .filter(|c| !c.ready)
            .map(|c| c.name.as_str())
            .collect()
    }

    /// Writes the model into the pod object: `status`, with the transition times of conditions that did not change
    /// kept.
    pub(super) fn render(&self, pod: &mut Value, host_ip: &str, now: Timestamp) {
        let generation = pod["metadata"]["generation"].clone();
        let before = pod["status"].take();
        let old = |kind: &str| {
            before["conditions"]
                .as_array()
                .and_then(|all| all.iter().find(|c| c["type"] == kind))
        };
        let mut conditions = Vec::new();
        for condition in self.conditions() {
            conditions.push(condition.render(old(condition.kind), &generation, now));
        }
        let mut status = match before.clone() {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let mut set = |field: &str, value: Value| {
            status.insert(field.to_owned(), value);
        };
        set("observedGeneration", generation);
        set("phase", json!(self.phase()));
        set("conditions", json!(conditions));
        set("hostIP", json!(host_ip));
        set("hostIPs", json!([{"ip": host_ip}]));
        set("startTime", json!(seconds(self.started)));
        if let Some(ip) = &self.ip {
            set("podIP", json!(ip));
            set("podIPs", json!([{"ip": ip}]));
        }
        if !self.init.is_empty() {
            set("initContainerStatuses", statuses(&self.init));
        }
        set("containerStatuses", statuses(&self.main));
        if before["qosClass"].is_null() {
            set("qosClass", json!(qos_class(&pod["spec"])));
        }
        pod["status"] = Value::Object(status);
    }

    fn conditions(&self) -> [Condition; 5] {
        let unready = self.unready();
        let done = match (self.finished, self.phase()) {
            (true, "Succeeded") => Some("PodCompleted"),
            (true, _) => Some("PodFailed"),
            (false, _) => None,
        };
        let readiness = |kind| match done {
            Some(reason) => Condition::no(kind, reason, None),
            None if unready.is_empty() => Condition::yes(kind),
            None => {
                let message = format!("containers with unready status: [{}]", unready.join(" "));
                Condition::no(kind, "ContainersNotReady", Some(message))
            }
        };
        [
            Condition {
                kind: "PodReadyToStartContainers",
                status: self.network,
                reason: None,
                message: None,
            },
            self.initialization(done),
            readiness("Ready"),
            readiness("ContainersReady"),
            Condition::yes("PodScheduled"),
        ]
    }

    fn initialization(&self, done: Option<&'static str>) -> Condition {
        if self.initialized {
            return Condition {
                reason: done.filter(|r| *r == "PodCompleted"),
                ..Condition::yes("Initialized")
            };
        }
        let incomplete: Vec<&str> = self
            .init
            .iter()
            .filter(|c| !c.started && c.end().is_none_or(|e| e.code != 0))
            .map(|c| c.name.as_str())
            .collect();
        let message = format!(
            "containers with incomplete status: [{}]",
            incomplete.join(" ")
        );
        Condition::no("Initialized", "ContainersNotInitialized", Some(message))
    }
}

#[derive(Debug)]
struct Condition {
    kind: &'static str,
    status: bool,
    reason: Option<&'static str>,
    message: Option<String>,
}

impl Condition {
    const fn yes(kind: &'static str) -> Self {
        Self {
            kind,
            status: true,
            reason: None,
            message: None,
        }
    }

    const fn no(kind: &'static str, reason: &'static str, message: Option<String>) -> Self {
        Self {
            kind,
            status: false,
            reason: Some(reason),
            message,
        }
    }

    fn render(&self, old: Option<&Value>, generation: &Value, now: Timestamp) -> Value {
        let status = if self.status { "True" } else { "False" };
        let since = old
            .filter(|c| c["status"] == status)
            .map_or_else(|| json!(seconds(now)), |c| c["lastTransitionTime"].clone());
        let mut condition = json!({
            "type": self.kind,
            "observedGeneration": generation,
            "status": status,
            "lastProbeTime": null,
            "lastTransitionTime": since,
        });
        if let Some(reason) = self.reason {
            condition["reason"] = json!(reason);
        }
        if let Some(message) = &self.message {
            condition["message"] = json!(message);
        }
        condition
    }
}

fn statuses(containers: &[ContainerModel]) -> Value {
    containers.iter().map(container_status).collect()
}

fn container_status(container: &ContainerModel) -> Value {
    let state = match &container.state {
        ContainerState::Waiting { reason, message } => {
            let mut waiting = json!({"reason": reason});
            if let Some(message) = message {
                waiting["message"] = json!(message);
            }
            json!({"waiting": waiting})
        }
        ContainerState::Running(at) => json!({"running": {"startedAt": seconds(*at)}}),
        ContainerState::Terminated(end) => json!({"terminated": terminated(end)}),
    };
    let last = container
        .last
        .as_ref()
        .map_or_else(|| json!({}), |end| json!({"terminated": terminated(end)}));
    let mut status = json!({
        "name": container.name,
        "state": state,
        "lastState": last,
        "ready": container.ready,
        "restartCount": container.restarts,
        "image": container.image,
        "imageID": "",
        "started": container.started,
    });
    if !container.id.is_empty() {
        status["containerID"] = json!(container.id);
    }
    status
}

fn terminated(end: &Terminated) -> Value {
    let time = |t: Option<Timestamp>| t.map(seconds);
    let mut value = json!({
        "exitCode": end.code,
        "reason": end.reason,
        "startedAt": time(end.started),
        "finishedAt": time(end.finished),
    });
    if let Some(message) = &end.message {
        value["message"] = json!(message);
    }
    if !end.id.is_empty() {
        value["containerID"] = json!(end.id);
    }
    value
}

/// The quality of service class that Kubernetes derives from requests and limits.
fn qos_class(spec: &Value) -> &'static str {
    let containers = ["containers", "initContainers"]
        .into_iter()
        .filter_map(|field| spec[field].as_array())
        .flatten();
    let (mut any, mut all_guaranteed) = (false, true);
    for container in containers {
        let resources = &container["resources"];
        for resource in ["cpu", "memory"] {
            let (request, limit) = (
                &resources["requests"][resource],
                &resources["limits"][resource],
            );
            any |= !request.is_null() || !limit.is_null();
            all_guaranteed &= !limit.is_null() && (request.is_null() || request == limit);
        }
    }
    match (any, all_guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> PodModel {
        PodModel {
            started: Timestamp::UNIX_EPOCH,
            ip: None,
            network: false,
            initialized: true,
            init: Vec::new(),
            main: vec![ContainerModel::new("web", "local/web:1", false)],
            finished: false,
        }
    }

    fn end(code: i32) -> ContainerState {
        ContainerState::Terminated(Terminated {
            code,
            reason: "Error".to_owned(),
            message: None,
            started: Some(Timestamp::UNIX_EPOCH),
            finished: Some(Timestamp::UNIX_EPOCH),
            id: String::new(),
        })
    }

    fn condition<'a>(pod: &'a Value, kind: &str) -> &'a Value {
        pod["status"]["conditions"]
            .as_array()
            .and_then(|all| all.iter().find(|c| c["type"] == kind))
            .unwrap_or(&Value::Null)
    }

    #[test]
    fn a_pod_whose_containers_all_exited_0_succeeded() {
        let mut model = model();
        model.main[0].state = end(0);
        model.finish();
        let mut pod = json!({"metadata": {"generation": 2}});
        model.render(&mut pod, "127.0.0.1", Timestamp::now());
        assert_eq!(pod["status"]["phase"], "Succeeded");
        assert_eq!(condition(&pod, "Ready")["reason"], "PodCompleted");
        assert_eq!(condition(&pod, "Initialized")["reason"], "PodCompleted");
        assert_eq!(condition(&pod, "Ready")["observedGeneration"], 2);
    }

    #[test]
    fn a_container_that_was_never_seen_to_end_is_unknown_and_the_pod_failed() {
        let mut model = model();
        model.finish();
        let mut pod = json!({});
        model.render(&mut pod, "127.0.0.1", Timestamp::now());
        let state = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
        assert_eq!(state["reason"], "ContainerStatusUnknown");
        assert_eq!(pod["status"]["phase"], "Failed");
        assert_eq!(condition(&pod, "Ready")["reason"], "PodFailed");
    }

    #[test]
    fn a_condition_that_stays_keeps_its_transition_time() {
        let mut pod = json!({});
        let later = Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(5);
        model().render(&mut pod, "127.0.0.1", Timestamp::UNIX_EPOCH);
        let mut model = model();
        model.main[0].state = ContainerState::Running(later);
        model.main[0].ready = true;
        model.render(&mut pod, "127.0.0.1", later);
        let since = |kind| &condition(&pod, kind)["lastTransitionTime"];
        assert_eq!(since("PodScheduled"), "1970-01-01T00:00:00Z");
        assert_eq!(since("Ready"), "1970-01-01T00:00:05Z");
    }

    #[test]
    fn a_restarting_container_leaves_the_pod_running() {
        let mut model = model();
        model.main[0].state = end(1);
        assert_eq!(model.phase(), "Running");
    }

    #[test]
    fn the_quality_of_service_follows_requests_and_limits() {
        let of = |resources: Value| qos_class(&json!({"containers": [{"resources": resources}]}));
        assert_eq!(of(json!({})), "BestEffort");
        assert_eq!(of(json!({"requests": {"cpu": "1"}})), "Burstable");
        let all = json!({"cpu": "1", "memory": "1Gi"});
        assert_eq!(of(json!({"limits": all, "requests": all})), "Guaranteed");
    }
}
