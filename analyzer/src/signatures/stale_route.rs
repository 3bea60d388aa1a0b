//! `stale_route`: traffic still goes to a pod that left long ago and did not leave early.

use super::early_close::{self, WAITED};
use super::facts::{self, AT_SIGNAL, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use crate::advice;
use crate::analysis::Advice;
use crate::context::Context;
use crate::drain::EndedAt;
use crate::timeline::PodIx;
use crate::traffic::{Kind, down_at};
use crate::words::span;

const NAME: &str = "stale_route";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

/// A pod that is routed to is hardly ever without a new connection for this long, ns.
const QUIET: i64 = SECOND / 4;

/// What a route that was gone counts at most, nats.
const MOST: f64 = 4.0;

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    if !matches!(case.kind, Kind::Refused | Kind::Vanished) {
        return Vec::new();
    }
    facts::best(case, |p| {
        Some(
            Hypothesis::of(NAME, None)
                .on(p)
                .require(1.0, facts::after_deletion(case, p, cx))
                .forbid(facts::killed_by_probe(case, p, cx))
                .require(1.5, after_its_end(case, p, cx))
                .require(2.5, not_early(p, cx))
                .forbid(told_nobody(p, cx))
                .oppose(3.0, early_close::template_closes(p, cx))
                .oppose(1.5, another_was_down(case, p, cx))
                .oppose_by(facts::quiet_since_its_end(case, p, cx))
                .oppose(2.0, super::no_endpoints::empty_of_late(case, cx))
                .oppose_by(had_left_rotation(p, cx))
                .weigh(1.0, 0.0, long_after(case, p, cx)),
        )
    })
    .into_iter()
    .collect()
}

/// The failures began with its end, or with its listener's close after it had waited for routing.
fn after_its_end(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    if let waited @ Check::Yes(_) = early_close::waited(case, pod, cx) {
        return waited;
    }
    let name = &cx.pod(pod).name;
    let Some(end) = cx.pod(pod).end_at() else {
        return Check::No(format!("{name} had not ended"));
    };
    let first = case.first(cx);
    Check::when(
        first >= end.lo.plus_nanos(-SECOND / 10),
        || {
            cx.fact(
                "after_its_end",
                pod,
                Some(end),
                format!(
                    "the failures began {} after its end",
                    span(first.nanos_since(end.hi).max(0))
                ),
            )
        },
        &format!("{name} was alive when the failures began"),
    )
}

/// It stayed long enough for any routing, or to its deadline.
fn not_early(pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    let (Some(drain), Some(end)) = (cx.drain(pod), p.end_at()) else {
        return Check::No(format!("{} was not being deleted", p.name));
    };
    let closed = facts::logged_close(pod, cx);
    if let Some(closed) = closed
        && closed.nanos_since(drain.signal.hi) < WAITED
    {
        return Check::No(format!(
            "{} closed its listener {} after its signal, by its log",
            p.name,
            span(closed.nanos_since(drain.signal_at).max(0))
        ));
    }
    let lived = end.lo.nanos_since(drain.signal.hi);
    // A hook as long as the grace brings the signal at the deadline: what ends at it then ends early all the same.
    let at_its_signal = matches!(facts::ended_at_signal(pod, AT_SIGNAL, cx), Check::Yes(_));
    let to_deadline = !at_its_signal
        && matches!(
            drain.ended,
            EndedAt::Deadline | EndedAt::TwoSecondsAfter | EndedAt::Later
        );
    if drain.closed_alive && !to_deadline && lived < WAITED {
        return Check::No(format!("{} closed early", p.name));
    }
    Check::when(
        lived >= WAITED || to_deadline,
        || {
            cx.fact(
                "stayed",
                pod,
                Some(end),
                format!(
                    "it stayed for {} after its signal: traffic should have gone elsewhere by then",
                    span(lived.max(0))
                ),
            )
        },
        &format!("{} ended {} after its signal", p.name, span(lived.max(0))),
    )
}

/// What routes asks the pod itself, and the pod showed no sign that it was leaving: no route was stale.
fn told_nobody(pod: PodIx, cx: &Context<'_>) -> Check {
    let silent = matches!(facts::drain_sign(pod, cx), Check::No(_));
    Check::when(
        silent && cx.traffic.is_routed_by_health(),
        || {
            let text =
                "its balancer looks only at its own health check, and it answered that to its end";
            cx.fact("told_nobody", pod, None, text)
        },
        "",
    )
}

/// Another pod's container had ended by itself or for its probe: it refused for certain.
fn another_was_down(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let first = case.first(cx);
    let other = case.suspects.iter().find(|p| {
        **p != pod
            && (down_at(cx.pod(**p), first).is_some()
                || matches!(facts::killed_by_probe(case, **p, cx), Check::Yes(_)))
    });
    match other {
        Some(p) => Check::Yes(cx.fact(
            "another_was_down",
            *p,
            None,
            "its container was down at that time",
        )),
        None => Check::No(String::new()),
    }
}

/// Long before its end, while it lived and listened, the last new connection came to it: its route was gone. With how
/// much that counts, in nats: as many connections as it would have had since.
fn had_left_rotation(pod: PodIx, cx: &Context<'_>) -> (f64, Check) {
    let no = (0.0, Check::No(String::new()));
    let p = cx.pod(pod);
    let (Some(seen), Some(end), Some(drain)) = (p.deletion_seen(), p.end_at(), cx.drain(pod))
    else {
        return no;
    };
    if !cx.traffic.pods_named || drain.closed_alive || facts::logged_close(pod, cx).is_some() {
        return no;
    }
    let answered = cx.traffic.pod(pod).map(|t| t.answered_new.as_slice());
    let before_its_end = answered.unwrap_or_default().iter().rfind(|t| **t <= end.lo);
    let from = before_its_end.map_or(seen, |t| seen.max(*t));
    if end.lo.nanos_since(from) < QUIET {
        return no;
    }
    let others = cx.timeline.fewest_ready(from, end.lo).unwrap_or(1).max(1);
    let missed = cx.traffic.made(from, end.lo) as f64 / (others + 1) as f64;
    let text = format!(
        "no new connection came to it in its last {}: it was not routed to any more",
        span(end.lo.nanos_since(from))
    );
    let fact = cx.fact("had_left_rotation", pod, Some(end), text);
    (missed.min(MOST), Check::Yes(fact))
}

fn long_after(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let Some(end) = cx.pod(pod).end_at() else {
        return Check::No(String::new());
    };
    let after = case.first(cx).nanos_since(end.hi);
    Check::when(
        after > 2 * SECOND,
        || {
            cx.fact(
                "long_after",
                pod,
                Some(end),
                format!("it had ended {} before", span(after)),
            )
        },
        "",
    )
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    format!(
        "{} on {}: traffic was still routed there after the end of the pod, which had not left early",
        facts::harm(group, cx),
        facts::who(group, cx)
    )
}

fn advice(_: &Group<'_>, cx: &Context<'_>) -> Vec<Advice> {
    vec![
        advice::program(
            "look at what routes: DNS caches, sticky sessions, a balancer that follows the endpoints late",
        ),
        advice::pre_stop(cx),
    ]
}
