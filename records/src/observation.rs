//! What was seen of the cluster, of the applications and of the run itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::RunOffset;

/// The kinds of Kubernetes objects that a run watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ObjectKind {
    /// `v1` Pod.
    Pod,
    /// `apps/v1` ReplicaSet.
    ReplicaSet,
    /// `apps/v1` Deployment.
    Deployment,
    /// `discovery.k8s.io/v1` EndpointSlice.
    EndpointSlice,
    /// `v1` Event.
    Event,
    /// `v1` Node.
    Node,
}

impl ObjectKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Pod,
        Self::ReplicaSet,
        Self::Deployment,
        Self::EndpointSlice,
        Self::Event,
        Self::Node,
    ];

    /// The kind as Kubernetes spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::ReplicaSet => "ReplicaSet",
            Self::Deployment => "Deployment",
            Self::EndpointSlice => "EndpointSlice",
            Self::Event => "Event",
            Self::Node => "Node",
        }
    }
}

/// The type of a watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum WatchType {
    /// The object is new to this watch: created, or present at the first list.
    Added,
    /// The object changed.
    Modified,
    /// The object is gone.
    Deleted,
}

/// One line of `watch.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum WatchRecord {
    /// A watch event with the whole object (without secrets).
    Event {
        /// When we received it.
        at: RunOffset,
        /// The object's kind.
        kind: ObjectKind,
        /// What happened to it.
        #[serde(rename = "type")]
        event: WatchType,
        /// The object as the API server sent it, less env values, managedFields and the last-applied annotation.
        object: Value,
    },
    /// An interval in which nothing could be seen. Lost observation is data.
    Gap(Gap),
}

/// An interval of lost observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// What was not seen: `watch/Pod`, `logs/<pod>/<container>`, `requests` ...
    pub source: String,
    /// The last moment at which it was still seen.
    pub from: RunOffset,
    /// The first moment at which it was seen again; `None` when it never was.
    pub to: Option<RunOffset>,
    /// Why, in words.
    pub reason: String,
}

/// One line of `logs.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogRecord {
    /// When we received it.
    pub at: RunOffset,
    /// Where it comes from: `pod` for a container, `exec` for a stage's command.
    pub source: LogSource,
    /// The runtime's timestamp, RFC 3339 with nanoseconds, on the node's clock. `None` for a command's output.
    pub timestamp: Option<String>,
    /// The line, secrets redacted.
    pub line: String,
}

/// Who wrote a log line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum LogSource {
    /// A container.
    Container {
        /// The pod's name.
        pod: String,
        /// The container's name.
        container: String,
    },
    /// The command of an `exec` stage.
    Exec {
        /// The stage's index in the scenario.
        stage: usize,
        /// `stdout` or `stderr`.
        stream: String,
    },
}

/// What happened to a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageEvent {
    /// It began.
    Started,
    /// Something worth a mark happened in it (the patch was accepted, the Deployment says complete, the last old pod is gone).
    Mark,
    /// It ended as it should.
    Completed,
    /// It ended otherwise.
    Failed,
}

/// One line of `stages.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRecord {
    /// When.
    pub at: RunOffset,
    /// The stage's index in the scenario, from 0.
    pub stage: usize,
    /// The stage's kind: `warmup`, `restart`, `exec`, `settle`.
    pub kind: String,
    /// What happened.
    pub event: StageEvent,
    /// In words; for a mark its name (see [`marks`]).
    pub detail: String,
}

/// Names of marks in [`StageRecord::detail`].
pub mod marks {
    /// The API server accepted the change that starts the rollout.
    pub const ROLLOUT_REQUESTED: &str = "rollout_requested";
    /// The Deployment says that the rollout is complete (what `kubectl rollout status` reports).
    pub const ROLLOUT_COMPLETE: &str = "rollout_complete";
    /// The last old pod is gone.
    pub const OLD_PODS_GONE: &str = "old_pods_gone";
    /// Somebody else changed the workload's template during the run.
    pub const FOREIGN_ROLLOUT: &str = "foreign_rollout";
}

/// One line of `clock.jsonl`: a causal pair for another clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSample {
    /// Whose clock: `api-server`, `node/<name>`.
    pub clock: String,
    /// We had not yet asked.
    pub before: RunOffset,
    /// We had the answer.
    pub after: RunOffset,
    /// What that clock said, ns since the Unix epoch.
    pub reading_unix_nanos: i64,
    /// The reading's resolution, ns (1 s for an HTTP `Date`): the true reading lies in `[reading, reading + resolution)`.
    pub resolution_nanos: i64,
}

impl ClockSample {
    /// Bounds of how far that clock is ahead of a run's whose wall clock said `wall_start_unix_nanos` at its start, ns.
    /// The lower one is above the other where the sample contradicts itself.
    pub const fn ahead_nanos(&self, wall_start_unix_nanos: i64) -> (i64, i64) {
        let reading = self
            .reading_unix_nanos
            .saturating_sub(wall_start_unix_nanos);
        let to = reading.saturating_add(self.resolution_nanos);
        (
            reading.saturating_sub(self.after.nanos()),
            to.saturating_sub(self.before.nanos()),
        )
    }
}
