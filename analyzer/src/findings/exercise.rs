//! Whether the run put the shutdown to the test at all, and shutdowns that were only lucky.

use crate::advice;
use crate::analysis::Finding;
use crate::context::Context;
use crate::drain::EndedAt;
use crate::timeline::PodIx;
use crate::words::{names, span};

const SECOND: i64 = 1_000_000_000;

/// A server that closes within this time of its signal waits for no routing, ns.
const AT_ONCE: i64 = SECOND;

/// `drain_not_exercised`: no terminating pod had a request in flight at its signal.
pub(super) fn drain_not_exercised(cx: &Context<'_>) -> Option<Finding> {
    let in_flight: Vec<u64> = cx
        .timeline
        .terminating()
        .filter_map(|(ix, ..)| cx.measures.get(&ix)?.in_flight_at_signal)
        .collect();
    if in_flight.is_empty() || in_flight.iter().any(|n| *n > 0) {
        return None;
    }
    let pods: Vec<PodIx> = cx.timeline.terminating().map(|(ix, ..)| ix).collect();
    Some(Finding {
        cause: "drain_not_exercised".to_owned(),
        detail: None,
        pods: cx.timeline.names(&pods),
        summary: "no terminating pod had a request in flight at its signal: this run says nothing about how they drain"
            .to_owned(),
        evidence: Vec::new(),
        advice: vec![crate::analysis::Advice {
            field: "load".to_owned(),
            text: "raise the rate or add a slower request, so that some are in flight when the signal comes"
                .to_owned(),
        }],
    })
}

/// `drain_not_exercised`: the application says that it left the graceful path.
pub(super) fn graceful_path_left(cx: &Context<'_>) -> Option<Finding> {
    let mut pods = Vec::new();
    let mut evidence = Vec::new();
    for (ix, ..) in cx.timeline.terminating() {
        let Some(line) = cx.logs.pod(ix).and_then(|l| l.ungraceful.as_ref()) else {
            continue;
        };
        pods.push(ix);
        evidence.push(cx.fact(
            "graceful_path_left",
            ix,
            Some(rollscope_records::Interval::at(line.at)),
            format!("its log says: {}", line.text),
        ));
    }
    if pods.is_empty() {
        return None;
    }
    let pods = cx.timeline.names(&pods);
    Some(Finding {
        cause: "drain_not_exercised".to_owned(),
        detail: Some("graceful_path_left".to_owned()),
        summary: format!(
            "{} left the graceful path of the shutdown by their own word: this run says nothing about how they drain",
            names(&pods)
        ),
        pods,
        evidence,
        advice: vec![advice::program(
            "run as in production (NODE_ENV=production and the like): some libraries skip the graceful shutdown in development mode",
        )],
    })
}

/// `no_prestop_no_delay`: it ended or closed at its signal, without a hook, and was lucky.
pub(super) fn no_prestop_no_delay(
    blamed: &dyn Fn(&str) -> bool,
    cx: &Context<'_>,
) -> Option<Finding> {
    let mut pods = Vec::new();
    let mut evidence = Vec::new();
    for (ix, pod, _) in cx.timeline.terminating() {
        let Some(drain) = cx.drain(ix) else {
            continue;
        };
        let (Some(end), None) = (&pod.end, &pod.pre_stop) else {
            continue;
        };
        let took = end.at.hi.nanos_since(drain.signal_at);
        if drain.ended == EndedAt::Before && took <= AT_ONCE && !blamed(&pod.name) && !end.oom() {
            pods.push(ix);
            evidence.push(cx.fact(
                "ended_at_signal",
                ix,
                Some(end.at),
                format!("it ended within {} of its signal", span(took.max(0))),
            ));
        }
    }
    if pods.is_empty() {
        return None;
    }
    let pods = cx.timeline.names(&pods);
    Some(Finding {
        cause: "no_prestop_no_delay".to_owned(),
        detail: None,
        summary: format!(
            "{} ended at SIGTERM without a delay and without a preStop hook: with more traffic, requests would have been refused",
            names(&pods)
        ),
        pods,
        evidence,
        advice: vec![advice::pre_stop(cx)],
    })
}
