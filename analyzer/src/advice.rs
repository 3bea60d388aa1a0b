//! Advice with numbers: each names the field that it is about, what it should be, why, and what it is now.

use crate::analysis::Advice;
use crate::context::Context;
use crate::timeline::PodIx;
use crate::words::{count, span};

const SECOND: i64 = 1_000_000_000;

/// Above the longest lag that was seen, ns.
const LAG_MARGIN: i64 = SECOND / 2;

/// Above what a shutdown needs, seconds.
const GRACE_MARGIN: i64 = 5;

const PRE_STOP: &str = "spec.template.spec.containers[].lifecycle.preStop.sleep.seconds";
const GRACE: &str = "spec.template.spec.terminationGracePeriodSeconds";

/// The longest propagation lag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lag {
    /// ns.
    pub(crate) nanos: i64,
    /// Pods that it is the longest of.
    pub(crate) pods: u64,
}

/// The longest lag of `pods`; `None` when none was measured.
pub(crate) fn longest_lag(pods: &[PodIx], cx: &Context<'_>) -> Option<Lag> {
    lag_of(pods.iter().copied(), cx)
}

fn lag_of(pods: impl Iterator<Item = PodIx>, cx: &Context<'_>) -> Option<Lag> {
    let lags: Vec<i64> = pods
        .filter_map(|p| cx.measures.get(&p).and_then(|m| m.lag))
        .collect();
    Some(Lag {
        nanos: lags.iter().copied().max()?,
        pods: lags.len() as u64,
    })
}

/// A preStop sleep that outlasts the propagation lag of this run.
pub(crate) fn pre_stop(cx: &Context<'_>) -> Advice {
    let all = cx.timeline.terminating().map(|(ix, ..)| ix);
    let now = cx
        .timeline
        .terminating()
        .find_map(|(_, p, _)| p.pre_stop.as_ref())
        .map_or_else(|| "none".to_owned(), |h| h.words.clone());
    let text = match lag_of(all, cx) {
        Some(lag) => format!(
            "preStop sleep >= {} (whole seconds: {}): the last new connection reached a terminating pod {} after its deletion (maximum of {}); now: {now}",
            span(round_up(lag.nanos.saturating_add(LAG_MARGIN))),
            whole_seconds(lag.nanos.saturating_add(LAG_MARGIN)),
            span(lag.nanos),
            count(lag.pods, "pod"),
        ),
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

fn whole_seconds(nanos: i64) -> i64 {
    nanos.saturating_add(SECOND - 1) / SECOND
}

/// The budget of the grace as a sum, when what was seen does not fit with a margin.
pub(crate) fn grace(cx: &Context<'_>) -> Option<Advice> {
    let pods: Vec<PodIx> = cx.timeline.terminating().map(|(ix, ..)| ix).collect();
    let drain = pods
        .iter()
        .filter_map(|p| cx.measures.get(p).and_then(|m| m.drain_took))
        .max()?;
    let lag = lag_of(pods.iter().copied(), cx).map_or(0, |l| l.nanos);
    // What a preStop as advised would add.
    let pre_stop = seconds_of_pre_stop(&pods, cx).max(whole_seconds(lag + LAG_MARGIN));
    let now = seconds_of_grace(&pods, cx)?;
    let needs = pre_stop + whole_seconds(drain) + GRACE_MARGIN;
    (needs > now).then(|| budget(pre_stop, drain, "longest drain", now))
}

/// The grace that a drain of `nanos` needs.
pub(crate) fn grace_for(pods: &[PodIx], nanos: i64, cx: &Context<'_>) -> Advice {
    let pre_stop = seconds_of_pre_stop(pods, cx);
    let now = seconds_of_grace(pods, cx).unwrap_or(30);
    budget(pre_stop, nanos, "longest request seen so far", now)
}

fn budget(pre_stop: i64, drain: i64, what: &str, now: i64) -> Advice {
    let needs = pre_stop + whole_seconds(drain) + GRACE_MARGIN;
    let verdict = if needs > now { "does not fit" } else { "fits" };
    Advice {
        field: GRACE.to_owned(),
        text: format!(
            "terminationGracePeriodSeconds >= preStop {pre_stop} s + {what} {} + {GRACE_MARGIN} s = {needs} s; now: {now} s ({verdict})",
            span(drain)
        ),
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

/// What the grace leaves the drain after preStop, ns.
pub(crate) fn left_for_drain(pods: &[PodIx], cx: &Context<'_>) -> i64 {
    let grace = seconds_of_grace(pods, cx).unwrap_or(30);
    (grace - seconds_of_pre_stop(pods, cx)).max(0) * SECOND
}

/// Something for the program itself.
pub(crate) fn program(text: &str) -> Advice {
    Advice {
        field: "the program".to_owned(),
        text: text.to_owned(),
    }
}
