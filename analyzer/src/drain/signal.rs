//! When the stop signal was sent.

use rollscope_records::{Interval, RunOffset};

use super::signs::DrainSign;
use crate::timeline::{Deletion, Pod};

const SECOND: i64 = 1_000_000_000;

/// The kubelet sends the signal within this time of the deletion (or of the end of the hook), ns.
const KUBELET_TAKES: i64 = SECOND;

/// Bounds of the moment of the signal: after the deletion and the hook, before the first sign of a drain and the end.
pub(crate) fn signal(pod: &Pod, deletion: &Deletion, signs: &[DrainSign]) -> Interval {
    let earliest = deletion.requested.lo.max(deletion.seen.plus_nanos(-SECOND / 5));
    let grace = deletion.grace * SECOND;
    let (lo, hi) = match &pod.pre_stop {
        None => (earliest, deletion.seen.plus_nanos(KUBELET_TAKES)),
        Some(hook) => match hook.sleep_seconds {
            Some(s) => {
                let hook = s.saturating_mul(SECOND).min(grace);
                (
                    earliest.plus_nanos(hook),
                    deletion.seen.plus_nanos(hook + KUBELET_TAKES),
                )
            }
            None => (earliest, deletion.deadline.hi.plus_nanos(KUBELET_TAKES)),
        },
    };
    let mut at = Interval::new(lo, hi);
    let ended = pod.end_at().map(|e| e.hi);
    for bound in signs.iter().map(|s| s.at.hi).min().into_iter().chain(ended) {
        at = Interval::new(at.lo.min(bound), at.hi.min(bound));
    }
    // A log line that names the shutdown is written within moments of the signal; without a hook of unknown length
    // it adds nothing, with one it is the only lower bound.
    let unknown_hook = pod.pre_stop.as_ref().is_some_and(|h| h.sleep_seconds.is_none());
    if unknown_hook
        && let Some(log) = signs.iter().find(|s| s.kind == super::signs::LOG)
    {
        let lo = log.at.lo.plus_nanos(-SECOND / 2).clamp(at.lo, at.hi);
        at = Interval::new(lo, at.hi);
    }
    at
}

/// The likeliest moment: right after the deletion or the hook; with a hook of unknown length, the first sign.
pub(crate) fn likeliest(pod: &Pod, deletion: &Deletion, bounds: Interval) -> RunOffset {
    let hook = match &pod.pre_stop {
        None => 0,
        Some(h) => match h.sleep_seconds {
            Some(s) => s.saturating_mul(SECOND).min(deletion.grace * SECOND),
            None => return bounds.hi,
        },
    };
    deletion.seen.plus_nanos(hook).clamp(bounds.lo, bounds.hi)
}
