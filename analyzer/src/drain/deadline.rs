//! How a pod's end lies to the moment at which SIGKILL was due.

use crate::timeline::Pod;

const MS: i64 = 1_000_000;

/// SIGKILL ends a container up to this much after the deadline, ns (0.01-0.05 s, 0.42 s seen on a busy node).
const KILL_TAKES: i64 = 1300 * MS;

/// An end may seem this much before the deadline and still be the SIGKILL's, ns.
const EARLY: i64 = 60 * MS;

/// An end by itself that comes this much before the deadline was not caused by it, ns.
const OWN_END: i64 = 60 * MS;

/// What the runtime is given at least, ns: an overrunning preStop leaves this much after the deadline.
const PRE_STOP_EXTRA: i64 = 2000 * MS;

/// How the end lies to the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndedAt {
    /// No end was seen.
    Unseen,
    /// Certainly before it.
    Before,
    /// At the deadline, as far as the bounds of both times tell.
    Deadline,
    /// Two seconds after it: what an overrunning preStop leaves.
    TwoSecondsAfter,
    /// Later than anything explains.
    Later,
}

/// Classifies a terminating pod's end.
pub(crate) fn ended_at(pod: &Pod) -> EndedAt {
    let (Some(deletion), Some(end)) = (&pod.deletion, &pod.end) else {
        return EndedAt::Unseen;
    };
    let deadline = deletion.deadline;
    let point = end.point();
    let killed = end.code == 137;
    let before = if killed {
        end.at.hi < deadline.lo.plus_nanos(-EARLY)
    } else {
        point < deadline.hi.plus_nanos(-OWN_END)
    };
    if before {
        return EndedAt::Before;
    }
    if point <= deadline.hi.plus_nanos(KILL_TAKES) {
        return EndedAt::Deadline;
    }
    if point <= deadline.hi.plus_nanos(PRE_STOP_EXTRA + KILL_TAKES) {
        return EndedAt::TwoSecondsAfter;
    }
    EndedAt::Later
}
