//! From when on a leaving pod certainly refuses, and when the route to it is over.
//!
//! A pod that refuses and is routed to shows it: each new connection is made to it with about the share of one
//! endpoint. So many new connections without a refusal that this is improbable prove that the route was gone; and a
//! route that is gone does not come back.

use std::collections::BTreeSet;

use rollscope_records::RunOffset;

use super::answers::Answers;
use super::attribution::Traffic;
use super::kind::Kind;
use crate::timeline::{LogBook, Pod, PodIx, Timeline};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1000 * MS;

/// A close is known to this much, ns.
const SLACK: i64 = 100 * MS;

/// The chance at which so long a silence is no chance any more.
const IMPROBABLE: f64 = 0.01;

/// Pods that left this long ago are not routed to, ns.
const LONG_GONE: i64 = 12 * SECOND;

/// What is known of the routes to leaving pods.
pub(super) struct Routes {
    /// By its log, when each leaving pod closed its listener.
    closed: Vec<Option<RunOffset>>,
    /// Pods whose log would have said so while they lived.
    would_say: BTreeSet<PodIx>,
    /// When the route to each leaving pod was over at the latest.
    over: Vec<Option<RunOffset>>,
}

impl Routes {
    pub(super) fn of(traffic: &Traffic<'_>, timeline: &Timeline, logs: &LogBook) -> Self {
        let mut closed = vec![None; timeline.pods.len()];
        let mut templates: BTreeSet<&str> = BTreeSet::new();
        for (ix, pod, d) in timeline.terminating() {
            closed[ix.0] = logs
                .pod(ix)
                .and_then(|l| l.listener_closed(d.logged_from()));
            if closed[ix.0].is_some() {
                templates.insert(&pod.template_hash);
            }
        }
        let would_say = timeline
            .terminating()
            .filter(|(ix, pod, d)| {
                let heard = logs.pod(*ix).and_then(|l| l.since(d.logged_from()).next());
                heard.is_some() && templates.contains(pod.template_hash.as_str())
            })
            .map(|(ix, ..)| ix)
            .collect();
        let silences = Silences::of(traffic);
        let mut leaving: Vec<(RunOffset, PodIx)> = timeline
            .terminating()
            .filter_map(|(ix, pod, _)| {
                let ended = pod.end_at().map(|e| e.hi);
                // Behind a balancer a pod that has closed its listener still answers on the connections that are kept.
                let closed = closed[ix.0].filter(|_| traffic.pinned);
                let refuses = ended.into_iter().chain(closed).min()?;
                Some((refuses.plus_nanos(SLACK), ix))
            })
            .collect();
        leaving.sort_unstable();
        let mut over: Vec<Option<RunOffset>> = vec![None; timeline.pods.len()];
        for (from, ix) in leaving {
            over[ix.0] = silences.first(from, timeline, &over);
        }
        Self {
            closed,
            would_say,
            over,
        }
    }

    /// The route to the pod was over before `t`.
    pub(super) fn over(&self, ix: PodIx, t: RunOffset) -> bool {
        self.over[ix.0].is_some_and(|over| over <= t)
    }

    /// By its log the listener of a leaving pod that had not ended was open at `t`, and could be reached.
    pub(super) fn open_by_log(&self, ix: PodIx, pod: &Pod, t: RunOffset) -> bool {
        let alive = pod.end_at().is_none_or(|e| t < e.lo.plus_nanos(-SLACK));
        let reached = pod
            .proxy_ended_first()
            .is_none_or(|e| t < e.at.lo.plus_nanos(-SLACK));
        alive
            && reached
            && match self.closed[ix.0] {
                Some(closed) => t < closed.plus_nanos(-SLACK),
                None => self.would_say.contains(&ix),
            }
    }

    /// By its log the listener of a leaving pod was closed at `t`.
    pub(super) fn closed_by_log(&self, ix: PodIx, t: RunOffset) -> bool {
        self.closed[ix.0].is_some_and(|closed| closed.plus_nanos(-SLACK) <= t)
    }
}

/// Moments of new connections, in order.
struct Silences<'t> {
    answers: &'t Answers,
    refused: Vec<RunOffset>,
}

impl<'t> Silences<'t> {
    fn of(traffic: &'t Traffic<'_>) -> Self {
        let refused = traffic.failures.iter();
        let refused = refused.filter(|f| matches!(f.kind, Kind::Refused | Kind::Vanished));
        Self {
            answers: &traffic.answers,
            refused: refused.map(|f| f.at).collect(),
        }
    }

    /// The beginning of the first improbable silence from `from` on.
    fn first(
        &self,
        from: RunOffset,
        timeline: &Timeline,
        over: &[Option<RunOffset>],
    ) -> Option<RunOffset> {
        let leaving = timeline
            .terminating()
            .filter(|(_, _, d)| d.seen <= from && from.nanos_since(d.seen) <= LONG_GONE)
            .filter(|(ix, ..)| over[ix.0].is_none_or(|over| over > from))
            .count();
        let ready = timeline.fewest_ready(from, from).unwrap_or(1);
        let routed = (ready + leaving).max(2) as f64;
        let need = (IMPROBABLE.ln() / (1.0 - 1.0 / routed).ln()).ceil() as usize;
        let next = self.refused.partition_point(|t| *t < from);
        let later = &self.refused[next..];
        let begins = std::iter::once(from).chain(later.iter().copied());
        let ends = later.iter().copied().map(Some).chain([None]);
        begins
            .zip(ends)
            .take_while(|(begin, _)| begin.nanos_since(from) <= 2 * LONG_GONE)
            .find(|(begin, end)| self.answers.between(*begin, *end) >= need)
            .map(|(begin, _)| begin.plus_nanos(1))
    }
}
