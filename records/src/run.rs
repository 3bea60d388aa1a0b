//! `run.json` and `generator.json`: the run as a whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{JourneysRecord, RunOffset, Shards};

/// Version of the on-disk format. A reader refuses a newer major version and reads every older one.
pub const FORMAT_VERSION: u32 = 1;

/// `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Version of the recording's format.
    pub format_version: u32,
    /// Unique id of the run.
    pub run_id: String,
    /// The scenario's name.
    pub name: String,
    /// `rollscope <version>`, or the importer.
    pub tool: String,
    /// Wall clock at the start of the run, ns since the Unix epoch.
    pub wall_start_unix_nanos: i64,
    /// What the rollout runs on.
    pub target: TargetFacts,
    /// What the gate allows.
    pub gate: GateLimits,
    /// Patterns of the scenario that name log lines: mark -> regular expression.
    #[serde(default)]
    pub log_marks: BTreeMap<String, String>,
    /// The requests of the load, by name.
    #[serde(default)]
    pub requests: Vec<RequestFacts>,
    /// Planned rate, requests per second; where it changes during the run, the highest.
    pub rate_per_second: f64,
    /// How the rate goes where it changes during the run, as `100/s for 30s, then 200/s`.
    #[serde(default)]
    pub rate_shape: Option<String>,
    /// The scenario, secrets redacted, for the record.
    #[serde(default)]
    pub scenario: Value,
    /// What could not be done as it should have been (no PID namespace here, ...), in words.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The generators that share the slots, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<Shards>,
    /// How the run ended. `None` while it runs, and for ever when the tool was killed.
    pub end: Option<RunEnd>,
}

impl RunRecord {
    /// A run of this format's version of which no more is known: nothing is planned, no failure allowed, it goes on.
    pub fn new(
        run_id: impl Into<String>,
        name: impl Into<String>,
        tool: impl Into<String>,
        wall_start_unix_nanos: i64,
        target: TargetFacts,
    ) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            run_id: run_id.into(),
            name: name.into(),
            tool: tool.into(),
            wall_start_unix_nanos,
            target,
            gate: GateLimits::default(),
            log_marks: BTreeMap::new(),
            requests: Vec::new(),
            rate_per_second: 0.0,
            rate_shape: None,
            scenario: Value::Null,
            warnings: Vec::new(),
            shards: None,
            end: None,
        }
    }
}

/// What the rollout runs on, and what can be seen of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// `sandbox`, `kubernetes` or `none`.
    pub kind: String,
    /// Namespace of the workload.
    pub namespace: Option<String>,
    /// The workload as `deployment/<name>`.
    pub workload: Option<String>,
    /// Services whose endpoints matter.
    #[serde(default)]
    pub services: Vec<String>,
    /// How traffic reaches the pods, where it is known: `l4`, `http`.
    pub front_end: Option<String>,
    /// The kubelet's version, where it is known.
    pub kubelet_version: Option<String>,
}

impl TargetFacts {
    /// A target of that kind of which no more is known.
    pub fn of(kind: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            namespace: None,
            workload: None,
            services: Vec::new(),
            front_end: None,
            kubelet_version: None,
        }
    }
}

/// What the gate allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateLimits {
    /// Failed requests that are still a pass.
    pub max_failed: u64,
    /// Whether a failed shutdown assertion fails the gate.
    pub assertions_fail: bool,
    /// Share of the planned rate (in thousandths) that must have been sent in time.
    pub min_rate_permille: u32,
    /// Dropped slots that are still a valid run.
    pub max_dropped: u64,
    /// Slots that were sent later than this were not sent in time, ns.
    #[serde(default = "in_time_nanos")]
    pub in_time_nanos: i64,
}

/// A quarter of a second: what counts as in time unless the scenario says otherwise.
const fn in_time_nanos() -> i64 {
    250_000_000
}

impl Default for GateLimits {
    fn default() -> Self {
        Self {
            max_failed: 0,
            assertions_fail: false,
            min_rate_permille: 990,
            max_dropped: 0,
            in_time_nanos: in_time_nanos(),
        }
    }
}

/// One request of the load, as far as an analysis needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestFacts {
    /// Its name.
    pub name: String,
    /// Its method.
    pub method: String,
    /// Its path, secrets redacted.
    pub path: String,
    /// Its deadline, ns.
    pub deadline_nanos: i64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// When.
    pub at: RunOffset,
    /// How.
    pub how: EndKind,
    /// Why, in words, unless it simply completed.
    pub reason: Option<String>,
}

/// The ways a run can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndKind {
    /// All stages were walked.
    Completed,
    /// A stage failed (for example its deadline passed).
    StageFailed,
    /// The environment failed (cluster, permission, port, disk).
    EnvironmentFailed,
    /// The user interrupted it.
    Interrupted,
}

/// `generator.json`: what the generator says of itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GeneratorRecord {
    /// Slots that were due.
    pub planned: u64,
    /// Slots that were sent.
    pub sent: u64,
    /// Slots that were not sent because the in-flight cap was reached.
    pub dropped: u64,
    /// Records that could not be written.
    pub lost_records: u64,
    /// Lateness of dispatch behind the schedule, microseconds: p50, p99, p99.9, max.
    pub lateness_us: Lateness,
    /// Own CPU time (user + system) while the load ran, microseconds.
    pub cpu_us: u64,
    /// Connections found closed by the peer before a byte was written; the request went to a fresh one.
    pub idle_closes: u64,
    /// Largest number of requests in flight at once.
    pub max_in_flight: u64,
    /// When the load began and ended.
    pub from: RunOffset,
    /// When the last slot was due.
    pub to: RunOffset,
    /// Slots that are due within this time go together, microseconds: what lateness was accepted to save wake-ups.
    /// `None` in recordings that are older than this.
    #[serde(default)]
    pub tolerance_us: Option<u64>,
    /// Threads that sent, each with a runtime and connections of its own; 0 where that was not recorded.
    #[serde(default)]
    pub threads: u32,
    /// What goose says of the journeys; `None` without journeys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journeys: Option<JourneysRecord>,
}

/// Quantiles of the dispatch lateness, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lateness {
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Largest.
    pub max: u64,
}
