//! `no-delay`, `delay-twice`, `delay-below-lag`: whether the program serves on until routing has followed the deletion.

use rollscope_records::budget::{pre_stop_for, whole_seconds, with_lag_margin};
use rollscope_scenarios::RuleId;

use crate::container::{Container, Hook};
use crate::context::Context;
use crate::finding::{Finding, Severity};
use crate::patch::Edit;
use crate::shutdown::{Delay, Shutdown};
use crate::words::span;

const SECOND: i64 = 1_000_000_000;

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    cx.workload
        .serving()
        .into_iter()
        .filter_map(|c| of_container(c, cx))
        .collect()
}

fn of_container<'a>(container: &Container<'a>, cx: &Context<'a>) -> Option<Finding> {
    // Without a grace nothing is waited for.
    if cx.workload.grace() == 0 {
        return None;
    }
    let shutdown = Shutdown::of(container, cx);
    match (&shutdown.hook, &shutdown.delay) {
        (Hook::None, Delay::None) => Some(no_delay(container, &shutdown, cx)),
        (Hook::Unknown, _) | (_, Delay::Unknown) => None,
        (Hook::Sleep { seconds, .. }, Delay::Known { nanos, .. }) if *seconds > 0 && *nanos > 0 => {
            twice(container, &shutdown, *nanos, cx).or_else(|| below_lag(container, &shutdown, cx))
        }
        _ => below_lag(container, &shutdown, cx),
    }
}

fn no_delay<'a>(container: &Container<'a>, shutdown: &Shutdown<'a>, cx: &Context<'a>) -> Finding {
    let lag = cx.lag();
    let seconds = pre_stop_for(lag.nanos);
    let at = container.at.keys(&["lifecycle", "preStop"]);
    let why = format!(
        "container {:?} has no preStop hook, and nothing says that its program serves on after SIGTERM: new connections come until {} has passed, and are refused once it closes its listener",
        container.name, lag.words
    );
    let text = format!(
        "sleep for the lag and {} ms before the signal ({seconds} s); where the program itself serves on, say so with SHUTDOWN_DELAY, --delay, or `preflight.delay` in the scenario",
        rollscope_records::budget::LAG_MARGIN.as_millis()
    );
    let fix = cx.fix(text, &shutdown.longer(container, seconds, cx));
    cx.finding(RuleId::NoDelay, Severity::Warning, at.place(), why, fix)
}

/// Both delays, of which one alone is enough.
fn twice<'a>(
    container: &Container<'a>,
    shutdown: &Shutdown<'a>,
    inside: i64,
    cx: &Context<'a>,
) -> Option<Finding> {
    let Hook::Sleep { seconds, at } = &shutdown.hook else {
        return None;
    };
    let lag = cx.lag();
    let needed = with_lag_margin(lag.nanos);
    let hook = seconds.saturating_mul(SECOND);
    if hook < needed && inside < needed {
        return None;
    }
    let Delay::Known { variable, .. } = &shutdown.delay else {
        return None;
    };
    let edits = match variable {
        _ if inside >= needed => vec![Edit::remove(at)],
        Some((name, _)) => vec![Edit::remove(&container.at.key("env").item("name", name))],
        None => {
            let rest = whole_seconds(needed.saturating_sub(inside));
            let mut edits = vec![Edit::set(&at.keys(&["sleep", "seconds"]), rest)];
            edits.extend(
                at.key("exec")
                    .is_there()
                    .then(|| Edit::remove(&at.key("exec"))),
            );
            edits
        }
    };
    let why = format!(
        "container {:?} waits twice, {seconds} s in preStop and then {} in the program: {} of {} are gone before it begins to drain, though {} are enough for {}",
        container.name,
        span(inside),
        span(hook.saturating_add(inside)),
        cx.workload.grace_words(),
        span(needed),
        lag.words,
    );
    let fix = cx.fix("keep one of the two delays", &edits);
    Some(cx.finding(RuleId::DelayTwice, Severity::Note, at.place(), why, fix))
}

fn below_lag<'a>(
    container: &Container<'a>,
    shutdown: &Shutdown<'a>,
    cx: &Context<'a>,
) -> Option<Finding> {
    let lag = cx.lag();
    let needed = with_lag_margin(lag.nanos);
    let hook = shutdown.hook_seconds();
    let have = hook
        .saturating_mul(SECOND)
        .saturating_add(shutdown.delay_nanos());
    if have >= needed {
        return None;
    }
    let place = match (&shutdown.hook, &shutdown.delay) {
        (Hook::Sleep { at, .. }, _) => at.place(),
        (
            _,
            Delay::Known {
                variable: Some((_, at)),
                ..
            },
        ) => at.place(),
        _ => container.at.keys(&["lifecycle", "preStop"]).place(),
    };
    let why = format!(
        "container {:?} serves on for {} after the deletion (preStop {hook} s, {} in the program): shorter than {} with a margin of {} ms, so new connections are refused at the end of it",
        container.name,
        span(have),
        span(shutdown.delay_nanos()),
        lag.words,
        rollscope_records::budget::LAG_MARGIN.as_millis(),
    );
    let more = whole_seconds(needed.saturating_sub(have));
    let text = format!("serve on for {} s longer", more);
    let fix = cx.fix(text, &shutdown.longer(container, more, cx));
    Some(cx.finding(RuleId::DelayBelowLag, Severity::Warning, place, why, fix))
}
