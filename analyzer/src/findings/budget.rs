//! Terminations that were near their deadline, and budgets that do not fit.

use rollscope_records::budget::GRACE_MARGIN;

use crate::advice;
use crate::analysis::{Advice, Finding};
use crate::context::{Context, general};
use crate::drain::EndedAt;
use crate::timeline::PodIx;
use crate::words::{names, span};

const SECOND: i64 = 1_000_000_000;

/// A margin below this share of the grace (and below five seconds) is a narrow one.
const NARROW: i64 = 5;

/// `slow_termination`: it ended by itself with hardly a margin to SIGKILL.
pub(super) fn slow_termination(blamed: &dyn Fn(&str) -> bool, cx: &Context<'_>) -> Option<Finding> {
    let slow: Vec<(PodIx, i64)> = cx
        .timeline
        .terminating()
        .filter(|(_, p, _)| !blamed(&p.name))
        .filter_map(|(ix, p, d)| {
            let end = p.end.as_ref()?;
            let own = cx.drain(ix)?.ended == EndedAt::Before || end.code != 137;
            let margin = d.deadline.hi.nanos_since(end.point());
            let narrow = (d.grace * SECOND / NARROW).min(5 * SECOND);
            (own && margin < narrow && d.grace > 0).then_some((ix, margin))
        })
        .collect();
    let least = slow.iter().map(|(_, m)| *m).min()?;
    let evidence = slow
        .iter()
        .map(|(ix, margin)| {
            cx.fact(
                "margin",
                *ix,
                cx.pod(*ix).end_at(),
                format!("it ended {} before SIGKILL was due", span(*margin)),
            )
        })
        .collect();
    let pods = cx
        .timeline
        .names(&slow.iter().map(|(ix, _)| *ix).collect::<Vec<_>>());
    Some(Finding {
        cause: "slow_termination".to_owned(),
        detail: None,
        summary: format!(
            "{} ended by itself only {} before SIGKILL was due",
            names(&pods),
            span(least)
        ),
        pods,
        evidence,
        advice: advice::grace(cx).into_iter().collect(),
    })
}

/// `budget_does_not_fit`: the hook alone takes the grace, or the hook and the longest drain do.
pub(super) fn budget_does_not_fit(
    blamed: &dyn Fn(&str) -> bool,
    cx: &Context<'_>,
) -> Option<Finding> {
    let pods: Vec<PodIx> = cx
        .timeline
        .terminating()
        .filter(|(_, p, _)| !blamed(&p.name))
        .map(|(ix, ..)| ix)
        .collect();
    let hook = pods
        .iter()
        .filter_map(|p| cx.pod(*p).pre_stop.as_ref()?.sleep_seconds)
        .max()?;
    let grace = pods
        .iter()
        .filter_map(|p| cx.pod(*p).grace_seconds())
        .max()?;
    let drain = pods
        .iter()
        .filter_map(|p| cx.measures.get(p)?.drain_took)
        .max()
        .unwrap_or(0);
    if hook.saturating_mul(SECOND).saturating_add(drain) <= grace * SECOND {
        return None;
    }
    let text = format!(
        "preStop {hook} s + longest drain {} are more than the grace of {grace} s",
        span(drain)
    );
    Some(Finding {
        cause: "budget_does_not_fit".to_owned(),
        detail: None,
        pods: cx.timeline.names(&pods),
        summary: text.clone(),
        evidence: vec![general("budget", None, text)],
        advice: vec![Advice {
            field: "spec.template.spec.terminationGracePeriodSeconds".to_owned(),
            text: format!(
                "terminationGracePeriodSeconds >= preStop {hook} s + longest drain {} + {GRACE_MARGIN} s; now: {grace} s",
                span(drain)
            ),
        }],
    })
}
