//! `budget-does-not-fit` and `no-grace`: whether the shutdown fits in the grace.

use rollscope_records::budget::{
    DEFAULT_GRACE, EXIT_MARGIN, GRACE_MARGIN, left_for_drain, longest_own_deadline,
};
use rollscope_scenarios::RuleId;

use crate::container::{Container, Hook};
use crate::context::Context;
use crate::finding::{Finding, Severity};
use crate::patch::Edit;
use crate::shutdown::Shutdown;
use crate::words::span;

const SECOND: i64 = 1_000_000_000;

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    if cx.workload.grace() == 0 {
        return vec![no_grace(cx)];
    }
    // The containers spend the same grace beside one another: the one that needs most says how long it must be.
    let needs = cx.workload.containers.iter().filter_map(|c| {
        let shutdown = Shutdown::of(c, cx);
        let least = shutdown.least_grace(shutdown.hook_seconds(), 0);
        does_not_fit(c, &shutdown, least, cx).map(|finding| (least, finding))
    });
    needs
        .max_by_key(|(least, _)| *least)
        .map(|(_, finding)| finding)
        .into_iter()
        .collect()
}

fn no_grace(cx: &Context<'_>) -> Finding {
    let at = cx.workload.grace_at();
    let needs = cx.workload.containers.iter().map(|c| {
        let shutdown = Shutdown::of(c, cx);
        shutdown.least_grace(shutdown.hook_seconds(), 0)
    });
    let grace = needs.max().unwrap_or(DEFAULT_GRACE).max(DEFAULT_GRACE);
    let why =
        "terminationGracePeriodSeconds is 0: pods are killed at once, no hook runs, nothing drains"
            .to_owned();
    let fix = cx.fix(format!("give it {grace} s"), &[Edit::set(&at, grace)]);
    cx.finding(RuleId::NoGrace, Severity::Error, at.place(), why, fix)
}

fn does_not_fit<'a>(
    container: &Container<'a>,
    shutdown: &Shutdown<'a>,
    least: i64,
    cx: &Context<'a>,
) -> Option<Finding> {
    let grace = cx.workload.grace();
    let hook = shutdown.hook_seconds();
    let sum = shutdown.budget(hook);
    let left = left_for_drain(grace, hook);
    let late = shutdown
        .deadline
        .filter(|d| *d > longest_own_deadline(left));
    if sum.fits(grace) && late.is_none() {
        return None;
    }
    let drain = match shutdown.drain {
        Some(drain) => format!("longest drain {}", span(drain)),
        None => "the drain (not stated)".to_owned(),
    };
    let mut why = format!(
        "container {:?}: preStop {hook} s + delay in the program {} + {drain} + margin {GRACE_MARGIN} s = {} s, against {}",
        container.name,
        span(shutdown.delay_nanos()),
        sum.needed_seconds(),
        cx.workload.grace_words(),
    );
    if let Some(deadline) = late {
        why.push_str(&format!(
            "; the program ends its own shutdown {} after the signal, preStop leaves it {} and it needs {EXIT_MARGIN} s of them to cut what is left and to exit",
            span(deadline),
            span(left)
        ));
    }
    let spent = hook
        .saturating_mul(SECOND)
        .saturating_add(shutdown.after_signal());
    let severity = match spent >= grace.saturating_mul(SECOND) {
        true => Severity::Error,
        false => Severity::Warning,
    };
    let grace_at = cx.workload.grace_at();
    let place = match (&shutdown.hook, &shutdown.deadline_at) {
        _ if grace_at.is_there() => grace_at.place(),
        (Hook::Sleep { at, .. }, _) => at.place(),
        (_, Some(at)) => at.place(),
        _ => grace_at.place(),
    };
    let fix = cx.fix(
        format!("terminationGracePeriodSeconds >= {least} s"),
        &[Edit::set(&grace_at, least)],
    );
    Some(cx.finding(RuleId::BudgetDoesNotFit, severity, place, why, fix))
}
