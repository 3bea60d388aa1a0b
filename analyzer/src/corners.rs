//! Verdicts at the corners of what is known of other clocks.
//!
//! When a deletion was requested and when a container ended are intervals. A verdict is reached over the whole of them,
//! and then once more at each of their corners: the deletions by the earliest and by the latest that the API server's
//! clock can be (what a lost watch hides, at the earliest and at the latest itself), the ends that were told of late by
//! the earliest and by the latest that their nodes' clocks can be. A cause that gives way to another one at some corner is
//! `indeterminate`, and the evidence says which time decides. A corner at which nothing is found is no other cause: the
//! failures themselves speak against it.

use std::collections::BTreeMap;

use rollscope_records::{Interval, in_parallel};

use crate::clocks::{API_SERVER, Clocks, node_clock};
use crate::context::{Context, Memo};
use crate::drain::{Drain, drains};
use crate::gaps::Gaps;
use crate::kube_time::WrittenTime;
use crate::signatures::{Case, INDETERMINATE, Judgement, UNKNOWN, by_name, judge};
use crate::timeline::{LogBook, Pod, PodIx, Timeline};
use crate::traffic::Traffic;
use crate::words::span;

const SECOND: i64 = 1_000_000_000;

/// Where in its interval a time is taken to lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Earliest,
    /// Between: only for what a lost watch leaves wide open.
    Middle,
    Latest,
}

const SIDES: [Side; 2] = [Side::Earliest, Side::Latest];

/// The cluster as it was if every time lay at one side of its interval.
pub(crate) struct Corner {
    deletions: Side,
    ends: Side,
    /// Deletions were seen late as well: for what nothing else explains.
    late_watch: bool,
    timeline: Timeline,
    drains: BTreeMap<PodIx, Drain>,
    memo: Memo,
}

/// The corners of a recording; none where nothing depends on another clock.
pub(crate) fn corners(
    timeline: &Timeline,
    traffic: &Traffic<'_>,
    logs: &LogBook,
    gaps: &Gaps,
    clocks: &Clocks,
) -> Vec<Corner> {
    if timeline.pods.iter().all(|p| p.ends().next().is_none()) {
        return Vec::new();
    }
    let all = SIDES.iter().flat_map(|d| SIDES.map(|e| (*d, e, false)));
    let hidden = timeline.terminating().any(|(_, _, d)| d.hidden);
    let between = SIDES.map(|e| (Side::Middle, e, false));
    let all: Vec<_> = all
        .chain([(Side::Earliest, Side::Earliest, true)])
        .chain(between.into_iter().filter(|_| hidden))
        .collect();
    in_parallel(&all, |(deletions, ends, late_watch)| {
        let timeline = moved(timeline, *deletions, *ends, *late_watch, clocks);
        let drains = drains(&timeline, traffic, logs, gaps);
        Corner {
            deletions: *deletions,
            ends: *ends,
            late_watch: *late_watch,
            timeline,
            drains,
            memo: Memo::default(),
        }
    })
}

/// Judges a case, and holds the verdict against every corner.
pub(crate) fn judge_at_corners(case: &Case<'_>, cx: &Context<'_>) -> Judgement {
    let verdict = judge(case, cx);
    let decided = by_name(&verdict.cause).is_some();
    let mut others = Vec::new();
    for corner in cx.corners {
        let applies = if corner.late_watch {
            verdict.cause == UNKNOWN
        } else {
            decided || verdict.cause == UNKNOWN
        };
        if !applies {
            continue;
        }
        let there = judge(case, &cx.at(&corner.timeline, &corner.drains, &corner.memo));
        if by_name(&there.cause).is_some() && there.cause != verdict.cause {
            others.push((corner, there));
        }
    }
    match others.first() {
        Some((_, other)) => open(&verdict, other, &others, cx),
        None => verdict,
    }
}

/// The verdict that leaves open what a time decides.
fn open(
    verdict: &Judgement,
    other: &Judgement,
    others: &[(&Corner, Judgement)],
    cx: &Context<'_>,
) -> Judgement {
    let pod = verdict.pod.or(other.pod);
    let causes = if verdict.cause == UNKNOWN {
        format!("whether the cause is {}", other.cause)
    } else {
        format!("whether the cause is {} or {}", verdict.cause, other.cause)
    };
    let mut evidence = verdict.evidence.clone();
    evidence.extend(
        other
            .evidence
            .iter()
            .filter(|e| !verdict.evidence.contains(e))
            .cloned(),
    );
    evidence.extend(pod.and_then(|pod| {
        let (what, at) = deciding(others, cx.pod(pod))?;
        let long = span(at.hi.nanos_since(at.lo));
        let text = format!("{causes} turns on {what}, which is only known to within {long}");
        Some(cx.fact("time_decides", pod, Some(at), text))
    }));
    Judgement {
        cause: INDETERMINATE.to_owned(),
        detail: None,
        confidence: 0.0,
        evidence,
        against: verdict.against.clone(),
        ruled_out: verdict.ruled_out.clone(),
        pod: verdict.pod,
    }
}

/// Which time of the pod turns the verdict: the end where it does so whatever the deletion was, else the deletion.
fn deciding(others: &[(&Corner, Judgement)], pod: &Pod) -> Option<(&'static str, Interval)> {
    let turned = |d: Side, e: Side| others.iter().any(|(c, _)| c.deletions == d && c.ends == e);
    let by_end = SIDES.iter().any(|e| {
        SIDES.iter().all(|d| turned(*d, *e)) && !SIDES.iter().all(|e| turned(Side::Earliest, *e))
    });
    let end = pod.end_at().map(|at| ("when its container ended", at));
    let deletion = pod
        .deletion
        .map(|d| ("when its deletion was requested", d.requested));
    if by_end {
        end.or(deletion)
    } else {
        deletion.or(end)
    }
}

/// The timeline with its deletions and ends at one side.
fn moved(
    base: &Timeline,
    deletions: Side,
    ends: Side,
    late_watch: bool,
    clocks: &Clocks,
) -> Timeline {
    let mut timeline = base.clone();
    for pod in &mut timeline.pods {
        if let Some(d) = &mut pod.deletion {
            if let Some(at) = deletions.of(API_SERVER, d.written, d.requested, clocks) {
                d.requested = at;
            }
            if d.hidden || late_watch {
                d.seen = match deletions {
                    Side::Earliest => d.requested.lo,
                    Side::Middle => d.requested.mid(),
                    Side::Latest => d.requested.hi,
                };
                d.requested = Interval::at(d.seen);
            }
            d.deadline = d.requested.plus_nanos(d.grace.saturating_mul(SECOND));
        }
        let clock = node_clock(pod.node.as_deref());
        let ends_of = pod.earlier_ends.iter_mut().chain(&mut pod.end);
        // A prompt receipt, or a connection that died with it, tells an end's time on our own clock.
        for end in ends_of.filter(|e| e.told_late() && e.witness.is_none()) {
            if let Some(at) = ends.of(&clock, end.written, end.at, clocks) {
                end.at = at;
            }
        }
    }
    timeline
}

impl Side {
    /// What a clock wrote, if it is as far from ours as it can be on this side, as far as the time is `known`; `None`
    /// where that contradicts what else is known of it.
    fn of(
        self,
        clock: &str,
        written: Option<WrittenTime>,
        known: Interval,
        clocks: &Clocks,
    ) -> Option<Interval> {
        let read = match self {
            Self::Earliest => clocks.at_earliest(clock, written?),
            Self::Middle => return None,
            Self::Latest => clocks.at_latest(clock, written?),
        };
        read.intersect(known)
    }
}
