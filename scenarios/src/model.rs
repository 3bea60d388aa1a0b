//! The checked scenario: what the rest of the program works with.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use rollscope_records::Lane;

use crate::jobs::{JobKey, JobsSpec, OwnRate};
use crate::rule_id::RuleId;
use crate::template::Template;
use crate::units::{write_duration, write_rate};

/// A scenario that has passed every check.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name: a DNS label, names the output folder.
    pub name: String,
    /// What the rollout runs on.
    pub target: Target,
    /// The load.
    pub load: Load,
    /// The jobs that the load submits.
    pub jobs: Option<JobsSpec>,
    /// Balancers before the target whose access logs are followed.
    pub balancers: Vec<BalancerSpec>,
    /// The stages, in order.
    pub stages: Vec<Stage>,
    /// What the gate allows.
    pub gate: Gate,
    /// Log marks: name -> regular expression.
    pub log_marks: BTreeMap<String, String>,
    /// What the pre-flight check is told.
    pub preflight: PreflightSpec,
}

/// A load balancer before the target, and its access log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BalancerSpec {
    /// Its name in reports, unique.
    pub name: String,
    /// The log; relative to the scenario's folder.
    pub file: PathBuf,
    /// Its format, as it is named to the parsers.
    pub format: String,
}

/// What the pre-flight check is told that manifests do not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreflightSpec {
    /// Rules whose findings are accepted.
    pub allow: Vec<RuleId>,
    /// How long routing takes to follow a deletion.
    pub lag: Option<Duration>,
    /// How long the program keeps serving after the stop signal.
    pub delay: Option<Duration>,
    /// How long requests in flight take once the program stops accepting.
    pub drain: Option<Duration>,
    /// How long a balancer keeps an idle connection to the program.
    pub balancer_idle: Option<Duration>,
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
    /// How often `nginx` or `haproxy` tries a request again elsewhere.
    pub retries: u32,
    /// How `health_checked` asks.
    pub health_check: HealthCheck,
}

/// How a front end that looks only at its own health check asks the pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthCheck {
    /// Once in this time; an answer that takes longer is a failure.
    pub period: Duration,
    /// Failures in a row that take a pod out.
    pub unhealthy_after: u32,
    /// Successes in a row that take it in.
    pub healthy_after: u32,
}

impl Default for HealthCheck {
    fn default() -> Self {
        Self {
            period: Duration::from_secs(1),
            unhealthy_after: 2,
            healthy_after: 2,
        }
    }
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
    /// None: connections are made to the pod's own address. Once the pod's endpoint is no longer ready, and that has
    /// arrived, none is made any more: other instances would get them. Only `rollscope signal` uses it.
    Direct,
    /// nginx, reloaded at each change as an ingress controller does it.
    Nginx,
    /// HAProxy, told of each change over its runtime API.
    Haproxy,
    /// A reverse proxy that knows of pods only by its own health check.
    HealthChecked,
}

impl FrontEnd {
    /// The front end's name in scenarios and recordings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::L4 => "l4",
            Self::Direct => "direct",
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
            Self::HealthChecked => "health_checked",
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
    /// How many slots a second, and how that changes.
    pub rate: Rate,
    /// How slots lie between one another.
    pub arrivals: Arrivals,
    /// Seed of everything in the load that is drawn at random.
    pub seed: u64,
    /// How exactly the schedule is kept.
    pub pacing: Pacing,
    /// Beyond which the run proves nothing.
    pub limits: Limits,
    /// Requests in flight at once; a slot over it is dropped.
    pub max_in_flight: usize,
    /// The response header that names the pod, lower case.
    pub pod_header: Option<String>,
    /// What is kept of connections between requests.
    pub pool: PoolSpec,
    /// Addresses for hosts, instead of what the resolver says.
    pub resolve: Vec<ResolveOverride>,
    /// TLS for https targets.
    pub tls: TlsSpec,
    /// The requests, at least one.
    pub requests: Vec<RequestSpec>,
    /// Connections that are held open beside them.
    pub streams: Vec<StreamSpec>,
    /// Users who walk through the journeys.
    pub users: u32,
    /// What the users do; of which there are at least as many.
    pub journeys: Vec<JourneySpec>,
    /// One of the requests, where it comes at a rate of its own beside the mix of the others.
    pub own_rate: Option<OwnRate>,
    /// How one of the requests carries the key of the job that it submits; a run that has jobs fills it in.
    pub job_key: Option<JobKey>,
}

impl Load {
    /// Every kind of request, those that open streams and the steps of journeys included.
    pub fn all_requests(&self) -> impl Iterator<Item = &RequestSpec> {
        let opening = self.streams.iter().map(|s| &s.request);
        self.requests.iter().chain(opening).chain(self.steps())
    }

    /// Every step of every journey.
    pub fn steps(&self) -> impl Iterator<Item = &RequestSpec> {
        self.journeys.iter().flat_map(|j| &j.steps)
    }
}

/// What a user does, step by step, again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JourneySpec {
    /// Its name, unique among the journeys.
    pub name: String,
    /// Its share of the users, at least 1.
    pub weight: u32,
    /// How long a user waits after each step: drawn from this range each time.
    pub think: DurationRange,
    /// The steps in order, at least one; each is named `journey/step`.
    pub steps: Vec<RequestSpec>,
}

/// Connections that are held open for as long as the load goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSpec {
    /// What goes over them.
    pub kind: StreamKind,
    /// The request that opens one; its deadline ends with the response's head.
    pub request: RequestSpec,
    /// How many are held at once.
    pub count: u32,
    /// How often a message is expected; a WebSocket is sent one as often, to be echoed.
    pub cadence: Duration,
    /// A connection on which nothing comes for longer is given up as failed.
    pub max_silence: Duration,
    /// From a failed attempt to open one to the next attempt.
    pub retry: Duration,
    /// Whether the peer may end it in good order.
    pub may_end: bool,
}

/// What goes over a connection that is held open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// Server-sent events.
    Sse,
    /// A response whose body goes on.
    Chunked,
    /// A WebSocket.
    WebSocket,
}

impl StreamKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Sse, Self::Chunked, Self::WebSocket];

    /// The kind's key in scenarios.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sse => "sse",
            Self::Chunked => "chunked",
            Self::WebSocket => "websocket",
        }
    }

    /// The kind with that key.
    pub(crate) fn named(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.as_str() == key)
    }
}

impl Load {
    /// A load with every default.
    pub fn new(rate: Rate, requests: Vec<RequestSpec>) -> Self {
        Self {
            base_url: None,
            rate,
            arrivals: Arrivals::Even,
            seed: 1,
            pacing: Pacing::default(),
            limits: Limits::default(),
            max_in_flight: 500,
            pod_header: None,
            pool: PoolSpec::default(),
            resolve: Vec::new(),
            tls: TlsSpec::default(),
            requests,
            streams: Vec::new(),
            users: 0,
            journeys: Vec::new(),
            own_rate: None,
            job_key: None,
        }
    }

    /// The most slots that are due in a second.
    pub fn highest_rate(&self) -> f64 {
        let own = self.own_rate.as_ref().map_or(0.0, |own| own.per_second);
        self.rate.highest() + own
    }

    /// Whether a request is one of the mix: it has no rate of its own.
    pub fn is_mixed(&self, request: &RequestSpec) -> bool {
        let own = self.own_rate.as_ref();
        own.is_none_or(|own| own.request != request.name)
    }
}

/// Slots per second over the time of the load.
#[derive(Debug, Clone, PartialEq)]
pub enum Rate {
    /// The same all the time.
    Constant(f64),
    /// One after the other; the last one goes on to the end.
    Steps(Vec<RateStep>),
    /// From one rate to another in a straight line; the second one goes on to the end.
    Ramp {
        /// Slots per second at the start.
        from: f64,
        /// Slots per second after `over`.
        to: f64,
        /// How long it takes.
        over: Duration,
    },
}

/// One of [`Rate::Steps`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateStep {
    /// Slots per second.
    pub per_second: f64,
    /// How long; `None` for the last one.
    pub lasts: Option<Duration>,
}

impl Rate {
    /// The highest rate, slots per second.
    pub fn highest(&self) -> f64 {
        match self {
            Self::Constant(rate) => *rate,
            Self::Steps(steps) => steps.iter().map(|s| s.per_second).fold(0.0, f64::max),
            Self::Ramp { from, to, .. } => from.max(*to),
        }
    }

    /// How the rate goes, in words; `None` where it is constant.
    pub fn shape(&self) -> Option<String> {
        match self {
            Self::Constant(_) => None,
            Self::Steps(steps) => {
                let words: Vec<String> = steps.iter().map(RateStep::words).collect();
                Some(words.join(", then "))
            }
            Self::Ramp { from, to, over } => Some(format!(
                "from {} to {} over {}",
                write_rate(*from),
                write_rate(*to),
                write_duration(*over)
            )),
        }
    }
}

impl RateStep {
    fn words(&self) -> String {
        let rate = write_rate(self.per_second);
        match self.lasts {
            Some(lasts) => format!("{rate} for {}", write_duration(lasts)),
            None => rate,
        }
    }
}

/// How slots lie between one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// At equal distances.
    Even,
    /// As a Poisson process, drawn from the seed: as independent users come.
    Poisson,
}

impl Arrivals {
    /// The word in scenarios.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Poisson => "poisson",
        }
    }
}

/// How exactly the schedule is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Pacing {
    /// Slots that are due within this time go together; 0 wakes for every slot. `None`: chosen by the rate.
    pub tolerance: Option<Duration>,
    /// After a delay, slots are caught up with at most at this multiple of the rate.
    pub catch_up: u32,
    /// Threads that send. `None`: as many as the rate needs.
    pub threads: Option<u32>,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            tolerance: None,
            catch_up: 4,
            threads: None,
        }
    }
}

/// Beyond which the run proves nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// A slot that is sent later than this after it was due is not in time.
    pub in_time: Duration,
    /// Per cent of the planned slots that must have been sent in time.
    pub min_in_time: u32,
    /// Slots that may be dropped.
    pub max_dropped: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_time: Duration::from_millis(250),
            min_in_time: 99,
            max_dropped: 0,
        }
    }
}

/// What is kept of connections between requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PoolSpec {
    /// Connections that are kept open. `None`: by the rate.
    pub size: Option<usize>,
    /// A connection that is older than this gets no further request.
    pub max_age: Option<Duration>,
    /// A connection gets no more requests than this.
    pub max_requests: Option<u32>,
    /// A connection that was idle for longer than this gets no further request.
    pub max_idle: Option<Duration>,
}

/// Addresses for a host and port, instead of what the resolver says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolveOverride {
    /// The host, lower case, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The addresses, in the order in which they are tried.
    pub addresses: Vec<IpAddr>,
}

/// TLS for https targets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsSpec {
    /// PEM file of the certificate authorities to trust instead of the machine's.
    pub ca: Option<PathBuf>,
    /// PEM file of the client's certificate chain.
    pub client_cert: Option<PathBuf>,
    /// PEM file of the client's private key.
    pub client_key: Option<PathBuf>,
    /// The name that the server must prove, instead of the URL's host.
    pub server_name: Option<String>,
    /// Whether any certificate will do.
    pub insecure: bool,
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
    pub body: Option<BodySource>,
    /// From dispatch to the end of the response.
    pub deadline: Duration,
    /// The client gives up this long after dispatch, as an impatient one does.
    pub abort_after: Option<Duration>,
    /// Statuses that are a success.
    pub expect: Vec<StatusRange>,
    /// What the body of a response must be like.
    pub expect_body: Option<BodyCheck>,
    /// Which kind of connection it uses.
    pub connections: Lane,
}

impl RequestSpec {
    /// A request with every default.
    pub fn new(name: &str, method: &str, path: &str) -> Self {
        Self {
            name: name.to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            weight: 1,
            headers: Vec::new(),
            body: None,
            deadline: Duration::from_secs(5),
            abort_after: None,
            expect: vec![StatusRange { from: 200, to: 299 }],
            expect_body: None,
            connections: Lane::Reused,
        }
    }

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
    /// A file, without the line break at its end; its content never gets into a recording.
    File(PathBuf),
}

/// Where a request's body comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodySource {
    /// Written in the scenario.
    Inline(String),
    /// The content of a file, read before the load begins.
    File(PathBuf),
    /// A text with placeholders that are filled in for each request.
    Template(Template),
}

/// What the body of a response must be like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BodyCheck {
    /// It contains this text.
    pub contains: Option<String>,
    /// It is JSON with a value at this pointer (RFC 6901).
    pub json_pointer: Option<String>,
    /// That value, as text: a string's characters, or the JSON of any other value.
    pub equals: Option<String>,
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
    /// The workload's only pod is deleted: preStop, the stop signal, SIGKILL. Only `rollscope signal` makes it.
    Signal,
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
            Self::Signal => "signal",
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
