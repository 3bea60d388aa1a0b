//! `double_shutdown`: two owners run the shutdown, a framework's hooks and a library's drain for instance. The one
//! closes what the other still needs.

use rollscope_records::Interval;

use super::facts::{self, MS};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature, dependency_closed_first};
use crate::advice;
use crate::analysis::{Advice, Evidence};
use crate::context::Context;
use crate::timeline::{PodIx, Step};
use crate::traffic::Kind;
use crate::words::{count, span};

pub(crate) const NAME: &str = "double_shutdown";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

/// A dependency's error is written within this time of its close, ns.
const ANSWERED_WITHIN: i64 = 100 * MS;

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    if !matches!(case.kind, Kind::AppStatus(500..=599)) {
        return Vec::new();
    }
    facts::best(case, |p| {
        // Its log alone tells two owners from one that has the order wrong.
        let told = cx.drain(p).filter(|d| !d.shutdown.stages.is_empty())?;
        let twice = owners(p, cx).map_or_else(
            || Check::No(format!("the log of {} has each stage once", cx.pod(p).name)),
            Check::Yes,
        );
        let closed = told
            .shutdown
            .stages
            .iter()
            .find(|s| s.step == Step::PoolClosed);
        Some(
            Hypothesis::of(NAME, None)
                .on(p)
                .require(1.5, facts::after_deletion(case, p, cx))
                .require(3.5, twice)
                .require(1.5, dependency_closed_first::answered_itself(case, p, cx))
                .weigh(1.0, 0.0, dependency_closed_first::mixed(case, p, cx))
                .weigh(0.5, 0.5, dependency_closed_first::quick(case, p, cx))
                .weigh(
                    1.5,
                    0.0,
                    closed.map_or(Check::Unseen, |s| after(case, p, s.at, cx)),
                )
                .forbid(super::background::same_rate_before(case, cx)),
        )
    })
    .into_iter()
    .collect()
}

/// The errors came after one owner had closed a dependency.
fn after(
    case: &Case<'_>,
    pod: PodIx,
    closed: rollscope_records::RunOffset,
    cx: &Context<'_>,
) -> Check {
    let first = case.first(cx);
    Check::when(
        first >= closed.plus_nanos(-ANSWERED_WITHIN),
        || {
            cx.fact(
                "after_dependency_closed",
                pod,
                Some(Interval::at(closed)),
                format!(
                    "the errors began {} after its log says that a dependency was closed",
                    span(first.nanos_since(closed).max(0))
                ),
            )
        },
        "",
    )
}

/// What its log says that shows more than one owner of its shutdown.
pub(crate) fn owners(pod: PodIx, cx: &Context<'_>) -> Option<Evidence> {
    let shutdown = &cx.drain(pod)?.shutdown;
    let again = shutdown.again.first()?;
    let others: Vec<&str> = shutdown
        .again
        .iter()
        .skip(1)
        .map(|a| a.step.as_str())
        .collect();
    let more = match others.as_slice() {
        [] => String::new(),
        steps => format!("; {} ran again as well", steps.join(", ")),
    };
    Some(cx.fact(
        "same_stage_twice",
        pod,
        Some(Interval::new(again.first, again.last)),
        format!(
            "its log has the same shutdown line {}, {} apart ({}): {}{more}",
            count(again.runs, "time"),
            span(again.last.nanos_since(again.first)),
            again.step.as_str(),
            again.text
        ),
    ))
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    format!(
        "{} by {}: two owners ran the shutdown, and one closed what the other still needed",
        facts::harm(group, cx),
        facts::who(group, cx)
    )
}

fn advice(group: &Group<'_>, cx: &Context<'_>) -> Vec<Advice> {
    one_owner(group.pods, cx)
}

/// What to change where two owners run the shutdown of `pods`.
pub(crate) fn one_owner(pods: &[PodIx], cx: &Context<'_>) -> Vec<Advice> {
    let early = pods
        .iter()
        .filter_map(|p| cx.drain(*p)?.shutdown.disorder.first().cloned())
        .next();
    let now = early.map_or_else(String::new, |what| format!("; now: {what}"));
    vec![advice::program(&format!(
        "give the shutdown one owner: remove the second SIGTERM handler (or switch off the framework's own shutdown hooks) and close dependencies once, after the drain{now}"
    ))]
}
