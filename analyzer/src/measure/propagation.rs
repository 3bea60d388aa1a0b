//! The propagation lag: from the request of a deletion to the last **new** connection attempted on the pod, answered
//! or refused. Requests on established connections do not count: nothing moves them. Behind a balancer that routes
//! each request by itself, every request counts.

use rollscope_records::RunOffset;

use crate::timeline::{Deletion, PodIx};
use crate::traffic::{Failure, Kind, Traffic};

/// The last attempt after the deletion that is known to have been this pod's; `None` where a later one may have been.
pub(super) fn last_known(
    ix: PodIx,
    deletion: &Deletion,
    failures: &[&Failure],
    traffic: &Traffic<'_>,
) -> Option<RunOffset> {
    let certain: Vec<&Failure> = failures
        .iter()
        .copied()
        .filter(|f| f.suspects.len() < 2)
        .collect();
    let known = last_new_connection(ix, deletion, &certain, traffic)?;
    let later = traffic.failures.partition_point(|f| f.at <= known);
    let doubtful = traffic.failures[later..]
        .iter()
        .filter(|f| f.kind == Kind::Refused)
        .any(|f| f.suspects.is_empty() || (f.suspects.len() > 1 && f.suspects.contains(&ix)));
    (!doubtful).then_some(known)
}

/// The last attempt after the deletion on it as far as the likeliest goes: the longest of several pods' is not too long.
pub(super) fn last_new_connection(
    ix: PodIx,
    deletion: &Deletion,
    failures: &[&Failure],
    traffic: &Traffic<'_>,
) -> Option<RunOffset> {
    let answered = traffic.pod(ix).and_then(|k| k.answered_new.last().copied());
    let attempted = failures
        .iter()
        .filter(|f| {
            matches!(f.kind, Kind::Refused | Kind::Vanished)
                || !traffic.pinned
                || !traffic.request(f).reused
        })
        .map(|f| f.began)
        .max();
    answered
        .max(attempted)
        .filter(|t| *t > deletion.requested.hi)
}
