//! Whether a drain would have been seen, had there been one: absence of a sign proves something only then.

use crate::gaps::Gaps;
use crate::timeline::{Deletion, LogBook, Pod, PodIx, Timeline};
use crate::words::span;

const SECOND: i64 = 1_000_000_000;

/// Whether something was watched, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Watched {
    /// It would have been seen; why.
    Yes(String),
    /// It could not be seen; why.
    No(String),
}

impl Watched {
    pub(crate) fn watched(&self) -> bool {
        matches!(self, Self::Yes(_))
    }

    pub(crate) fn why(&self) -> &str {
        match self {
            Self::Yes(why) | Self::No(why) => why,
        }
    }
}

/// Whether a failing readiness probe would have turned the condition before the pod's end.
pub(crate) fn readiness(
    pod: &Pod,
    deletion: &Deletion,
    timeline: &Timeline,
    gaps: &Gaps,
) -> Watched {
    let Some(probe) = pod.readiness_probe else {
        return Watched::No("it has no readiness probe".to_owned());
    };
    if pod.ready.is_empty() || !timeline.readiness_recorded {
        return Watched::No("the recording has no readiness conditions".to_owned());
    }
    if !pod.was_ready(deletion.seen) {
        return Watched::No("it was not Ready when it was deleted".to_owned());
    }
    let Some(end) = pod.end_at() else {
        return Watched::No("its end was not seen".to_owned());
    };
    if gaps.hides("watch/Pod", deletion.seen, end.hi) {
        return Watched::No("the watch of pods has a gap".to_owned());
    }
    let pre_stop = pod
        .pre_stop
        .as_ref()
        .map_or(0, |p| p.sleep_seconds.unwrap_or(0));
    let needs = (probe.shows_within_seconds() + pre_stop).saturating_mul(SECOND);
    let lived = end.lo.nanos_since(deletion.requested.lo);
    if lived > needs.saturating_add(SECOND / 2) {
        Watched::Yes(format!(
            "a failing readiness probe would have shown within {}, the termination took {}",
            span(needs),
            span(end.lo.nanos_since(deletion.seen)),
        ))
    } else {
        Watched::No(format!(
            "a failing readiness probe needs up to {} to show, the termination took {}",
            span(needs),
            span(lived)
        ))
    }
}

/// Whether the container's log was followed through the termination.
pub(crate) fn log(
    ix: PodIx,
    pod: &Pod,
    deletion: &Deletion,
    logs: &LogBook,
    gaps: &Gaps,
) -> Watched {
    let Some(book) = logs.pod(ix) else {
        return Watched::No("no line of its log was received".to_owned());
    };
    let to = pod.end_at().map_or(deletion.deadline.hi, |e| e.hi);
    if gaps.hides(&format!("logs/{}", pod.name), deletion.seen, to) {
        return Watched::No("its log has a gap over the termination".to_owned());
    }
    Watched::Yes(format!(
        "its log was followed ({})",
        crate::words::count(book.lines, "line")
    ))
}
