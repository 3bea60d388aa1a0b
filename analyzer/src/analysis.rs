//! The result of an analysis. Its JSON form is `report.json`; names in it are a published interface.

use std::collections::BTreeMap;

use rollscope_records::{GeneratorRecord, Interval, RunOffset};
use serde::{Serialize, Serializer};

use crate::jobs::JobsReport;
use crate::journeys::Journeys;
use crate::signal::SignalReport;

/// Version of `report.json`.
pub const SCHEMA: &str = "rollscope/report/v1";

/// Milliseconds on the run's clock, written with three decimals (microseconds).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ms(pub RunOffset);

impl Serialize for Ms {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64((self.0.nanos() as f64 / 1e3).round() / 1e3)
    }
}

/// `[lo, hi]` in milliseconds on the run's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MsInterval(pub Interval);

impl Serialize for MsInterval {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        (Ms(self.0.lo), Ms(self.0.hi)).serialize(s)
    }
}

/// A length of time in nanoseconds, written as milliseconds with three decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MsLength(pub i64);

impl Serialize for MsLength {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64((self.0 as f64 / 1e3).round() / 1e3)
    }
}

/// The whole analysis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// The run that was analysed.
    pub run: RunSummary,
    /// Counts of requests.
    pub requests: RequestCounts,
    /// Latency quantiles.
    pub latency_ms: Latency,
    /// Every pod that was seen, in order of creation, terminating ones with all their measurements.
    pub pods: Vec<PodReport>,
    /// Bursts of failed requests.
    pub bursts: Vec<Burst>,
    /// Every failed request, in order of its number, with the pod that it is laid at.
    pub failures: Vec<FailureReport>,
    /// Failed requests that are in no burst.
    pub unattributed: u64,
    /// What is wrong without a failed request.
    pub findings: Vec<Finding>,
    /// Shutdown assertions.
    pub assertions: Vec<Assertion>,
    /// What the terminations of the run say to the manifest and the program, whether anything failed or not.
    pub advice: Vec<Advice>,
    /// The budget of the grace; `None` where no pod ended by itself.
    pub budget: Option<Budget>,
    /// Other clocks against the run's.
    pub clocks: Vec<ClockReport>,
    /// What the generator says of itself.
    pub generator: Option<GeneratorRecord>,
    /// Connections that were held open, by their name in the scenario; empty where there were none.
    pub streams: Vec<StreamReport>,
    /// The jobs that the load submitted; `None` where it submits none.
    pub jobs: Option<JobsReport>,
    /// The users' journeys; `None` where the load has none.
    pub journeys: Option<Journeys>,
    /// What one program did with its stop signal; `None` where the run is of another kind.
    pub signal: Option<SignalReport>,
    /// What the logs of balancers say; empty where none were recorded.
    pub balancers: Vec<BalancerReport>,
    /// What was not seen.
    pub gaps: Vec<GapReport>,
    /// The stages as intervals.
    pub stages: Vec<StageReport>,
    /// What could not be observed, and other remarks on the run, in words.
    pub notes: Vec<String>,
}

/// What the logs of one balancer say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BalancerReport {
    /// The program.
    pub name: String,
    /// Requests in its access log.
    pub requests: u64,
    /// Those that are requests of the load.
    pub joined: u64,
    /// By the status that the client was sent; `none` where there was none.
    pub by_status: BTreeMap<String, u64>,
    /// By who made the status: `upstream`, `balancer`, `client_gone`, `unknown`.
    pub by_emitter: BTreeMap<String, u64>,
    /// Tries whose upstream is named, by how they ended.
    pub tries: BTreeMap<String, u64>,
    /// Failed tries that are counted without their upstream.
    pub unnamed_tries: u64,
    /// Lines that are not in the format.
    pub malformed: u64,
    /// Requests that were answered well although a try had failed.
    pub near_misses: u64,
    /// The near misses among the requests of the load, by cause.
    pub near: Vec<NearMiss>,
}

/// Near misses with one cause: requests that would have failed without retries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearMiss {
    /// How many.
    pub count: u64,
    /// From.
    pub from_ms: Ms,
    /// To.
    pub to_ms: Ms,
    /// The pods on which they would have failed.
    pub pods: Vec<String>,
    /// Their numbers.
    pub requests: Vec<u64>,
    /// The cause, named as that of a burst.
    pub cause: String,
    /// Which face of it.
    pub detail: Option<String>,
    /// 0 to 1.
    pub confidence: f64,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
    /// What to change.
    pub advice: Vec<Advice>,
}

/// How the run ended for the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictOutcome {
    /// Nothing failed that may not, and we looked.
    Passed,
    /// More failed than the gate allows.
    GateFailed,
    /// The run cannot prove anything.
    Invalid,
    /// The user stopped it.
    Interrupted,
    /// The environment failed; the report is partial.
    EnvironmentFailed,
}

/// The verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// How it ended.
    pub outcome: VerdictOutcome,
    /// The exit code that goes with it: 0, 1, 3, 4 or 130.
    pub exit_code: u8,
    /// Why, in words; empty for a pass.
    pub reasons: Vec<String>,
}

/// The run in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// The scenario's name.
    pub name: String,
    /// What wrote the recording.
    pub tool: String,
    /// `sandbox`, `kubernetes` or `none`.
    pub target: String,
    /// The workload.
    pub workload: Option<String>,
    /// Wall clock at run time zero, RFC 3339 in UTC.
    pub started_at: String,
    /// From the first to the last thing recorded.
    pub duration_ms: MsLength,
    /// Planned rate, requests per second; where it changes during the run, the highest.
    pub rate_per_second: f64,
    /// How the rate goes where it changes during the run, in words.
    pub rate_shape: Option<String>,
    /// Failed requests that the gate allows.
    pub max_failed: u64,
}

/// Counts of requests. `planned = sent + dropped`, `sent = ok + failed + aborted`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RequestCounts {
    /// Slots that were due.
    pub planned: u64,
    /// Slots that were sent.
    pub sent: u64,
    /// Slots over the in-flight cap.
    pub dropped: u64,
    /// Complete, expected responses.
    pub ok: u64,
    /// Everything else that was sent and ended.
    pub failed: u64,
    /// Unfinished by our own doing: the tool was interrupted, or the scenario says so (`abort_after`).
    pub aborted: u64,
    /// Failed with a status, or with a body that the scenario does not expect.
    pub non_2xx: u64,
    /// Failed on the wire before a response was complete (without truncated bodies).
    pub transport: u64,
    /// Failed in the middle of a body.
    pub truncated: u64,
    /// Failures that a client with silent retries would have hidden.
    pub maskable: u64,
    /// Count of each outcome that occurred.
    pub by_outcome: BTreeMap<String, u64>,
}

/// Latency quantiles over all answered requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Latency {
    /// From the time a request was due: what a user feels.
    pub scheduled: Quantiles,
    /// From the time it was sent: what the service did.
    pub dispatched: Quantiles,
}

/// Quantiles, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Quantiles {
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest.
    pub max: f64,
}

/// What is known of one pod.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PodReport {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The `pod-template-hash` label.
    pub template_hash: String,
    /// Whether it belongs to the template that the rollout replaced.
    pub old: bool,
    /// First seen in the watch.
    pub first_seen_ms: Ms,
    /// Lanes of the timeline: its phases in order.
    pub phases: Vec<PodPhase>,
    /// Its membership in the endpoints, in order.
    pub endpoint: Vec<EndpointState>,
    /// `terminationGracePeriodSeconds` of the deletion (of the spec while it is not deleted), seconds.
    pub grace_seconds: Option<i64>,
    /// Whether the spec has a preStop hook, and which, in words.
    pub pre_stop: Option<String>,
    /// When its deletion was requested.
    pub deletion_requested_ms: Option<MsInterval>,
    /// How long preStop took: from the deletion to the signal, at least and at most; `None` without a hook.
    pub pre_stop_took_ms: Option<(MsLength, MsLength)>,
    /// When the stop signal was sent.
    pub signal_ms: Option<MsInterval>,
    /// When SIGKILL was due.
    pub deadline_ms: Option<MsInterval>,
    /// The first sign of a drain, and which.
    pub first_drain_sign: Option<Sign>,
    /// First seen not Ready after the deletion.
    pub not_ready_ms: Option<Ms>,
    /// When its endpoint was first not ready after the deletion.
    pub endpoint_not_ready_ms: Option<Ms>,
    /// When its endpoint first stopped serving after the deletion.
    pub endpoint_not_serving_ms: Option<Ms>,
    /// When its endpoint was removed after the deletion.
    pub endpoint_removed_ms: Option<Ms>,
    /// First refused connection that is laid at its door.
    pub listener_closed_ms: Option<Ms>,
    /// The last **new** connection attempted on it after its deletion, answered or refused.
    pub last_new_connection_ms: Option<Ms>,
    /// From the request of deletion to that.
    pub propagation_lag_ms: Option<MsLength>,
    /// The last request answered on an established connection after its deletion.
    pub last_reused_request_ms: Option<Ms>,
    /// Requests in flight on it at the signal.
    pub in_flight_at_signal: Option<u64>,
    /// Requests in flight on it when it ended.
    pub in_flight_at_exit: Option<u64>,
    /// Requests that were sent to it and got no definite answer.
    pub cut: u64,
    /// Requests that it answered.
    pub served: u64,
    /// Failed requests attributed to it.
    pub failed: u64,
    /// How it ended.
    pub exit: Option<PodExit>,
    /// Ends of its containers before that (restarts in place).
    pub earlier_exits: Vec<PodExit>,
    /// From its end to the deadline; negative when it ended after it.
    pub margin_to_deadline_ms: Option<MsLength>,
    /// Log marks and shutdown lines.
    pub log_marks: Vec<LogMark>,
    /// Its shutdown in its own stages; `None` when its log tells of none.
    pub shutdown: Option<Shutdown>,
}

/// A shutdown in its own stages, as the application's log tells them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shutdown {
    /// In order of time.
    pub stages: Vec<ShutdownStage>,
    /// Whether they came in the right order: outside in, dependencies last; `None` where too few were told of.
    pub in_order: Option<bool>,
    /// What came too early, in words.
    pub out_of_order: Vec<String>,
    /// How many owners ran it: more than one where the same stages came again.
    pub owners: u64,
}

/// A stage of a shutdown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShutdownStage {
    /// `signal`, `readiness_off`, `listener_closed`, `drained`, `jobs_returned`, `pool_closed` or `exit`.
    pub stage: &'static str,
    /// When it was reached.
    pub at_ms: Ms,
    /// From the stage before to this one; of the first, from the signal.
    pub took_ms: MsLength,
    /// 1; 2 where the same line came a second time.
    pub run: u64,
    /// The mark of the scenario that told of it.
    pub mark: Option<String>,
    /// What the mark's named groups caught.
    pub values: BTreeMap<String, String>,
    /// The line, cut to 200 characters; `None` for an end that only the kubelet told of.
    pub line: Option<String>,
}

/// The budget of a termination: a sum that fits in the grace or does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// What the preStop hook takes, by the manifest.
    pub pre_stop_ms: MsLength,
    /// The longest drain: from the signal to an end of its own.
    pub longest_drain_ms: MsLength,
    /// What is kept free.
    pub margin_ms: MsLength,
    /// Their sum.
    pub needed_ms: MsLength,
    /// `terminationGracePeriodSeconds`.
    pub grace_ms: MsLength,
    /// Whether the sum fits.
    pub fits: bool,
    /// What the longest drain is taken from: `maximum of 6 pods`.
    pub of: String,
}

/// A phase of a pod's life.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PodPhase {
    /// `pending`, `starting`, `not_ready`, `ready`, `terminating`, `ended`.
    pub phase: &'static str,
    /// From.
    pub from_ms: Ms,
    /// To; `None` while it lasts.
    pub to_ms: Option<Ms>,
}

/// A pod's state in the endpoints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EndpointState {
    /// From.
    pub from_ms: Ms,
    /// To; `None` while it lasts.
    pub to_ms: Option<Ms>,
    /// Condition `ready`.
    pub ready: bool,
    /// Condition `serving`.
    pub serving: bool,
    /// Condition `terminating`.
    pub terminating: bool,
}

/// A sign of a drain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sign {
    /// When.
    pub at_ms: MsInterval,
    /// `readiness`, `listener_closed`, `connection_close`, `log`, `exit`.
    pub kind: &'static str,
    /// In words.
    pub what: String,
}

/// How a container ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PodExit {
    /// Exit code.
    pub code: i64,
    /// Reason (`Completed`, `Error`, `OOMKilled` ...).
    pub reason: String,
    /// When.
    pub at_ms: MsInterval,
}

/// A log line with a meaning.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogMark {
    /// When.
    pub at_ms: Ms,
    /// The mark's name in the scenario, or `shutdown` for lines that look like one.
    pub mark: String,
    /// The line, cut to 200 characters.
    pub line: String,
}

/// A burst of failed requests with one cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Burst {
    /// Number, from 1, in order of time.
    pub id: u32,
    /// When the first of its requests was due.
    pub from_ms: Ms,
    /// When the last of its requests ended.
    pub to_ms: Ms,
    /// How many requests failed.
    pub failed: u64,
    /// Count of each outcome.
    pub by_outcome: BTreeMap<String, u64>,
    /// The pods that they were on; empty when unknown.
    pub pods: Vec<String>,
    /// Sequence numbers of the requests.
    pub requests: Vec<u64>,
    /// The cause: a signature's name, `several`, `indeterminate` or `unknown`.
    pub cause: String,
    /// The signature's face (`refused`, `in_flight_cut`, `long_request` ...), where it has several.
    pub detail: Option<String>,
    /// The latest stage of the scenario that did something (not `warmup` or `settle`) when it began: `stage 2 (exec)`.
    pub stage: Option<String>,
    /// In a sentence for the first screen.
    pub summary: String,
    /// 0 to 1; of `several`, that of the likeliest of its causes.
    pub confidence: f64,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
    /// What was found against it.
    pub against: Vec<Evidence>,
    /// Other causes that were weighed, and why they are not it.
    pub ruled_out: Vec<RuledOut>,
    /// What to change.
    pub advice: Vec<Advice>,
}

/// One failed request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailureReport {
    /// Its sequence number.
    pub seq: u64,
    /// The pod that it was on, where that is known or the verdict names it.
    pub pod: Option<String>,
    /// How the pod is known: `header`, `connection`, `peer`, `time` (the likeliest by time, or by the verdict) or
    /// `unknown`.
    pub how: String,
    /// The burst that it is in.
    pub burst: Option<u32>,
}

/// A fact that a verdict rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// What was looked for, as a stable name (`exit_before_deadline`).
    pub id: String,
    /// What was found, in a sentence.
    pub text: String,
    /// Where it can be seen.
    pub at_ms: Option<MsInterval>,
    /// The pod.
    pub pod: Option<String>,
}

/// A cause that was weighed and is not it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuledOut {
    /// The signature's name.
    pub cause: String,
    /// Why, in a sentence.
    pub why: String,
}

/// What to change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// The manifest field or the program's behaviour that it is about.
    pub field: String,
    /// In a sentence, with numbers.
    pub text: String,
}

/// Something that is wrong without a failed request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// A signature's or a finding's name.
    pub cause: String,
    /// The signature's face.
    pub detail: Option<String>,
    /// The pods.
    pub pods: Vec<String>,
    /// In a sentence.
    pub summary: String,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
    /// What to change.
    pub advice: Vec<Advice>,
}

/// A shutdown assertion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assertion {
    /// Its stable name.
    pub id: String,
    /// What should be true.
    pub text: String,
    /// Whether it was; `None` when it could not be seen.
    pub held: Option<bool>,
    /// The pods that broke it.
    pub pods: Vec<String>,
    /// What was seen.
    pub why: String,
}

/// Another clock against the run's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClockReport {
    /// Whose.
    pub clock: String,
    /// `[lo, hi]` of (that clock - ours), milliseconds.
    pub offset_ms: (f64, f64),
    /// Samples that it rests on.
    pub samples: u64,
}

/// The connections of one name that were held open.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StreamReport {
    /// Their name in the scenario.
    pub name: String,
    /// How often a message was expected.
    pub cadence_ms: MsLength,
    /// Connections, those that took another's place among them.
    pub connections: u64,
    /// Messages that came.
    pub messages: u64,
    /// Silences of more than twice the cadence.
    pub silences: u64,
    /// The longest time without a message on an open connection.
    pub longest_silence_ms: MsLength,
    /// How many ended how: `held` (the load ended first), `closed`, `eof`, `reset`, `silence`, `protocol`, `not_opened`,
    /// `aborted`.
    pub ends: BTreeMap<String, u64>,
    /// The codes of the peers' close frames (1005: a frame without a code), and how many carried each.
    pub close_codes: BTreeMap<String, u64>,
    /// Connections that took another's place and got a message.
    pub resumed: u64,
    /// The longest time from the end of one to the first message of the one in its place.
    pub longest_resumption_ms: Option<MsLength>,
}

/// Something that was not seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GapReport {
    /// What.
    pub source: String,
    /// From.
    pub from_ms: Ms,
    /// To.
    pub to_ms: Option<Ms>,
    /// Why.
    pub reason: String,
    /// Whether it may hide what the run is about.
    pub matters: bool,
}

/// A stage as an interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageReport {
    /// Its kind.
    pub kind: String,
    /// From.
    pub from_ms: Ms,
    /// To; `None` when it never ended.
    pub to_ms: Option<Ms>,
    /// Marks in it.
    pub marks: Vec<StageMark>,
    /// How it ended: `completed`, `failed` or `open`.
    pub end: &'static str,
    /// The failure in words.
    pub detail: Option<String>,
}

/// A mark of a stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageMark {
    /// When.
    pub at_ms: Ms,
    /// Which.
    pub mark: String,
}
