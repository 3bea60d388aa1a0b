//! `trace.json`: the run in the trace event format, for Perfetto and Chrome's trace viewer.

use rollscope_analyzer::{Analysis, EndpointState, Ms, MsInterval, PodReport};
use rollscope_records::{Recording, Requests, RunOffset};
use serde_json::{Map, Value, json};

use crate::html::placement::Placement;
use crate::series::{Kind, Seconds};
use crate::text::{cause_code, field};

/// The process that the run's own tracks lie in; pods follow.
const RUN: u64 = 1;
/// Tracks of the run.
const STAGES: u64 = 1;
const MARKS: u64 = 2;
/// Tracks of a pod.
const PHASES: u64 = 1;
const ENDPOINT: u64 = 2;
const SHUTDOWN: u64 = 3;

/// The run as a trace: stages and their marks, bursts and failed requests (asynchronous events, for they overlap),
/// requests by kind and latency as counters, and a process for each pod with its phases, its endpoint and the steps of
/// its shutdown. Times are microseconds on the run's clock; what came before its start begins with it.
///
/// # Panics
///
/// Never: a trace is plain data.
pub fn trace_json(a: &Analysis, recording: &Recording) -> String {
    let mut trace = Trace::new(a, recording);
    trace.run(a);
    trace.counters(&recording.requests);
    for (n, pod) in a.pods.iter().enumerate() {
        trace.pod(RUN + 1 + n as u64, pod);
    }
    trace.bursts(a);
    trace.failures(a, recording);
    let about = json!({
        "run": field(&a.run.id), "scenario": field(&a.run.name), "started_at": field(&a.run.started_at),
        "tool": field(&a.run.tool), "failed": a.requests.failed, "sent": a.requests.sent,
        "outcome": a.verdict.outcome, "exit_code": a.verdict.exit_code,
    });
    format!(
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[\n{}\n]}}\n",
        compact(&about),
        trace.events
    )
}

fn compact(value: &Value) -> String {
    serde_json::to_string(value).expect("plain data")
}

struct Trace {
    /// The events, a line each: a run may have millions.
    events: String,
    end: RunOffset,
}

/// A moment of the trace: on the run's clock, not before its start.
fn clamped(at: RunOffset) -> RunOffset {
    at.max(RunOffset::ZERO)
}

/// Microseconds from the start of the run.
fn micros(at: RunOffset) -> f64 {
    clamped(at).nanos() as f64 / 1e3
}

impl Trace {
    fn new(a: &Analysis, recording: &Recording) -> Self {
        let ended = recording.requests.iter().filter_map(|r| r.ended).max();
        let end = RunOffset(a.run.duration_ms.0);
        Self {
            events: String::new(),
            end: ended.map_or(end, |e| e.max(end)),
        }
    }

    fn event(&mut self, phase: &str, name: &str, (pid, tid): (u64, u64), rest: Value) {
        let mut event = Map::new();
        event.insert("ph".to_owned(), phase.into());
        event.insert("name".to_owned(), field(name).into());
        event.insert("pid".to_owned(), pid.into());
        event.insert("tid".to_owned(), tid.into());
        if let Value::Object(rest) = rest {
            event.extend(rest);
        }
        if !self.events.is_empty() {
            self.events.push_str(",\n");
        }
        self.events.push_str(&compact(&Value::Object(event)));
    }

    fn process(&mut self, pid: u64, name: &str, tracks: &[(u64, &str)]) {
        self.event(
            "M",
            "process_name",
            (pid, 0),
            json!({"args": {"name": field(name)}}),
        );
        self.event(
            "M",
            "process_sort_index",
            (pid, 0),
            json!({"args": {"sort_index": pid}}),
        );
        for (tid, track) in tracks {
            self.event(
                "M",
                "thread_name",
                (pid, *tid),
                json!({"args": {"name": track}}),
            );
            self.event(
                "M",
                "thread_sort_index",
                (pid, *tid),
                json!({"args": {"sort_index": tid}}),
            );
        }
    }

    /// An interval on a track whose intervals do not overlap.
    fn interval(&mut self, track: (u64, u64), name: &str, from: Ms, to: Option<Ms>, args: Value) {
        let (from, to) = (clamped(from.0), clamped(to.map_or(self.end, |to| to.0)));
        let dur = to.nanos_since(from).max(0) as f64 / 1e3;
        self.event(
            "X",
            name,
            track,
            json!({"ts": micros(from), "dur": dur, "args": args}),
        );
    }

    fn instant(&mut self, track: (u64, u64), name: &str, at: RunOffset, args: Value) {
        self.event(
            "i",
            name,
            track,
            json!({"ts": micros(at), "s": "t", "args": args}),
        );
    }

    /// An interval that may overlap others of its category.
    fn asynchronous(
        &mut self,
        pid: u64,
        cat: &str,
        id: &str,
        name: &str,
        span: [RunOffset; 2],
        args: Value,
    ) {
        let [from, to] = span.map(micros);
        self.event(
            "b",
            name,
            (pid, 0),
            json!({"cat": cat, "id": id, "ts": from, "args": args}),
        );
        self.event(
            "e",
            name,
            (pid, 0),
            json!({"cat": cat, "id": id, "ts": to.max(from)}),
        );
    }

    fn run(&mut self, a: &Analysis) {
        let name = format!("rollscope: {}", a.run.name);
        self.process(RUN, &name, &[(STAGES, "stages"), (MARKS, "marks")]);
        for stage in &a.stages {
            let args = json!({"end": stage.end, "detail": stage.detail.as_deref().map(field)});
            self.interval((RUN, STAGES), &stage.kind, stage.from_ms, stage.to_ms, args);
            for mark in &stage.marks {
                self.instant((RUN, MARKS), &mark.mark, mark.at_ms.0, json!({}));
            }
        }
        for (n, gap) in a.gaps.iter().enumerate() {
            let args = json!({"reason": field(&gap.reason), "matters": gap.matters});
            let name = format!("not seen: {}", gap.source);
            let to = gap.to_ms.map_or(self.end, |to| to.0);
            self.asynchronous(
                RUN,
                "gap",
                &format!("gap-{n}"),
                &name,
                [gap.from_ms.0, to],
                args,
            );
        }
    }

    fn counters(&mut self, requests: &Requests) {
        let seconds = Seconds::of(requests);
        for (n, second) in seconds.each.iter().enumerate() {
            let at = seconds.first + i64::try_from(n).unwrap_or(0);
            let ts = micros(RunOffset(at.saturating_mul(1_000_000_000)));
            let args: Map<String, Value> = Kind::ALL
                .iter()
                .map(|kind| (kind.words().to_owned(), second.of(*kind).into()))
                .collect();
            self.event(
                "C",
                "requests a second",
                (RUN, 0),
                json!({"ts": ts, "args": args}),
            );
            if let (Some(p50), Some(p99)) = (second.quantile(500), second.quantile(990)) {
                let args = json!({"p50": p50, "p99": p99});
                self.event(
                    "C",
                    "latency, ms",
                    (RUN, 0),
                    json!({"ts": ts, "args": args}),
                );
            }
        }
    }

    fn pod(&mut self, pid: u64, pod: &PodReport) {
        let kind = if pod.old { "old" } else { "new" };
        let name = format!("pod {} ({kind})", pod.name);
        let tracks = [
            (PHASES, "phases"),
            (ENDPOINT, "endpoint"),
            (SHUTDOWN, "shutdown"),
        ];
        self.process(pid, &name, &tracks);
        for phase in &pod.phases {
            self.interval(
                (pid, PHASES),
                phase.phase,
                phase.from_ms,
                phase.to_ms,
                json!({}),
            );
        }
        for state in &pod.endpoint {
            let name = endpoint_words(state);
            self.interval(
                (pid, ENDPOINT),
                &name,
                state.from_ms,
                state.to_ms,
                json!({}),
            );
        }
        self.shutdown((pid, SHUTDOWN), pod);
        for mark in &pod.log_marks {
            let args = json!({"line": field(&mark.line)});
            self.instant(
                (pid, SHUTDOWN),
                &format!("log: {}", mark.mark),
                mark.at_ms.0,
                args,
            );
        }
    }

    fn shutdown(&mut self, track: (u64, u64), pod: &PodReport) {
        let bounds = |at: MsInterval| json!({"from_ms": Ms(at.0.lo), "to_ms": Ms(at.0.hi)});
        let within = [
            ("deletion requested", pod.deletion_requested_ms),
            ("stop signal", pod.signal_ms),
            ("deadline", pod.deadline_ms),
        ];
        for (name, at) in within {
            if let Some(at) = at {
                self.instant(track, name, at.0.mid(), bounds(at));
            }
        }
        if let Some(sign) = &pod.first_drain_sign {
            let name = format!("first drain sign: {}", sign.kind);
            self.instant(
                track,
                &name,
                sign.at_ms.0.mid(),
                json!({"what": field(&sign.what)}),
            );
        }
        if let Some(at) = pod.last_new_connection_ms {
            self.instant(track, "last new connection", at.0, json!({}));
        }
        if let Some(exit) = &pod.exit {
            let name = format!("exit {} {}", exit.code, exit.reason);
            self.instant(track, &name, exit.at_ms.0.mid(), bounds(exit.at_ms));
        }
    }

    fn bursts(&mut self, a: &Analysis) {
        for burst in &a.bursts {
            let code = cause_code(&burst.cause, burst.detail.as_deref());
            let name = format!("burst {}: {code}, {} failed", burst.id, burst.failed);
            let args = json!({"failed": burst.failed, "summary": field(&burst.summary), "confidence": burst.confidence});
            let id = format!("burst-{}", burst.id);
            self.asynchronous(
                RUN,
                "burst",
                &id,
                &name,
                [burst.from_ms.0, burst.to_ms.0],
                args,
            );
        }
    }

    /// Each failed request on its pod's process, where it is known which that is.
    fn failures(&mut self, a: &Analysis, recording: &Recording) {
        let placement = Placement::new(a);
        let failed = recording.requests.iter();
        for r in failed.filter(|r| r.outcome.is_failure()) {
            let place = placement.of(&r);
            let pid = place.pod.map_or(RUN, |n| RUN + 1 + n as u64);
            let args = json!({
                "seq": r.seq, "request": field(r.name), "lane": r.lane, "phase": r.phase, "status": r.status,
                "errno": r.errno, "reused": r.reused, "burst": place.burst,
            });
            let id = format!("request-{}", r.seq);
            let span = [r.scheduled, r.ended.unwrap_or(self.end)];
            self.asynchronous(pid, "failed request", &id, r.outcome.as_str(), span, args);
        }
    }
}

fn endpoint_words(state: &EndpointState) -> String {
    let mut words = Vec::new();
    for (is, word) in [
        (state.ready, "ready"),
        (state.serving && !state.ready, "serving"),
        (state.terminating, "terminating"),
    ] {
        if is {
            words.push(word);
        }
    }
    if words.is_empty() {
        words.push("not ready");
    }
    words.join(", ")
}
