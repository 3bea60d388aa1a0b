//! What one program did with its stop signal (`rollscope signal`): whether the signal reached it, how it ended, and what
//! became of the requests in flight, of the idle connections and of new ones.

use std::collections::{BTreeMap, BTreeSet};

use rollscope_records::{Connection, Lane, Outcome, Recording, Request, RunOffset};
use serde::Serialize;

use crate::analysis::{Ms, MsInterval, MsLength};
use crate::context::Context;
use crate::drain::{Drain, EndedAt};
use crate::timeline::{Pod, PodIx, SentSignal};
use crate::words::{count, span};

/// What stands between the load and the program in a run of this kind.
const DIRECT: &str = "direct";
/// Exit codes above this tell the signal that ended a process.
const SIGNALLED: i64 = 128;
/// A connection that ends this near the program's end ended with it, ns.
const WITH_IT: i64 = 50_000_000;

/// The signal and what the program did with it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SignalReport {
    /// The pod that ran the program.
    pub pod: String,
    /// The signal's name.
    pub signal: String,
    /// When it was sent; for a second time too, where it was.
    pub sent_ms: Vec<MsInterval>,
    /// What it did with the program: `handled`, `ignored`, `not_stopped` (a handler ran, or a drain was seen, but only
    /// SIGKILL ended it), `died` (of the default action), `ended_before` (by itself, before the signal) or `unknown`.
    pub effect: &'static str,
    /// The program's processes at the signal, the first one first; empty where they could not be seen.
    pub processes: Vec<SignalledProcess>,
    /// Its exit code; `None` while it was not seen to end.
    pub exit_code: Option<i64>,
    /// From the first signal to its end.
    pub took_ms: Option<MsLength>,
    /// The grace: from the deletion to SIGKILL.
    pub grace_ms: MsLength,
    /// Whether SIGKILL ended it.
    pub killed: bool,
    /// Requests in flight at the first signal.
    pub in_flight: InFlight,
    /// Connections without a request at the first signal.
    pub idle: IdleConnections,
    /// Requests after the first signal that wanted a connection of their own.
    pub new_connections: NewConnections,
    /// The first of them that was not made because the route had been withdrawn.
    pub route_withdrawn_ms: Option<Ms>,
    /// All of it in a sentence or two.
    pub summary: String,
}

/// A process at the moment of the signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SignalledProcess {
    /// Its pid in the container.
    pub pid: i64,
    /// Its name.
    pub name: String,
    /// What it does at the signal: `handler`, `ignored`, `blocked` or `default`.
    pub action: String,
}

/// Requests in flight at the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct InFlight {
    /// All of them.
    pub at_signal: u64,
    /// Those of which a part of the response had come.
    pub in_body: u64,
    /// Those that were answered to the end.
    pub answered: u64,
    /// Those that failed.
    pub failed: u64,
}

/// Connections that were open and idle at the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct IdleConnections {
    /// All of them.
    pub at_signal: u64,
    /// Those that carried another request that was answered.
    pub answered: u64,
    /// Those whose next request failed.
    pub failed: u64,
    /// Those that the program closed before its end.
    pub closed: u64,
    /// Those that were open until the program's end.
    pub held: u64,
}

/// Requests that wanted a connection of their own after the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct NewConnections {
    /// Those for which one was attempted.
    pub attempted: u64,
    /// Those that were answered.
    pub answered: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that came after the route was withdrawn: another instance would have got them.
    pub unrouted: u64,
}

/// The report; `None` where the run is of another kind, or nothing was signalled.
pub(crate) fn signal(recording: &Recording, cx: &Context<'_>) -> Option<SignalReport> {
    if recording.run.target.front_end.as_deref() != Some(DIRECT) {
        return None;
    }
    let (ix, pod, deletion) = cx.timeline.terminating().next()?;
    let drain = cx.drain(ix)?;
    let at = drain.signal_at;
    let end = pod.end.as_ref();
    let stops: Vec<&SentSignal> = pod.signals.iter().filter(|s| s.name != KILL).collect();
    let effect = effect(pod, drain);
    let requests: Vec<Request<'_>> = cx.traffic.requests.iter().collect();
    let mut report = SignalReport {
        pod: pod.name.clone(),
        signal: stops.first().map_or("SIGTERM", |s| &s.name).to_owned(),
        sent_ms: match stops.as_slice() {
            [] => vec![MsInterval(drain.signal)],
            sent => sent.iter().map(|s| MsInterval(s.at)).collect(),
        },
        effect,
        processes: stops.first().map_or_else(Vec::new, |s| s.processes.clone()),
        exit_code: end.map(|e| e.code),
        took_ms: end.map(|e| MsLength(e.point().nanos_since(at).max(0))),
        grace_ms: MsLength(deletion.grace.saturating_mul(1_000_000_000)),
        killed: killed(pod, drain),
        in_flight: in_flight(&requests, at),
        idle: idle(recording, &requests, at, pod),
        new_connections: new_connections(&requests, at),
        route_withdrawn_ms: withdrawn(&requests),
        summary: String::new(),
    };
    report.summary = summary(&report, ix, cx);
    Some(report)
}

const KILL: &str = "SIGKILL";

/// Whether SIGKILL ended it, by the kubelet's word or by its end.
fn killed(pod: &Pod, drain: &Drain) -> bool {
    let told = pod.signals.iter().any(|s| s.name == KILL);
    let seen = pod.end.as_ref().is_some_and(|e| e.code == 137);
    told || (seen && matches!(drain.ended, EndedAt::Deadline | EndedAt::TwoSecondsAfter))
}

fn effect(pod: &Pod, drain: &Drain) -> &'static str {
    let Some(end) = &pod.end else {
        return "unknown";
    };
    if drain.unsignalled {
        return "ended_before";
    }
    let first = pod.signals.first().and_then(|s| s.processes.first());
    let handles = first.map(|p| p.action == "handler");
    let died = first.is_none_or(|p| p.action == "default") && end.code > SIGNALLED;
    match killed(pod, drain) {
        true if handles == Some(true) || drain.first_sign().is_some() => "not_stopped",
        true if handles.is_some() => "ignored",
        true => "unknown",
        false if died => "died",
        false => "handled",
    }
}

fn spans(r: &Request<'_>, t: RunOffset) -> bool {
    r.dispatched.is_some_and(|d| d <= t) && r.ended.is_some_and(|e| t < e)
}

fn in_flight(requests: &[Request<'_>], at: RunOffset) -> InFlight {
    let mut seen = InFlight::default();
    for r in requests.iter().filter(|r| spans(r, at)) {
        seen.at_signal += 1;
        seen.in_body += u64::from(r.first_byte.is_some_and(|f| f <= at));
        seen.answered += u64::from(r.outcome == Outcome::Ok);
        seen.failed += u64::from(r.outcome.is_failure());
    }
    seen
}

fn idle(
    recording: &Recording,
    requests: &[Request<'_>],
    at: RunOffset,
    pod: &Pod,
) -> IdleConnections {
    let busy: BTreeSet<u64> = requests
        .iter()
        .filter(|r| spans(r, at))
        .filter_map(|r| r.connection)
        .collect();
    let mut next: BTreeMap<u64, &Request<'_>> = BTreeMap::new();
    for r in requests.iter().filter(|r| r.dispatched > Some(at)) {
        if let Some(id) = r.connection {
            next.entry(id).or_insert(r);
        }
    }
    let open = |c: &Connection<'_>| {
        c.lane == Lane::Reused
            && c.established.is_some_and(|e| e <= at)
            && c.closed.is_none_or(|e| e > at)
            && !busy.contains(&c.id)
    };
    let end = pod.end.as_ref().map(|e| e.at.lo.plus_nanos(-WITH_IT));
    let mut seen = IdleConnections::default();
    for c in recording.connections.iter().filter(open) {
        seen.at_signal += 1;
        let again = next.get(&c.id).map(|r| r.outcome);
        seen.answered += u64::from(again == Some(Outcome::Ok));
        seen.failed += u64::from(again.is_some_and(Outcome::is_failure));
        let before_end = c
            .closed
            .is_some_and(|closed| end.is_none_or(|e| closed < e));
        seen.closed += u64::from(before_end);
        seen.held += u64::from(!before_end);
    }
    seen
}

fn new_connections(requests: &[Request<'_>], at: RunOffset) -> NewConnections {
    let mut seen = NewConnections::default();
    for r in requests
        .iter()
        .filter(|r| r.dispatched > Some(at) && !r.reused)
    {
        if r.outcome == Outcome::Unrouted {
            seen.unrouted += 1;
            continue;
        }
        seen.attempted += 1;
        seen.answered += u64::from(r.outcome == Outcome::Ok);
        seen.failed += u64::from(r.outcome.is_failure());
    }
    seen
}

fn withdrawn(requests: &[Request<'_>]) -> Option<Ms> {
    let first = requests.iter().filter(|r| r.outcome == Outcome::Unrouted);
    first.filter_map(|r| r.dispatched).min().map(Ms)
}

fn summary(report: &SignalReport, ix: PodIx, cx: &Context<'_>) -> String {
    let signal = &report.signal;
    let first = report.processes.first();
    let who = first.map_or_else(
        || "the program".to_owned(),
        |p| format!("{} (pid {})", p.name, p.pid),
    );
    let took = report
        .took_ms
        .map_or_else(String::new, |t| format!(" {} after it", span(t.0)));
    let code = report.exit_code.unwrap_or(-1);
    let sign = cx.drain(ix).and_then(Drain::first_sign);
    match report.effect {
        "handled" => {
            format!("{signal} reached {who}, which ended by itself with exit code {code}{took}")
        }
        "died" => {
            format!("{who} died of {signal} (exit code {code}){took}: it has no handler for it")
        }
        "ended_before" => {
            format!("{who} ended by itself with exit code {code} before {signal} was sent")
        }
        "not_stopped" => {
            let seen = sign.map_or_else(
                || "it has a handler, which may be its runtime's own: nothing shows that it did anything".to_owned(),
                |s| format!("first sign: {}", s.what),
            );
            format!("{signal} reached {who} ({seen}), but it did not end: SIGKILL did{took}")
        }
        "ignored" => format!(
            "{who} ignored {signal}{}: SIGKILL ended it{took}",
            why(report)
        ),
        _ if report.exit_code.is_none() => format!("the end of {who} was not seen"),
        _ => format!("nothing shows that {signal} reached {who}: SIGKILL ended it{took}"),
    }
}

/// Why a first process ignores its signal.
fn why(report: &SignalReport) -> String {
    let Some((first, others)) = report.processes.split_first() else {
        return String::new();
    };
    let own = match first.action.as_str() {
        "ignored" => " by its own wish",
        "blocked" => ", which it blocks",
        _ => ", for which it has no handler",
    };
    let behind: Vec<String> = others
        .iter()
        .filter(|p| p.action == "handler")
        .map(|p| format!("{} (pid {})", p.name, p.pid))
        .collect();
    match behind.as_slice() {
        [] => own.to_owned(),
        [one] => format!("{own}, and passed nothing on to {one}, which has one"),
        some => format!(
            "{own}, and passed nothing on to {} of its processes, which have one",
            count(some.len() as u64, "other")
        ),
    }
}
