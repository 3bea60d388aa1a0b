//! The checked scenario: what the rest of the program works with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use rollscope_records::Lane;

/// A scenario that has passed every check.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name: a DNS label, names the output folder.
    pub name: String,
    /// What the rollout runs on.
    pub target: Target,
    /// The load.
    pub load: Load,
    /// The stages, in order.
    pub stages: Vec<Stage>,
    /// What the gate allows.
    pub gate: Gate,
    /// Log marks: name -> regular expression.
    pub log_marks: BTreeMap<String, String>,
}

/// What the rollout runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A local rollout of real processes.
    Sandbox(SandboxTarget),
    /// A cluster.
    Kubernetes(KubernetesTarget),
    /// Plain load on a URL; the rollout is whatever an `exec` stage does.
    None,
}

/// `target: { sandbox: ... }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxTarget {
    /// The manifest's file; relative paths were resolved against the scenario's folder.
    pub manifest: PathBuf,
    /// What stands between the load and the pods.
    pub front_end: FrontEnd,
    /// How long an endpoint change takes to reach the front end: drawn uniformly from this range for each change.
    pub endpoint_lag: DurationRange,
    /// Seed of everything that is drawn at random.
    pub seed: u64,
}

/// Both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurationRange {
    /// The shortest.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
}

/// What stands between the load and the pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontEnd {
    /// Like an ingress: a reverse proxy with keep-alive to the pods.
    Http,
    /// Like kube-proxy: an endpoint is chosen when a connection is made.
    L4,
}

impl FrontEnd {
    /// The front end's name in scenarios and recordings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::L4 => "l4",
        }
    }
}

/// `target: { kubernetes: ... }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubernetesTarget {
    /// Contexts on which this scenario may run.
    pub allow_contexts: Vec<String>,
    /// The workload's namespace.
    pub namespace: String,
    /// The workload, `deployment/<name>`.
    pub workload: String,
    /// Services whose endpoints matter.
    pub services: Vec<String>,
}

/// The load.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Scheme, host and port, without a path (`https://staging.example.com`). `None` only with the sandbox.
    pub base_url: Option<String>,
    /// Slots per second.
    pub rate_per_second: f64,
    /// Requests in flight at once; a slot over it is dropped.
    pub max_in_flight: usize,
    /// The response header that names the pod, lower case.
    pub pod_header: Option<String>,
    /// The requests, at least one.
    pub requests: Vec<RequestSpec>,
}

/// One kind of request in the mix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestSpec {
    /// Its name, unique in the scenario.
    pub name: String,
    /// HTTP method, upper case.
    pub method: String,
    /// Path with query, beginning with `/`.
    pub path: String,
    /// Share in the mix, at least 1.
    pub weight: u32,
    /// Headers, names in lower case.
    pub headers: Vec<(String, HeaderSource)>,
    /// The body.
    pub body: Option<String>,
    /// From dispatch to the end of the response.
    pub deadline: Duration,
    /// Statuses that are a success.
    pub expect: Vec<StatusRange>,
    /// Which kind of connection it uses.
    pub connections: Lane,
}

impl RequestSpec {
    /// Whether `status` is a success for this request.
    pub fn expects(&self, status: u16) -> bool {
        self.expect
            .iter()
            .any(|r| r.from <= status && status <= r.to)
    }
}

/// Statuses from `from` to `to`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusRange {
    /// First.
    pub from: u16,
    /// Last.
    pub to: u16,
}

/// Where a header's value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderSource {
    /// Written in the scenario.
    Literal(String),
    /// An environment variable; its value never gets into a recording.
    Env(String),
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// What it does.
    pub kind: StageKind,
    /// Its deadline (for `warmup` and `settle` it is their duration).
    pub complete_within: Duration,
}

/// What a stage does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageKind {
    /// Load alone, for this long.
    Warmup(Duration),
    /// A rolling restart of the workload, as `kubectl rollout restart` does it.
    Restart,
    /// A command of the user's.
    Exec(ExecCommand),
    /// Load alone, for this long, once the last old pod is gone (target `none`: once the command returned).
    Settle(Duration),
}

impl StageKind {
    /// Whether the stage only waits; the others change something.
    pub const fn is_wait(&self) -> bool {
        matches!(self, Self::Warmup(_) | Self::Settle(_))
    }

    /// The stage's name in scenarios and recordings.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Warmup(_) => "warmup",
            Self::Restart => "restart",
            Self::Exec(_) => "exec",
            Self::Settle(_) => "settle",
        }
    }
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecCommand {
    /// A string for `/bin/sh -c`.
    Shell(String),
    /// Program and arguments, no shell.
    Argv(Vec<String>),
}

/// What the gate allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Failed requests that are still a pass.
    pub max_failed: u64,
    /// Whether a failed shutdown assertion fails the gate.
    pub assertions_fail: bool,
}
