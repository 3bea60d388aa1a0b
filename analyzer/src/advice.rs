//! Advice with numbers: each names the field that it is about, what it should be, why, and what it is now.

use rollscope_records::budget::{
    DEFAULT_GRACE, EXIT_MARGIN, GRACE_MARGIN, GraceBudget, longest_own_deadline, pre_stop_for,
    whole_seconds, with_lag_margin,
};

use crate::analysis::{Advice, Budget, MsLength};
use crate::context::Context;
use crate::timeline::PodIx;
use crate::words::{count, span};

const SECOND: i64 = 1_000_000_000;

const PRE_STOP: &str = "spec.template.spec.containers[].lifecycle.preStop.sleep.seconds";
const GRACE: &str = "spec.template.spec.terminationGracePeriodSeconds";

/// A quantile stands for all from this many pods on; the maximum for fewer.
const MANY: usize = 100;

/// What was measured on several pods, as advice uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Spread {
    /// The 99th percentile of many, the maximum of few, ns.
    nanos: i64,
    /// `maximum of 6 pods`, `p99 of 120 pods, maximum 4.1 s`.
    of: String,
}

impl Spread {
    fn of(mut all: Vec<i64>) -> Option<Self> {
        all.sort_unstable();
        let most = *all.last()?;
        let pods = count(all.len() as u64, "pod");
        if all.len() < MANY {
            return Some(Self {
                nanos: most,
                of: format!("maximum of {pods}"),
            });
        }
        let rank = (all.len() * 99).div_ceil(100);
        Some(Self {
            nanos: all[rank - 1],
            of: format!("p99 of {pods}, maximum {}", span(most)),
        })
    }
}

/// The longest propagation lag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lag {
    /// ns.
    pub(crate) nanos: i64,
}

/// The longest lag of `pods`; `None` when none was measured.
pub(crate) fn longest_lag(pods: &[PodIx], cx: &Context<'_>) -> Option<Lag> {
    let nanos = lags(pods.iter().copied(), cx).into_iter().max()?;
    Some(Lag { nanos })
}

fn lags(pods: impl Iterator<Item = PodIx>, cx: &Context<'_>) -> Vec<i64> {
    pods.filter_map(|p| cx.measures.get(&p).and_then(|m| m.lag))
        .collect()
}

/// A preStop sleep that outlasts the propagation lag of this run.
pub(crate) fn pre_stop(cx: &Context<'_>) -> Advice {
    let all = cx.timeline.terminating().map(|(ix, ..)| ix);
    let hook = cx
        .timeline
        .terminating()
        .find_map(|(_, p, _)| p.pre_stop.as_ref());
    let now = hook.map_or_else(|| "none".to_owned(), |h| h.words.clone());
    let text = match Spread::of(lags(all, cx)) {
        Some(lag) => {
            let needs = with_lag_margin(lag.nanos);
            let enough = hook.and_then(|h| h.sleep_seconds).map_or("", |s| {
                match s >= whole_seconds(needs) {
                    true => " (enough)",
                    false => " (too short)",
                }
            });
            format!(
                "preStop sleep >= {} (whole seconds: {}): the last new connection reached a terminating pod {} after its deletion ({}); now: {now}{enough}",
                span(round_up(needs)),
                whole_seconds(needs),
                span(lag.nanos),
                lag.of,
            )
        }
        None => format!(
            "preStop sleep longer than routing takes to follow a deletion (this run could not measure it); now: {now}"
        ),
    };
    Advice {
        field: PRE_STOP.to_owned(),
        text,
    }
}

/// To the next tenth of a second.
fn round_up(nanos: i64) -> i64 {
    let tenth = SECOND / 10;
    nanos.saturating_add(tenth - 1) / tenth * tenth
}

/// The budget of the grace as a sum, when what was seen does not fit with a margin.
pub(crate) fn grace(cx: &Context<'_>) -> Option<Advice> {
    let pods: Vec<PodIx> = cx.timeline.terminating().map(|(ix, ..)| ix).collect();
    let drain = pods
        .iter()
        .filter_map(|p| cx.measures.get(p).and_then(|m| m.drain_took))
        .max()?;
    let lag = longest_lag(&pods, cx).map_or(0, |l| l.nanos);
    // What a preStop as advised would add.
    let pre_stop = seconds_of_pre_stop(&pods, cx).max(pre_stop_for(lag));
    let now = seconds_of_grace(&pods, cx)?;
    (!sum(pre_stop, drain).fits(now)).then(|| budget(pre_stop, drain, "longest drain", now))
}

/// The grace that a drain of `nanos` needs.
pub(crate) fn grace_for(pods: &[PodIx], nanos: i64, cx: &Context<'_>) -> Advice {
    let pre_stop = seconds_of_pre_stop(pods, cx);
    let now = seconds_of_grace(pods, cx).unwrap_or(DEFAULT_GRACE);
    budget(pre_stop, nanos, "longest request seen so far", now)
}

fn budget(pre_stop: i64, drain: i64, what: &str, now: i64) -> Advice {
    let sum = sum(pre_stop, drain);
    let needs = sum.needed_seconds();
    let verdict = if sum.fits(now) {
        "fits"
    } else {
        "does not fit"
    };
    Advice {
        field: GRACE.to_owned(),
        text: format!(
            "terminationGracePeriodSeconds >= preStop {pre_stop} s + {what} {} + {GRACE_MARGIN} s = {needs} s; now: {now} s ({verdict})",
            span(drain)
        ),
    }
}

/// A hook of `pre_stop` seconds and a drain of `drain` ns.
fn sum(pre_stop: i64, drain: i64) -> GraceBudget {
    GraceBudget {
        pre_stop: pre_stop.saturating_mul(SECOND),
        drain,
    }
}

fn seconds_of_pre_stop(pods: &[PodIx], cx: &Context<'_>) -> i64 {
    pods.iter()
        .filter_map(|p| cx.pod(*p).pre_stop.as_ref()?.sleep_seconds)
        .max()
        .unwrap_or(0)
}

fn seconds_of_grace(pods: &[PodIx], cx: &Context<'_>) -> Option<i64> {
    pods.iter().filter_map(|p| cx.pod(*p).grace_seconds()).max()
}

/// The budget of the grace: what the hook and the drain took, with a margin, against what there is. `None` where no pod
/// ended by itself, so that the length of a drain is not known.
pub(crate) fn budget_of_run(cx: &Context<'_>) -> Option<Budget> {
    let pods: Vec<PodIx> = cx.timeline.terminating().map(|(ix, ..)| ix).collect();
    let grace = seconds_of_grace(&pods, cx)?;
    let drain = Spread::of(drains(&pods, cx))?;
    let sum = sum(seconds_of_pre_stop(&pods, cx), drain.nanos);
    Some(Budget {
        pre_stop_ms: MsLength(sum.pre_stop),
        longest_drain_ms: MsLength(drain.nanos),
        margin_ms: MsLength(GRACE_MARGIN * SECOND),
        needed_ms: MsLength(sum.needed()),
        grace_ms: MsLength(grace.saturating_mul(SECOND)),
        fits: sum.fits(grace),
        of: drain.of,
    })
}

fn drains(pods: &[PodIx], cx: &Context<'_>) -> Vec<i64> {
    pods.iter()
        .filter_map(|p| cx.measures.get(p)?.drain_took)
        .collect()
}

/// What the run's terminations say to the manifest and to the program, whether anything failed or not.
pub(crate) fn of_run(cx: &Context<'_>) -> Vec<Advice> {
    let pods: Vec<PodIx> = cx.timeline.terminating().map(|(ix, ..)| ix).collect();
    if pods.is_empty() {
        return Vec::new();
    }
    let mut all = vec![pre_stop(cx)];
    if let Some(now) = seconds_of_grace(&pods, cx) {
        all.push(match Spread::of(drains(&pods, cx)) {
            Some(drain) => {
                let what = format!("longest drain ({})", drain.of);
                budget(seconds_of_pre_stop(&pods, cx), drain.nanos, &what, now)
            }
            None => Advice {
                field: GRACE.to_owned(),
                text: format!(
                    "terminationGracePeriodSeconds > preStop {} s + the drain + {GRACE_MARGIN} s: no pod ended by itself, so the drain takes longer than the {} that it had; now: {now} s",
                    seconds_of_pre_stop(&pods, cx),
                    span(left_for_drain(&pods, cx)),
                ),
            },
        });
    }
    all.push(program(&format!(
        "the process's own shutdown deadline <= {}: what the grace leaves it after preStop, less {EXIT_MARGIN} s to cut what is left and to exit",
        span(longest_own_deadline(left_for_drain(&pods, cx)))
    )));
    all
}

/// A proxy that stays until the application has gone.
pub(crate) fn proxy_hook(pods: &[PodIx], cx: &Context<'_>) -> Advice {
    let drain = drains(pods, cx).into_iter().max();
    let words = drain.map_or_else(
        || "the longest drain".to_owned(),
        |n| {
            format!(
                "the longest drain ({}, rounded up: {} s)",
                span(n),
                whole_seconds(n)
            )
        },
    );
    Advice {
        field: PRE_STOP.to_owned(),
        text: format!(
            "or give the proxy's container a preStop sleep longer than {words}, within the grace of {} s",
            seconds_of_grace(pods, cx).unwrap_or(DEFAULT_GRACE)
        ),
    }
}

/// What the grace leaves the drain after preStop, ns.
pub(crate) fn left_for_drain(pods: &[PodIx], cx: &Context<'_>) -> i64 {
    let grace = seconds_of_grace(pods, cx).unwrap_or(DEFAULT_GRACE);
    rollscope_records::budget::left_for_drain(grace, seconds_of_pre_stop(pods, cx))
}

/// Something for the program itself.
pub(crate) fn program(text: &str) -> Advice {
    Advice {
        field: "the program".to_owned(),
        text: text.to_owned(),
    }
}
