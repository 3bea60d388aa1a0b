//! The propagation lag: from the request of a deletion to the last **new** connection attempted on the pod, answered
//! or refused. Requests on established connections do not count: nothing moves them. Behind a balancer that routes
//! each request by itself, every request counts.

use rollscope_records::RunOffset;

use crate::timeline::{Deletion, PodIx};
use crate::traffic::{Failure, Kind, Traffic};

/// The last attempt after the deletion.
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
                || !traffic.requests[f.request].reused
        })
        .map(|f| f.began)
        .max();
    answered
        .max(attempted)
        .filter(|t| *t > deletion.requested.hi)
}
