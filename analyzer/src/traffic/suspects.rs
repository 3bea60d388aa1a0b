//! The pods that a failed request can have been on, when nothing names one.
//!
//! A refused connection has no pod by itself: an old pod that closed, one whose container was down, and a new one
//! that does not listen yet compete. A pod that answered a new connection afterwards was open; a new pod that
//! answered one before was listening.

use rollscope_records::RunOffset;

use super::attribution::{How, Traffic};
use super::failure::Failure;
use super::kind::Kind;
use super::listening::Listening;
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

/// Sets the pod or the suspects of a failure that nothing names a pod for. A failure that only leaving or broken pods
/// can have had goes to the likeliest of them.
pub(crate) fn resolve(
    f: &mut Failure,
    traffic: &Traffic<'_>,
    timeline: &Timeline,
    listening: &Listening,
) {
    if let Some(pod) = f.pod {
        f.suspects = vec![pod];
        return;
    }
    f.suspects = match f.kind {
        Kind::Refused | Kind::NoBackend => {
            let asked = traffic.request(f).status == Some(502);
            refusing(f.at, f.kind, asked, traffic, timeline, listening)
        }
        Kind::Vanished => vanished(f.at, timeline),
        Kind::Cut => cutting(f, timeline),
        Kind::Deadline => starting(f.at, timeline)
            .into_iter()
            .chain(changing(f.at, timeline))
            .collect(),
        Kind::AppStatus(_) | Kind::Other => changing(f.at, timeline),
        Kind::Local | Kind::PodEnd => Vec::new(),
    };
    let decided = match (&f.suspects[..], f.kind) {
        ([_], Kind::Refused | Kind::Vanished) => true,
        (many, Kind::Cut) => !many.is_empty(),
        (many, Kind::Refused) => {
            !many.is_empty() && !many.iter().any(|p| starts(timeline.pod(*p), f.at))
        }
        _ => false,
    };
    if decided {
        f.pod = f.suspects.first().copied();
        f.how = How::ByTime;
    }
}

/// Whether the pod is a new one that only starts: neither leaving nor down at `t`.
pub(crate) fn starts(pod: &Pod, t: RunOffset) -> bool {
    !pod.listed
        && down_at(pod, t).is_none()
        && pod
            .deletion_seen()
            .is_none_or(|d| t < d.plus_nanos(-BEFORE_SEEN))
}

/// Every pod that can have refused at `t`: pods that were down or were being stopped for a failed probe, old pods that were leaving and perhaps still routed
/// to, the likeliest first; then new pods that are routed to and not proved to listen. `asked`: a balancer says that it
/// asked an endpoint.
fn refusing(
    t: RunOffset,
    kind: Kind,
    asked: bool,
    traffic: &Traffic<'_>,
    timeline: &Timeline,
    listening: &Listening,
) -> Vec<PodIx> {
    let mut down: Vec<(RunOffset, PodIx)> = timeline
        .indices()
        .filter_map(|ix| {
            let pod = timeline.pod(ix);
            let end = down_at(pod, t)?;
            let left = pod.left_ready(end.at.lo);
            let routed = left.is_none_or(|l| t <= l.plus_nanos(listening.routed_for(ROUTED_STILL)));
            let answers = traffic.pod(ix).is_some_and(|on| {
                on.new_between(end.at.hi, t) + on.reused_between(end.at.hi, t) > 0
            });
            (routed && !answers).then_some((end.at.lo, ix))
        })
        .collect();
    down.sort_unstable_by(|a, b| b.cmp(a));
    let empty_of_late = timeline.fewest_ready(t.plus_nanos(-ROUTED_STILL / 2), t) == Some(0);
    let most = listening.routed_for(ROUTED_STILL);
    let leaving = leaving(t, most, |_| true, traffic, timeline, listening);
    let new: Vec<PodIx> = timeline
        .indices()
        .filter(|ix| not_listening_yet(timeline.pod(*ix), *ix, t, kind, timeline, listening))
        .collect();
    let stopping = |ix: &PodIx| {
        let pod = timeline.pod(*ix);
        let kill = pod.killed_by_probe(t);
        let left = kill.and_then(|kill| pod.left_ready(kill));
        let routed = left.is_none_or(|l| t <= l.plus_nanos(listening.routed_for(ROUTED_STILL)));
        // What is deleted meanwhile is among those that leave.
        let stays = pod.deletion_seen().is_none_or(|d| t < d);
        kill.is_some() && stays && routed && open_after(traffic, *ix, t).is_none()
    };
    let stopping: Vec<PodIx> = timeline.indices().filter(stopping).collect();
    // Where nothing that other pods show explains it, a route may last longer than theirs; a balancer that answers 502
    // had one to ask. Shortly after a time without an endpoint it may have had none; where nothing has been answered
    // since a pod ended, routes may be that pod's all the same.
    let leaving = if leaving.is_empty() {
        let others = !down.is_empty() || !new.is_empty() || !stopping.is_empty();
        let none_to_ask = empty_of_late && !asked;
        let may = |pod: &Pod| !(others || none_to_ask) || out_since_its_end(pod, t, traffic);
        self::leaving(t, ROUTED_STILL, may, traffic, timeline, listening)
    } else {
        leaving
    };
    let mut all: Vec<PodIx> = Vec::new();
    let old = down.into_iter().map(|(_, ix)| ix);
    for ix in old.chain(stopping).chain(leaving).chain(new) {
        if !all.contains(&ix) {
            all.push(ix);
        }
    }
    all
}

/// No new connection at all has been answered between the pod's end and `t`.
fn out_since_its_end(pod: &Pod, t: RunOffset, traffic: &Traffic<'_>) -> bool {
    let ended = pod.end_at().filter(|e| e.lo <= t);
    ended.is_some_and(|e| traffic.last_new_answer(t).is_none_or(|a| a <= e.hi))
}

/// The largest distance to the latest deletion at which only leaving pods can have refused: what the longest lag of
/// the run is at least.
pub(crate) fn longest_lag(
    failures: &[Failure],
    traffic: &Traffic<'_>,
    timeline: &Timeline,
    listening: &Listening,
) -> Option<i64> {
    let only_leaving = |f: &&Failure| {
        f.kind == Kind::Refused
            && timeline.indices().all(|ix| {
                let pod = timeline.pod(ix);
                down_at(pod, f.at).is_none()
                    && !not_listening_yet(pod, ix, f.at, f.kind, timeline, listening)
            })
            && timeline.fewest_ready(f.at.plus_nanos(-ROUTED_STILL / 2), f.at) != Some(0)
    };
    let nearest = |f: &Failure| {
        leaving(f.at, ROUTED_STILL, |_| true, traffic, timeline, listening)
            .into_iter()
            .filter_map(|ix| timeline.pod(ix).deletion_seen())
            .map(|d| f.at.nanos_since(d).max(0))
            .min()
    };
    failures
        .iter()
        .filter(only_leaving)
        .filter_map(nearest)
        .max()
}

/// Pods that were leaving at `t` and `may` have been asked, perhaps still routed to and not known to be open, the
/// likeliest first.
fn leaving(
    t: RunOffset,
    most: i64,
    may: impl Fn(&Pod) -> bool,
    traffic: &Traffic<'_>,
    timeline: &Timeline,
    listening: &Listening,
) -> Vec<PodIx> {
    let mut leaving: Vec<((bool, bool, RunOffset), PodIx)> = timeline
        .terminating()
        .filter(|(_, p, d)| routed_while_leaving(p, d.seen, t, most) && may(p))
        .filter(|(ix, ..)| open_after(traffic, *ix, t).is_none())
        .filter(|(ix, p, _)| listening.can_refuse(*ix, p, t))
        .map(|(ix, p, d)| {
            let closed = listening.may_have_closed(ix, p, d, t);
            ((closed, d.seen <= t, d.seen), ix)
        })
        .collect();
    leaving.sort_unstable_by(|a, b| b.cmp(a));
    leaving.into_iter().map(|(_, ix)| ix).collect()
}

/// Whether a pod whose deletion was seen at `seen` can still have been routed to at `t`.
fn routed_while_leaving(pod: &Pod, seen: RunOffset, t: RunOffset, most: i64) -> bool {
    let left = pod.left_ready(seen).unwrap_or(seen);
    seen.plus_nanos(-BEFORE_SEEN) <= t && t <= left.plus_nanos(most)
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
                .map_or(up, |(at, _)| match pod.readiness_port {
                    Some(_) => *at,
                    None => at.plus_nanos(SECOND),
                });
            // What a restarted container does once its pod is being deleted has another cause.
            let until = match (leaving, e.running_again) {
                (Some(d), Some(again)) if again < d => d.plus_nanos(-BEFORE_SEEN),
                _ => up.max(ready),
            };
            t <= up.max(ready).min(until)
        })
}

/// A new connection that the pod answered after `t`, in a run whose connections stay with their pod.
pub(crate) fn open_after(traffic: &Traffic<'_>, pod: PodIx, t: RunOffset) -> Option<RunOffset> {
    if !traffic.pinned {
        return None;
    }
    traffic.pod(pod)?.new_after(t.plus_nanos(1))
}

/// A pod that may be in the endpoints at `t` and is not proved to listen.
fn not_listening_yet(
    pod: &Pod,
    ix: PodIx,
    t: RunOffset,
    kind: Kind,
    timeline: &Timeline,
    listening: &Listening,
) -> bool {
    if pod.listed || pod.deletion_seen().is_some_and(|d| d <= t) {
        return false;
    }
    let known = if timeline.readiness_recorded {
        pod.first_ready()
    } else {
        pod.running
    };
    let routed = known.is_some_and(|r| {
        let since = t.nanos_since(r);
        (-BEFORE_SEEN..STARTING).contains(&since)
    });
    routed && !(kind == Kind::Refused && listening.proved(ix, t))
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

/// The pods whose ends explain the cut, the nearest first, and no other where that is near enough; else the pod that is
/// being deleted, the latest one.
fn cutting(f: &Failure, timeline: &Timeline) -> Vec<PodIx> {
    let distance = |e: &ContainerEnd| e.point().nanos_since(f.at).abs();
    let mut ended: Vec<(i64, PodIx)> = timeline
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
        .collect();
    ended.sort_unstable();
    if ended.first().is_some_and(|(d, _)| *d <= TOGETHER) {
        ended.truncate(1);
    }
    if !ended.is_empty() {
        return ended.into_iter().map(|(_, ix)| ix).collect();
    }
    let leaving = timeline
        .terminating()
        .filter(|(_, p, d)| {
            d.seen.plus_nanos(-BEFORE_SEEN) <= f.at && p.end_at().is_none_or(|e| f.at <= e.hi)
        })
        .map(|(ix, _, d)| (d.seen, ix));
    // A container that the kubelet kills for its probe may end after the last thing that was observed.
    let killed = timeline.indices().filter_map(|ix| {
        let kill = timeline.pod(ix).killed_by_probe(f.at)?;
        Some((kill, ix))
    });
    leaving
        .max()
        .or_else(|| killed.max())
        .map(|(_, ix)| ix)
        .into_iter()
        .collect()
}

/// Connections that die at one moment die with one pod: a cut that nothing else names a pod for goes to the pod of the
/// cut nearest to it in time.
///
/// Not where an end of the pod that it is laid at explains it and none of the other does.
pub(crate) fn die_together(failures: &mut [Failure], timeline: &Timeline) {
    let explains = |pod: PodIx, at: RunOffset| {
        let mut ends = timeline.pod(pod).ends();
        ends.any(|e| e.explains_cut_at(at))
    };
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
            && (explains(pod, f.at) || !f.pod.is_some_and(|own| explains(own, f.at)))
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
