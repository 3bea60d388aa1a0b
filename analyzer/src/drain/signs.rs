//! Signs of a drain after a deletion: readiness turned off, an unasked `Connection: close`, a closed listener, a log
//! line, an end well before the deadline.

use std::collections::BTreeMap;

use rollscope_records::{Interval, RunOffset};

use crate::timeline::{Deletion, LogBook, Pod, PodIx, Timeline, Voice};
use crate::traffic::{Kind, Traffic};
use crate::words::span;

pub(crate) const READINESS: &str = "readiness";
pub(crate) const LISTENER_CLOSED: &str = "listener_closed";
pub(crate) const CONNECTION_CLOSE: &str = "connection_close";
pub(crate) const LOG: &str = "log";
pub(crate) const EXIT: &str = "exit";

const MS: i64 = 1_000_000;
const SECOND: i64 = 1000 * MS;

/// A sign may seem this much older than the receipt of the deletion, ns.
const DISORDER: i64 = 300 * MS;

/// An end is a sign when it comes this much before the deadline, ns.
const WELL_BEFORE: i64 = SECOND;

/// A sign of a drain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DrainSign {
    pub(crate) at: Interval,
    pub(crate) kind: &'static str,
    pub(crate) what: String,
}

/// Every sign of one pod, in order of time.
pub(crate) fn signs(
    ix: PodIx,
    pod: &Pod,
    deletion: &Deletion,
    traffic: &Traffic<'_>,
    logs: &LogBook,
    listener_closed: Option<RunOffset>,
) -> Vec<DrainSign> {
    let from = deletion.seen.plus_nanos(-DISORDER);
    let mut signs: Vec<DrainSign> = [
        readiness(pod, deletion),
        connection_close(ix, pod, from, traffic),
        listener_closed
            .filter(|at| alive(pod, *at))
            .map(|at| closed(at, deletion)),
        log(ix, pod, from, logs),
        exit(pod, deletion),
    ]
    .into_iter()
    .flatten()
    .collect();
    signs.sort_by_key(|s| (s.at.hi, s.kind));
    signs
}

fn readiness(pod: &Pod, deletion: &Deletion) -> Option<DrainSign> {
    let (at, what) = pod.not_ready_after(deletion.seen)?;
    // A probe that meets the end itself fails too, before the end is received.
    if pod.end.as_ref().is_some_and(|e| e.at.lo <= at) {
        return None;
    }
    Some(DrainSign {
        at: Interval::at(at),
        kind: READINESS,
        what: format!(
            "{what} {} after its deletion",
            span(at.nanos_since(deletion.seen))
        ),
    })
}

fn connection_close(
    ix: PodIx,
    pod: &Pod,
    from: RunOffset,
    traffic: &Traffic<'_>,
) -> Option<DrainSign> {
    let closes = &traffic.pod(ix)?.unasked_close;
    // A server that says it all the time (one request a connection) says nothing by it.
    let habit = closes.iter().any(|t| *t < from.plus_nanos(-SECOND));
    let at = closes.iter().find(|t| **t >= from).filter(|_| !habit)?;
    if pod.end.as_ref().is_some_and(|e| e.at.hi < *at) {
        return None;
    }
    Some(DrainSign {
        at: Interval::at(*at),
        kind: CONNECTION_CLOSE,
        what: "it answered with `Connection: close` where the request had not asked for it"
            .to_owned(),
    })
}

fn closed(at: RunOffset, deletion: &Deletion) -> DrainSign {
    DrainSign {
        at: Interval::at(at),
        kind: LISTENER_CLOSED,
        what: format!(
            "it refused a new connection {} after its deletion",
            span(at.nanos_since(deletion.seen).max(0))
        ),
    }
}

fn log(ix: PodIx, pod: &Pod, from: RunOffset, logs: &LogBook) -> Option<DrainSign> {
    let until = pod.end_at().map(|e| e.hi);
    let line = logs.pod(ix)?.since(from).find(|l| {
        matches!(l.voice, Voice::Shutdown | Voice::Forced | Voice::Mark(_))
            && until.is_none_or(|u| l.at <= u)
    })?;
    Some(DrainSign {
        at: Interval::at(line.at),
        kind: LOG,
        what: format!("its log says: {}", line.text),
    })
}

fn exit(pod: &Pod, deletion: &Deletion) -> Option<DrainSign> {
    let end = pod.end.as_ref()?;
    let early = end.at.hi < deletion.deadline.lo.plus_nanos(-WELL_BEFORE) && !end.oom();
    early.then(|| DrainSign {
        at: end.at,
        kind: EXIT,
        what: format!(
            "it ended with {} about {} before its deadline",
            end.words(),
            span(deletion.deadline.hi.nanos_since(end.point()))
        ),
    })
}

/// Certainly before the pod's end.
pub(crate) fn alive(pod: &Pod, at: RunOffset) -> bool {
    pod.end_at().is_none_or(|e| at < e.lo)
}

/// The first connection that each terminating pod refused; `certain`: only where no other pod was possible.
pub(crate) fn first_refusals(
    traffic: &Traffic<'_>,
    timeline: &Timeline,
    certain: bool,
) -> BTreeMap<PodIx, RunOffset> {
    let mut first: BTreeMap<PodIx, RunOffset> = BTreeMap::new();
    for f in traffic.failures.iter().filter(|f| f.kind == Kind::Refused) {
        let Some(ix) = f.pod.filter(|_| !certain || f.suspects.len() == 1) else {
            continue;
        };
        let pod = timeline.pod(ix);
        let leaving = pod
            .deletion_seen()
            .is_some_and(|d| d.plus_nanos(-DISORDER / 2) <= f.at);
        if leaving {
            first.entry(ix).or_insert(f.at);
        }
    }
    first
}
