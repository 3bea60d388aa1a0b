//! How each terminating pod took its signal: when it was sent, the first sign of a drain, and whether a drain would
//! have been seen.

mod deadline;
mod observed;
mod shutdown;
mod signal;
mod signs;

pub(crate) use deadline::{EndedAt, ended_at};
pub(crate) use observed::Watched;
pub(crate) use shutdown::{Shutdown, Stage};
pub(crate) use signs::{CONNECTION_CLOSE, DrainSign, LOG, READINESS};

use std::collections::BTreeMap;

use rollscope_records::{Interval, RunOffset};

use crate::timeline::{LogBook, PodIx, Timeline};
use crate::traffic::Traffic;

/// What is known of one pod's shutdown.
#[derive(Debug, Clone)]
pub(crate) struct Drain {
    /// When the stop signal was sent.
    pub(crate) signal: Interval,
    /// By its manifest, no signal was due yet when its container ended.
    pub(crate) unsignalled: bool,
    /// The likeliest moment of it.
    pub(crate) signal_at: RunOffset,
    /// Signs of a drain, in order.
    pub(crate) signs: Vec<DrainSign>,
    /// Whether a failing readiness probe would have shown.
    pub(crate) readiness: Watched,
    /// Whether a shutdown line would have been received.
    pub(crate) log: Watched,
    /// How the end lies to the deadline.
    pub(crate) ended: EndedAt,
    /// First refused connection that is laid at its door.
    pub(crate) listener_closed: Option<RunOffset>,
    /// It came while the pod was certainly alive.
    pub(crate) closed_alive: bool,
    /// Its own stages, as its log tells them.
    pub(crate) shutdown: Shutdown,
}

impl Drain {
    /// The first sign other than the exit itself.
    pub(crate) fn first_sign(&self) -> Option<&DrainSign> {
        self.signs.iter().find(|s| s.kind != signs::EXIT)
    }

    /// Whether one of the ways in which a drain shows was watched to the end.
    pub(crate) fn would_have_shown(&self) -> bool {
        self.readiness.watched() || self.log.watched()
    }
}

/// The shutdown of every terminating pod.
pub(crate) fn drains(
    timeline: &Timeline,
    traffic: &Traffic<'_>,
    logs: &LogBook,
    gaps: &crate::gaps::Gaps,
) -> BTreeMap<PodIx, Drain> {
    let refused = signs::first_refusals(traffic, timeline, false);
    let certainly = signs::first_refusals(traffic, timeline, true);
    timeline
        .terminating()
        .map(|(ix, pod, deletion)| {
            let listener_closed = refused.get(&ix).copied();
            let closed = certainly.get(&ix).copied();
            let gathered = signs::signs(ix, pod, deletion, traffic, logs, closed);
            let signal = signal::signal(pod, deletion, &gathered);
            let signal_at = signal::likeliest(pod, deletion, signal, &gathered);
            let drain = Drain {
                shutdown: Shutdown::of(pod, logs.pod(ix), signal_at),
                readiness: observed::readiness(pod, deletion, timeline, gaps),
                log: observed::log(ix, pod, deletion, logs, gaps),
                ended: ended_at(pod),
                unsignalled: signal::ended_before(pod, deletion),
                signal_at,
                signal,
                closed_alive: closed.is_some_and(|at| signs::alive(pod, at)),
                listener_closed,
                signs: gathered,
            };
            (ix, drain)
        })
        .collect()
}
