//! What is measured of every terminating pod, whether it failed anything or not.

mod phases;
mod pods;
mod propagation;

pub(crate) use pods::pod_reports;

use std::collections::BTreeMap;

use rollscope_records::{ABSENT, Field, Requests, RunOffset};

use crate::drain::Drain;
use crate::timeline::{Pod, PodIx, Timeline};
use crate::traffic::{Failure, Kind, Traffic};

/// One pod's measurements.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measures {
    /// The last new connection attempted on it after its deletion, where that is known to be the last.
    pub(crate) last_new: Option<RunOffset>,
    /// The last that is likeliest its own.
    pub(crate) last_attempt: Option<RunOffset>,
    /// From its deletion to the last that is likeliest its own, ns.
    pub(crate) lag: Option<i64>,
    /// The last request answered on an established connection after its deletion.
    pub(crate) last_reused: Option<RunOffset>,
    pub(crate) in_flight_at_signal: Option<u64>,
    pub(crate) in_flight_at_exit: Option<u64>,
    /// Requests without a definite answer.
    pub(crate) cut: u64,
    pub(crate) failed: u64,
    pub(crate) served: u64,
    /// From its signal to its own end, ns; `None` while it did not end by itself.
    pub(crate) drain_took: Option<i64>,
}

/// Measures every pod.
pub(crate) fn measure(
    timeline: &Timeline,
    traffic: &Traffic<'_>,
    drains: &BTreeMap<PodIx, Drain>,
) -> BTreeMap<PodIx, Measures> {
    let mut failures: BTreeMap<PodIx, Vec<&Failure>> = BTreeMap::new();
    for f in &traffic.failures {
        if let Some(pod) = f.pod {
            failures.entry(pod).or_default().push(f);
        }
    }
    let at_signal = at_signal(timeline, traffic, drains);
    timeline
        .indices()
        .map(|ix| {
            let mine = failures.get(&ix).map_or(&[][..], Vec::as_slice);
            let mut m = of_pod(ix, timeline.pod(ix), mine, traffic, drains.get(&ix));
            m.in_flight_at_signal = m.in_flight_at_signal.map(|n| n + at_signal[ix.0]);
            (ix, m)
        })
        .collect()
}

/// By pod: how many of the requests that are known to have been on it were in flight at its signal.
fn at_signal(
    timeline: &Timeline,
    traffic: &Traffic<'_>,
    drains: &BTreeMap<PodIx, Drain>,
) -> Vec<u64> {
    let signals: Vec<Option<i64>> = timeline
        .indices()
        .map(|ix| Some(drains.get(&ix)?.signal_at.nanos()))
        .collect();
    let requests = traffic.requests;
    let stretches = requests.by_stretch(|blocks| {
        let mut counts = vec![0; signals.len()];
        let mut unpacked = requests.unpacked([Field::Scheduled, Field::Dispatched, Field::Ended]);
        for block in blocks {
            let [scheduled, dispatched, ended] = unpacked.block(block);
            for (i, due) in scheduled.iter().enumerate() {
                let Some(pod) = traffic.certain.pod(block * Requests::BLOCK + i) else {
                    continue;
                };
                let known = dispatched[i] != ABSENT && ended[i] != ABSENT;
                let (began, over) = (due.wrapping_add(dispatched[i]), due.wrapping_add(ended[i]));
                let spans = |t: i64| known && began <= t && t < over;
                counts[pod.0] += u64::from(signals[pod.0].is_some_and(spans));
            }
        }
        counts
    });
    let sum = |pod: usize| stretches.iter().map(|counts| counts[pod]).sum();
    (0..signals.len()).map(sum).collect()
}

fn of_pod(
    ix: PodIx,
    pod: &Pod,
    failures: &[&Failure],
    traffic: &Traffic<'_>,
    drain: Option<&Drain>,
) -> Measures {
    let known = traffic.pod(ix);
    let mut m = Measures {
        cut: failures.iter().filter(|f| f.kind == Kind::Cut).count() as u64,
        failed: failures.len() as u64,
        served: known.map_or(0, |k| k.served),
        ..Measures::default()
    };
    let (Some(deletion), Some(drain)) = (&pod.deletion, drain) else {
        return m;
    };
    m.last_new = propagation::last_known(ix, deletion, failures, traffic);
    m.last_attempt = propagation::last_new_connection(ix, deletion, failures, traffic);
    m.lag = m
        .last_attempt
        .map(|t| t.nanos_since(deletion.requested.hi).max(0));
    m.last_reused = known
        .and_then(|k| k.answered_reused.last().copied())
        .filter(|t| *t > deletion.seen);
    if traffic.pods_named || known.is_some() {
        m.in_flight_at_signal = Some(in_flight_by_time(failures, traffic, drain.signal_at));
        m.in_flight_at_exit = pod.end.as_ref().map(|end| {
            let cut = |f: &&&Failure| f.kind == Kind::Cut && end.explains_cut_at(f.ended);
            failures.iter().filter(cut).count() as u64
        });
    }
    m.drain_took = own_end(pod, drain);
    m
}

fn own_end(pod: &Pod, drain: &Drain) -> Option<i64> {
    let end = pod.end.as_ref()?;
    let by_itself = drain.ended == crate::drain::EndedAt::Before || end.code != 137;
    by_itself.then(|| end.point().nanos_since(drain.signal_at).max(0))
}

/// Requests that time alone lays on the pod at `t`: dispatched before, over after.
fn in_flight_by_time(failures: &[&Failure], traffic: &Traffic<'_>, t: RunOffset) -> u64 {
    let by_time = failures
        .iter()
        .filter(|f| traffic.certain.pod(f.request).is_none() && f.kind == Kind::Cut)
        .filter(|f| f.began <= t && t < f.ended);
    by_time.count() as u64
}
