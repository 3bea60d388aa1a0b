//! The pods that a failed request can have been on, when nothing names one.
//!
//! A refused connection has no pod by itself: an old pod that closed, one whose container was down, and a new one
//! that does not listen yet compete. A pod that answered a new connection afterwards was open; a new pod that
//! answered one before was listening.

use rollscope_records::RunOffset;

use super::attribution::{How, Traffic};
use super::failure::Failure;
use super::kind::Kind;
use crate::timeline::{ContainerEnd, Pod, PodIx, Timeline};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1000 * MS;

/// A deletion takes effect this much before its watch event arrives, ns.
const BEFORE_SEEN: i64 = 150 * MS;

/// Routing converges within this time of a pod's leaving, ns. Refusals later than it are not laid at its door.
const ROUTED_STILL: i64 = 12 * SECOND;

/// A pod starts for this long after it became ready, ns.
const STARTING: i64 = 15 * SECOND;

/// Connections of one pod die within this time of each other, ns.
const TOGETHER: i64 = 30 * MS;

/// A container that is down is routed to for this long after it runs again, ns.
const UP_AGAIN: i64 = 2 * SECOND;

/// Sets the pod or the suspects of a failure that nothing names a pod for.
pub(crate) fn resolve(f: &mut Failure, traffic: &Traffic<'_>, timeline: &Timeline) {
    if let Some(pod) = f.pod {
        f.suspects = vec![pod];
        return;
    }
    f.suspects = match f.kind {
        Kind::Refused | Kind::NoBackend => refusing(f.at, traffic, timeline),
        Kind::Vanished => vanished(f.at, timeline),
        Kind::Cut => cutting(f, timeline),
        Kind::Deadline => starting(f.at, timeline)
            .into_iter()
            .chain(changing(f.at, timeline))
            .collect(),
        Kind::AppStatus(_) | Kind::Other => changing(f.at, timeline),
        Kind::Local | Kind::PodEnd => Vec::new(),
    };
    if let [only] = f.suspects[..]
        && matches!(f.kind, Kind::Refused | Kind::Vanished | Kind::Cut)
    {
        f.pod = Some(only);
        f.how = How::ByTime;
    }
}

/// Old pods that can have refused at `t`: only the likeliest. Then new pods.
fn refusing(t: RunOffset, traffic: &Traffic<'_>, timeline: &Timeline) -> Vec<PodIx> {
    let down = timeline
        .indices()
        .filter_map(|ix| Some((down_at(timeline.pod(ix), t)?.at.lo, ix)))
        .max();
    let closed = timeline
        .terminating()
        .filter(|(_, p, d)| routed_while_leaving(p, d.seen, t))
        .filter(|(ix, ..)| open_after(traffic, *ix, t).is_none())
        .map(|(ix, _, d)| (d.seen, ix))
        .max();
    let new = timeline
        .indices()
        .filter(|ix| not_listening_yet(timeline.pod(*ix), *ix, t, traffic, timeline));
    down.or(closed)
        .map(|(_, ix)| ix)
        .into_iter()
        .chain(new)
        .collect()
}

/// Whether a pod whose deletion was seen at `seen` can still have been routed to at `t`.
fn routed_while_leaving(pod: &Pod, seen: RunOffset, t: RunOffset) -> bool {
    let left = pod.left_ready(seen).unwrap_or(seen);
    seen.plus_nanos(-BEFORE_SEEN) <= t && t <= left.plus_nanos(ROUTED_STILL)
}

/// The end of a container that was down at `t` while its pod was not being deleted.
pub(crate) fn down_at(pod: &Pod, t: RunOffset) -> Option<&ContainerEnd> {
    let leaving = pod.deletion_seen();
    pod.ends()
        .filter(|e| leaving.is_none_or(|d| e.seen < d))
        .filter(|e| e.at.lo.plus_nanos(-100 * MS) <= t)
        .find(|e| {
            let up = e
                .running_again
                .map_or(RunOffset(i64::MAX), |r| r.plus_nanos(UP_AGAIN));
            let ready = pod
                .ready
                .iter()
                .find(|(at, ready)| *ready && *at > e.seen)
                .map_or(up, |(at, _)| at.plus_nanos(SECOND));
            t <= up.max(ready)
        })
}

/// A new connection that the pod answered after `t`, in a run whose connections stay with their pod.
pub(crate) fn open_after(traffic: &Traffic<'_>, pod: PodIx, t: RunOffset) -> Option<RunOffset> {
    if !traffic.pinned {
        return None;
    }
    traffic.pod(pod)?.new_after(t.plus_nanos(1))
}

/// A pod that may be in the endpoints at `t` and has not answered a new connection before.
fn not_listening_yet(
    pod: &Pod,
    ix: PodIx,
    t: RunOffset,
    traffic: &Traffic<'_>,
    timeline: &Timeline,
) -> bool {
    if pod.listed || pod.deletion_seen().is_some_and(|d| d <= t) {
        return false;
    }
    let known = if timeline.readiness_recorded {
        pod.first_ready()
    } else {
        pod.running
    };
    let routed = known.is_some_and(|r| r.plus_nanos(-BEFORE_SEEN) <= t);
    let answered = traffic
        .pod(ix)
        .is_some_and(|p| p.answered_new.first().is_some_and(|a| *a < t));
    routed && !answered
}

/// The pod that ended last before `t`.
fn vanished(t: RunOffset, timeline: &Timeline) -> Vec<PodIx> {
    timeline
        .indices()
        .filter_map(|ix| {
            let pod = timeline.pod(ix);
            let end = pod.end.as_ref()?;
            (end.at.lo.plus_nanos(-100 * MS) <= t).then_some((end.point(), ix))
        })
        .max()
        .map(|(_, ix)| ix)
        .into_iter()
        .collect()
}

/// The pod whose end explains the cut; else the pod that is being deleted, the latest one.
fn cutting(f: &Failure, timeline: &Timeline) -> Vec<PodIx> {
    let distance = |e: &ContainerEnd| e.point().nanos_since(f.at).abs();
    let ended = timeline
        .indices()
        .filter_map(|ix| {
            timeline
                .pod(ix)
                .ends()
                .filter(|e| e.explains_cut_at(f.at) && f.began <= e.at.hi)
                .map(distance)
                .min()
                .map(|d| (d, ix))
        })
        .min();
    if let Some((_, ix)) = ended {
        return vec![ix];
    }
    timeline
        .terminating()
        .filter(|(_, p, d)| {
            d.seen.plus_nanos(-BEFORE_SEEN) <= f.at && p.end_at().is_none_or(|e| f.at <= e.hi)
        })
        .map(|(ix, _, d)| (d.seen, ix))
        .max()
        .map(|(_, ix)| ix)
        .into_iter()
        .collect()
}

/// Connections that die at one moment die with one pod: a cut that nothing else names a pod for goes to the pod of the
/// cut nearest to it in time.
pub(crate) fn die_together(failures: &mut [Failure]) {
    let certain = |f: &Failure| !matches!(f.how, How::ByTime | How::Unknown);
    let mut known: Vec<(RunOffset, PodIx)> = failures
        .iter()
        .filter(|f| f.kind == Kind::Cut && certain(f))
        .filter_map(|f| Some((f.ended, f.pod?)))
        .collect();
    known.sort_unstable();
    for f in failures
        .iter_mut()
        .filter(|f| f.kind == Kind::Cut && !certain(f))
    {
        let i = known.partition_point(|(t, _)| *t < f.ended);
        let nearest = known[i.saturating_sub(1)..known.len().min(i + 1)]
            .iter()
            .map(|(t, pod)| (t.nanos_since(f.ended).abs(), *pod))
            .min();
        if let Some((distance, pod)) = nearest
            && distance <= TOGETHER
        {
            f.pod = Some(pod);
            f.how = How::ByTime;
            f.suspects = vec![pod];
        }
    }
}

/// Pods that had become ready shortly before `t`, the latest first.
fn starting(t: RunOffset, timeline: &Timeline) -> Vec<PodIx> {
    let mut pods: Vec<(RunOffset, PodIx)> = timeline
        .indices()
        .filter(|ix| !timeline.pod(*ix).listed)
        .filter_map(|ix| Some((timeline.pod(ix).first_ready()?, ix)))
        .filter(|(ready, _)| *ready <= t.plus_nanos(SECOND) && t.nanos_since(*ready) <= STARTING)
        .collect();
    pods.sort_unstable_by(|a, b| b.cmp(a));
    pods.into_iter().map(|(_, ix)| ix).collect()
}

/// Pods that were being deleted at `t`.
fn changing(t: RunOffset, timeline: &Timeline) -> Vec<PodIx> {
    timeline
        .terminating()
        .filter(|(_, p, d)| {
            d.seen.plus_nanos(-BEFORE_SEEN) <= t
                && p.end_at().is_none_or(|e| t <= e.hi.plus_nanos(SECOND))
        })
        .map(|(ix, ..)| ix)
        .collect()
}
