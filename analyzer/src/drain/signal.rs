//! When the stop signal was sent.

use rollscope_records::{Interval, RunOffset};

use super::deadline::{EndedAt, ended_at};
use super::signs::{DrainSign, EXIT, LOG};
use crate::timeline::{Deletion, Pod};

const SECOND: i64 = 1_000_000_000;

/// The kubelet sends the signal within this time of the deletion (or of the end of the hook), ns; 0.38 s was seen on a
/// busy node.
const KUBELET_TAKES: i64 = SECOND / 2;

/// A deletion takes effect this much before its watch event arrives, ns.
const BEFORE_SEEN: i64 = SECOND / 5;

/// A line about the shutdown is written within this time of the signal, ns.
const LOGGED_WITHIN: i64 = SECOND / 2;

/// Bounds of the moment of the signal: after the deletion and the hook, before the shutdown is logged and the end.
/// Other signs of a drain do not bound it: a hook may have caused them.
pub(crate) fn signal(pod: &Pod, deletion: &Deletion, signs: &[DrainSign]) -> Interval {
    if let Some(sent) = pod.signals.first() {
        return sent.at;
    }
    let mut at = by_spec(pod, deletion);
    let bounds = signs
        .iter()
        .filter(|s| s.kind == LOG || s.kind == EXIT)
        .map(|s| s.at.hi)
        .chain(pod.end_at().map(|e| e.hi));
    for bound in bounds {
        at = Interval::new(at.lo.min(bound), at.hi.min(bound));
    }
    // With a hook of unknown length, a line about the shutdown is the only lower bound.
    let unknown_hook = pod
        .pre_stop
        .as_ref()
        .is_some_and(|h| h.sleep_seconds.is_none());
    match signs.iter().find(|s| s.kind == LOG) {
        Some(log) if unknown_hook => {
            let lo = log.at.lo.plus_nanos(-LOGGED_WITHIN).clamp(at.lo, at.hi);
            Interval::new(lo, at.hi)
        }
        _ => at,
    }
}

/// Whether its container ended before the hook was over.
pub(crate) fn ended_before(pod: &Pod, deletion: &Deletion) -> bool {
    if !pod.signals.is_empty() {
        return false;
    }
    let due = by_spec(pod, deletion).lo;
    pod.end_at().is_some_and(|e| e.hi < due)
}

/// What the manifest says: after the hook, which ends with the grace at the latest.
fn by_spec(pod: &Pod, deletion: &Deletion) -> Interval {
    if outlived_the_deadline(pod, deletion) {
        let latest = deletion.deadline.hi.plus_nanos(KUBELET_TAKES);
        return Interval::new(deletion.deadline.lo, latest);
    }
    let earliest = deletion
        .requested
        .lo
        .max(deletion.seen.plus_nanos(-BEFORE_SEEN));
    let latest = deletion.seen.plus_nanos(KUBELET_TAKES);
    match hook_nanos(pod, deletion) {
        Some(hook) => Interval::new(earliest.plus_nanos(hook), latest.plus_nanos(hook)),
        None => Interval::new(earliest, deletion.deadline.hi.plus_nanos(KUBELET_TAKES)),
    }
}

/// Its hook was cut short at the deadline, and the signal came then: without it, the deadline brings SIGKILL.
fn outlived_the_deadline(pod: &Pod, deletion: &Deletion) -> bool {
    let hooked = pod
        .pre_stop
        .as_ref()
        .is_some_and(|h| h.sleep_seconds.is_none());
    let after = pod.end.as_ref().is_some_and(|e| match e.code {
        137 => ended_at(pod) == EndedAt::TwoSecondsAfter,
        _ => e.at.lo > deletion.deadline.hi,
    });
    hooked && after
}

/// How long the hook takes, ns; `None` when only its end tells.
fn hook_nanos(pod: &Pod, deletion: &Deletion) -> Option<i64> {
    let grace = deletion.grace.saturating_mul(SECOND);
    match &pod.pre_stop {
        None => Some(0),
        Some(hook) => hook
            .sleep_seconds
            .map(|s| s.saturating_mul(SECOND).clamp(0, grace)),
    }
}

/// The likeliest moment: right after the deletion or the hook; with a hook of unknown length, the first sign.
pub(crate) fn likeliest(
    pod: &Pod,
    deletion: &Deletion,
    bounds: Interval,
    signs: &[DrainSign],
) -> RunOffset {
    if let Some(sent) = pod.signals.first() {
        return sent.at.hi;
    }
    let at = match hook_nanos(pod, deletion) {
        Some(hook) => deletion.seen.plus_nanos(hook),
        None => signs
            .iter()
            .map(|s| s.at.hi)
            .fold(deletion.deadline.hi, RunOffset::min),
    };
    at.clamp(bounds.lo, bounds.hi)
}
