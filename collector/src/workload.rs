//! What a rollout needs to know of a Deployment, a ReplicaSet and a pod, read from their raw objects.

use serde_json::Value;

/// The grace period where nothing says another (`terminationGracePeriodSeconds` defaults to it), seconds.
const DEFAULT_GRACE: i64 = 30;

/// A Deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct DeploymentView {
    /// Its uid.
    pub uid: String,
    /// Its name.
    pub name: String,
    /// `metadata.generation`: counts changes of the spec.
    pub generation: i64,
    /// `status.observedGeneration`: the newest spec that the controller has acted on.
    pub observed_generation: i64,
    /// `spec.replicas`.
    pub desired: i64,
    /// `status.replicas`.
    pub replicas: i64,
    /// `status.updatedReplicas`.
    pub updated: i64,
    /// `status.availableReplicas`.
    pub available: i64,
    /// Reason of the condition Progressing, empty when there is none.
    pub progressing_reason: String,
    /// Message of the condition Progressing.
    pub progressing_message: String,
    /// Message of the condition ReplicaFailure (quota, admission), while it is true.
    pub replica_failure: Option<String>,
    /// `spec.paused`.
    pub paused: bool,
    /// Annotation `deployment.kubernetes.io/revision`.
    pub revision: Option<String>,
    /// `spec.template`.
    pub template: Value,
}

impl DeploymentView {
    pub(crate) fn read(object: &Value) -> Self {
        let status = &object["status"];
        let count = |name: &str| status[name].as_i64().unwrap_or(0);
        let progressing = condition(status, "Progressing");
        let failure = condition(status, "ReplicaFailure").filter(|c| c["status"] == "True");
        let words = |of: Option<&Value>, name: &str| of.map_or_else(String::new, |c| text(c, name));
        Self {
            uid: text(&object["metadata"], "uid"),
            name: text(&object["metadata"], "name"),
            generation: object["metadata"]["generation"].as_i64().unwrap_or(0),
            observed_generation: count("observedGeneration"),
            desired: object["spec"]["replicas"].as_i64().unwrap_or(1),
            replicas: count("replicas"),
            updated: count("updatedReplicas"),
            available: count("availableReplicas"),
            progressing_reason: words(progressing, "reason"),
            progressing_message: words(progressing, "message"),
            replica_failure: failure.map(|c| text(c, "message")),
            paused: object["spec"]["paused"].as_bool().unwrap_or(false),
            revision: revision(object),
            template: object["spec"]["template"].clone(),
        }
    }

    /// The template's `terminationGracePeriodSeconds`, seconds.
    pub fn grace_seconds(&self) -> i64 {
        self.template["spec"]["terminationGracePeriodSeconds"]
            .as_i64()
            .unwrap_or(DEFAULT_GRACE)
    }
}

/// A ReplicaSet.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaSetView {
    /// Its name.
    pub name: String,
    /// The uid of the Deployment that owns it.
    pub owner: Option<String>,
    /// The label `pod-template-hash`.
    pub template_hash: Option<String>,
    /// Annotation `deployment.kubernetes.io/revision`.
    pub revision: Option<String>,
    /// `spec.template` without the label `pod-template-hash`: comparable to a Deployment's.
    pub template: Value,
}

impl ReplicaSetView {
    pub(crate) fn read(object: &Value) -> Self {
        let mut template = object["spec"]["template"].clone();
        let mut emptied = false;
        if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
            emptied = labels.remove(HASH_LABEL).is_some() && labels.is_empty();
        }
        if emptied && let Some(metadata) = template["metadata"].as_object_mut() {
            metadata.remove("labels");
        }
        Self {
            name: text(&object["metadata"], "name"),
            owner: controller(object),
            template_hash: template_hash(object),
            revision: revision(object),
            template,
        }
    }
}

/// A pod.
#[derive(Debug, Clone, PartialEq)]
pub struct PodView {
    /// Its uid.
    pub uid: String,
    /// Its name.
    pub name: String,
    /// The label `pod-template-hash`.
    pub template_hash: Option<String>,
    /// The node it runs on.
    pub node: Option<String>,
    /// `status.phase`.
    pub phase: String,
    /// Whether its condition Ready is true.
    pub ready: bool,
    /// Whether its deletion was requested.
    pub terminating: bool,
    /// Grace of its deletion, else of its spec, seconds.
    pub grace_seconds: i64,
    /// Why it cannot be scheduled, while it cannot.
    pub unschedulable: Option<String>,
    /// Its containers, init containers first.
    pub containers: Vec<ContainerView>,
}

/// A container of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerView {
    /// Its name.
    pub name: String,
    /// Restarts in place so far.
    pub restarts: i64,
    /// Whether its condition ready is true.
    pub ready: bool,
    /// What it does now.
    pub state: ContainerState,
}

/// What a container does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContainerState {
    /// Nothing is known yet.
    Unknown,
    /// It waits.
    Waiting {
        /// `ContainerCreating`, `CrashLoopBackOff`, `ImagePullBackOff` ...
        reason: String,
        /// In words.
        message: String,
    },
    /// It runs.
    Running,
    /// It ended.
    Terminated {
        /// Exit code.
        code: i64,
        /// `Completed`, `Error`, `OOMKilled` ...
        reason: String,
    },
}

impl PodView {
    pub(crate) fn read(object: &Value) -> Self {
        let (meta, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
        let scheduled = condition(status, "PodScheduled");
        let grace = meta["deletionGracePeriodSeconds"].as_i64();
        Self {
            uid: text(meta, "uid"),
            name: text(meta, "name"),
            template_hash: template_hash(object),
            node: spec["nodeName"].as_str().map(str::to_owned),
            phase: text(status, "phase"),
            ready: condition(status, "Ready").is_some_and(|c| c["status"] == "True"),
            terminating: meta["deletionTimestamp"].is_string(),
            grace_seconds: grace
                .or_else(|| spec["terminationGracePeriodSeconds"].as_i64())
                .unwrap_or(DEFAULT_GRACE),
            unschedulable: scheduled
                .filter(|c| c["status"] == "False")
                .map(|c| text(c, "message")),
            containers: containers(spec, status),
        }
    }

    /// Whether it has ended for good (phase Succeeded or Failed).
    pub fn ended(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }
}

/// The spec names the containers, the status says what they do.
fn containers(spec: &Value, status: &Value) -> Vec<ContainerView> {
    let lists = [
        ("initContainers", "initContainerStatuses"),
        ("containers", "containerStatuses"),
        ("ephemeralContainers", "ephemeralContainerStatuses"),
    ];
    let mut found = Vec::new();
    for (specs, statuses) in lists {
        let statuses = status[statuses].as_array();
        for container in spec[specs].as_array().into_iter().flatten() {
            let name = text(container, "name");
            let status = statuses
                .into_iter()
                .flatten()
                .find(|s| s["name"] == name.as_str())
                .unwrap_or(&Value::Null);
            found.push(ContainerView {
                restarts: status["restartCount"].as_i64().unwrap_or(0),
                ready: status["ready"].as_bool().unwrap_or(false),
                state: container_state(&status["state"]),
                name,
            });
        }
    }
    found
}

fn container_state(state: &Value) -> ContainerState {
    if let Some(waiting) = state.get("waiting") {
        ContainerState::Waiting {
            reason: text(waiting, "reason"),
            message: text(waiting, "message"),
        }
    } else if state.get("running").is_some() {
        ContainerState::Running
    } else if let Some(ended) = state.get("terminated") {
        ContainerState::Terminated {
            code: ended["exitCode"].as_i64().unwrap_or(0),
            reason: text(ended, "reason"),
        }
    } else {
        ContainerState::Unknown
    }
}

const HASH_LABEL: &str = "pod-template-hash";

fn template_hash(object: &Value) -> Option<String> {
    object["metadata"]["labels"][HASH_LABEL]
        .as_str()
        .map(str::to_owned)
}

fn revision(object: &Value) -> Option<String> {
    object["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
        .as_str()
        .map(str::to_owned)
}

fn controller(object: &Value) -> Option<String> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|o| o["controller"] == true)?;
    owner["uid"].as_str().map(str::to_owned)
}

fn condition<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status["conditions"]
        .as_array()?
        .iter()
        .find(|c| c["type"] == kind)
}

/// A field of text; empty when there is none.
pub(crate) fn text(object: &Value, field: &str) -> String {
    object[field].as_str().unwrap_or_default().to_owned()
}
