//! What was not seen, and whether it may hide what the run is about.

use rollscope_records::{Recording, RunOffset};

use crate::analysis::{GapReport, Ms};
use crate::timeline::Timeline;

/// Sources without which a clean run is not proved.
const VITAL: [&str; 5] = [
    "watch/Pod",
    "watch/ReplicaSet",
    "watch/Deployment",
    "watch/EndpointSlice",
    "requests",
];

/// Terminations and rollouts are hidden by a gap that comes this near, ns.
const NEAR: i64 = 500_000_000;

/// The recording's gaps.
pub(crate) struct Gaps {
    gaps: Vec<(String, RunOffset, Option<RunOffset>, String)>,
}

impl Gaps {
    pub(crate) fn of(recording: &Recording) -> Self {
        let mut gaps: Vec<_> = recording
            .gaps()
            .map(|g| (g.source.clone(), g.from, g.to, g.reason.clone()))
            .collect();
        gaps.sort_by(|a, b| (a.1, &a.0, a.2, &a.3).cmp(&(b.1, &b.0, b.2, &b.3)));
        Self { gaps }
    }

    /// Whether `source` (or a part of it: `logs/<pod>` covers its containers) was not seen at some time in
    /// `[from, to]`.
    pub(crate) fn hides(&self, source: &str, from: RunOffset, to: RunOffset) -> bool {
        self.first(source, from, to).is_some()
    }

    /// The first gap of `source` in `[from, to]`: its own bounds.
    pub(crate) fn first(
        &self,
        source: &str,
        from: RunOffset,
        to: RunOffset,
    ) -> Option<(RunOffset, Option<RunOffset>)> {
        self.gaps
            .iter()
            .find(|(s, g_from, g_to, _)| {
                is_or_part_of(s, source) && *g_from <= to && g_to.is_none_or(|t| from <= t)
            })
            .map(|(_, f, t, _)| (*f, *t))
    }

    /// Reports, each with whether it matters: it is of a vital source, and lies over a termination or the rollout.
    pub(crate) fn reports(&self, timeline: &Timeline, last: RunOffset) -> Vec<GapReport> {
        self.gaps
            .iter()
            .map(|(source, from, to, reason)| GapReport {
                source: source.clone(),
                from_ms: Ms(*from),
                to_ms: to.map(Ms),
                reason: reason.clone(),
                matters: VITAL.contains(&source.as_str())
                    && (source == "requests"
                        || over_a_change(timeline, *from, to.unwrap_or(last), last)),
            })
            .collect()
    }
}

fn is_or_part_of(gap: &str, source: &str) -> bool {
    gap == source
        || gap
            .strip_prefix(source)
            .is_some_and(|rest| rest.starts_with('/'))
}

fn over_a_change(timeline: &Timeline, from: RunOffset, to: RunOffset, last: RunOffset) -> bool {
    let near = |a: RunOffset, b: RunOffset| from <= b.plus_nanos(NEAR) && a.plus_nanos(-NEAR) <= to;
    let Some(start) = timeline.rollout.start else {
        return false;
    };
    // From the rollout's start to the end of the last pod that left; to the end of the run where none was seen.
    let end = timeline
        .terminating()
        .map(|(_, p, d)| p.gone.or(p.over).unwrap_or(d.deadline.hi))
        .max()
        .unwrap_or(last);
    near(start, end)
}
