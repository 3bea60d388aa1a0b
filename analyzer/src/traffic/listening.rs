//! From when on each pod is proved to listen, and until when pods of a template are known to go on listening.

use std::collections::BTreeMap;

use rollscope_records::RunOffset;

use super::attribution::Traffic;
use super::routes::Routes;
use crate::timeline::{Deletion, LogBook, Pod, PodIx, Timeline, Voice};

const SECOND: i64 = 1_000_000_000;

/// What is known of open listeners.
pub(crate) struct Listening {
    /// The earliest moment at which each pod is proved to listen.
    since: Vec<Option<RunOffset>>,
    /// By template: for how long after its deletion a pod answered new connections at most, ns.
    accepts: BTreeMap<String, i64>,
    /// For how long after its deletion a pod is thought to be routed to, ns; `None` where nothing tells.
    routed_for: Option<i64>,
    routes: Routes,
}

impl Listening {
    pub(crate) fn of(traffic: &Traffic<'_>, timeline: &Timeline, logs: &LogBook) -> Self {
        let since = timeline
            .indices()
            .map(|ix| proof(ix, traffic, timeline, logs))
            .collect();
        let mut accepts: BTreeMap<String, i64> = BTreeMap::new();
        for (ix, pod, d) in timeline.terminating() {
            let last = traffic.pod(ix).and_then(|t| t.answered_new.last());
            let after = last.map_or(0, |a| a.nanos_since(d.seen)).max(0);
            let longest = accepts.entry(pod.template_hash.clone()).or_insert(0);
            *longest = after.max(*longest);
        }
        let routed_for = accepts.values().copied().max().filter(|n| *n > 0);
        // Behind a balancer requests travel on connections that it keeps: an answer proves no open listener.
        if !traffic.pinned {
            accepts.clear();
        }
        Self {
            since,
            accepts,
            routed_for,
            routes: Routes::of(traffic, timeline, logs),
        }
    }

    /// Takes account of a connection that a leaving pod and no other refused, at least `nanos` after its deletion.
    pub(crate) fn refused_after(&mut self, nanos: i64) {
        self.routed_for = self.routed_for.map(|n| n.max(nanos));
    }

    /// For how long a leaving pod may be routed to, by what other pods of the run show, ns.
    pub(crate) fn routed_for(&self, most: i64) -> i64 {
        self.routed_for.map_or(most, |n| {
            (n.saturating_add(n / 2).saturating_add(SECOND / 2)).min(most)
        })
    }

    /// The pod listened at or before `t`: by its probe, its log or its answers.
    pub(crate) fn proved(&self, pod: PodIx, t: RunOffset) -> bool {
        self.since[pod.0].is_some_and(|s| s <= t)
    }

    /// Whether a leaving pod can have refused at `t`: it was still routed to, and not open by its log.
    pub(crate) fn can_refuse(&self, ix: PodIx, pod: &Pod, t: RunOffset) -> bool {
        !self.routes.over(ix, t) && !self.routes.open_by_log(ix, pod, t)
    }

    /// Whether a leaving pod can be thought to have closed at `t`: it had ended, or its hook was over and pods of its
    /// template do not go on accepting for as long.
    pub(crate) fn may_have_closed(&self, ix: PodIx, pod: &Pod, d: &Deletion, t: RunOffset) -> bool {
        if pod.end_at().is_some_and(|e| e.lo <= t) || self.routes.closed_by_log(ix, t) {
            return true;
        }
        let hook = pod
            .pre_stop
            .as_ref()
            .and_then(|h| h.sleep_seconds)
            .unwrap_or(0);
        let signal = d.requested.lo.plus_nanos(hook.saturating_mul(SECOND));
        let accepts = self.accepts.get(&pod.template_hash).copied().unwrap_or(0);
        t >= signal && t.nanos_since(d.seen) >= accepts.min(SECOND * 4)
    }
}

/// A readiness probe that asks the traffic's own port proves it before the pod is in the endpoints at all.
fn proof(
    ix: PodIx,
    traffic: &Traffic<'_>,
    timeline: &Timeline,
    logs: &LogBook,
) -> Option<RunOffset> {
    let pod = timeline.pod(ix);
    let probed = pod
        .readiness_port
        .is_some_and(|port| timeline.traffic_ports.contains(&port));
    if probed {
        return Some(RunOffset(i64::MIN));
    }
    let said = logs.pod(ix).and_then(|book| {
        let line = book.said.iter().find(|l| l.voice == Voice::Listening);
        line.map(|l| l.at)
    });
    let answered = traffic.pod(ix).and_then(|t| {
        let new = t.answered_new.first();
        new.into_iter()
            .chain(t.answered_reused.first())
            .min()
            .copied()
    });
    said.into_iter().chain(answered).min()
}
