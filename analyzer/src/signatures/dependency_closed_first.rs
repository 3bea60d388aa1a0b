//! `dependency_closed_first`: a draining application answers errors itself, because it closed what it needs (its
//! database pool) before its HTTP drain had ended.

use super::facts::{self, MS, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use crate::advice;
use crate::analysis::Advice;
use crate::context::Context;
use crate::timeline::PodIx;
use crate::traffic::{Failure, Kind};
use crate::words::span;

const NAME: &str = "dependency_closed_first";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    if !matches!(case.kind, Kind::AppStatus(500..=599)) {
        return Vec::new();
    }
    facts::best(case, |p| {
        Some(
            Hypothesis::of(NAME, None)
                .on(p)
                .require(1.5, facts::after_deletion(case, p, cx))
                .require(1.5, answered_itself(case, p, cx))
                .weigh(1.0, 0.0, mixed(case, p, cx))
                .weigh(1.0, 0.5, quick(case, p, cx))
                .weigh(0.5, 0.0, facts::drain_sign(p, cx))
                .oppose(3.0, facts::proxy_ended_first(case, p, cx))
                .forbid(super::background::same_rate_before(case, cx)),
        )
    })
    .into_iter()
    .collect()
}

/// The error is the application's own, from a pod that is being deleted and still alive.
pub(super) fn answered_itself(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    if p.end_at()
        .is_some_and(|e| e.hi.plus_nanos(SECOND) < case.last(cx))
    {
        return Check::No(format!("{} had ended", p.name));
    }
    let named = case.failures(cx).any(|f| f.pod == Some(pod));
    if !named {
        return Check::Unseen;
    }
    let Kind::AppStatus(status) = case.kind else {
        return Check::No("no status".to_owned());
    };
    Check::Yes(cx.fact(
        "answered_by_draining_pod",
        pod,
        None,
        format!("it answered {status} itself while it was being deleted: its listener was open"),
    ))
}

/// Other requests were answered well meanwhile.
pub(super) fn mixed(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let Some(traffic) = cx.traffic.pod(pod) else {
        return Check::No(String::new());
    };
    let (from, to) = (case.first(cx), case.last(cx).plus_nanos(SECOND));
    let answered = traffic.new_between(from, to) + traffic.reused_between(from, to);
    let well = answered.saturating_sub(case.failures.len());
    Check::when(
        well > 0,
        || {
            cx.fact(
                "mixed_with_good_answers",
                pod,
                None,
                format!("{well} other requests were answered as they should be meanwhile"),
            )
        },
        "",
    )
}

pub(super) fn quick(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let mut ages: Vec<i64> = case.failures(cx).map(Failure::age).collect();
    ages.sort_unstable();
    let median = ages.get(ages.len() / 2).copied().unwrap_or(0);
    Check::when(
        median < 50 * MS,
        || {
            cx.fact(
                "failed_at_once",
                pod,
                None,
                format!("the errors came within {} (median)", span(median)),
            )
        },
        "the errors took their time",
    )
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    format!(
        "{} by {}: while draining, the application itself answered errors, as one that has closed a dependency before its HTTP drain ended",
        facts::harm(group, cx),
        facts::who(group, cx)
    )
}

fn advice(_: &Group<'_>, _: &Context<'_>) -> Vec<Advice> {
    vec![advice::program(
        "close dependencies (database pool, queue, cache) last: after the listener is closed and every request in flight is answered",
    )]
}
