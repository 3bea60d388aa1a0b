//! One failed request.

use rollscope_records::{Request, RunOffset};

use super::How;
use super::kind::Kind;
use crate::timeline::PodIx;

/// Index into the failures of a [`Traffic`](super::Traffic).
pub(crate) type FailureIx = usize;

/// A failed request.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// Index of its request in the order of the schedule.
    pub(crate) request: usize,
    pub(crate) kind: Kind,
    /// The moment at which it met its fate: the connection attempt for one that was not accepted, the end for one
    /// that was cut.
    pub(crate) at: RunOffset,
    /// When it was dispatched.
    pub(crate) began: RunOffset,
    /// When it was over.
    pub(crate) ended: RunOffset,
    /// The response's head had come: it failed in its body.
    pub(crate) in_body: bool,
    /// The load held it open for as long as it went on: it had no end of its own.
    pub(crate) held: bool,
    /// The pod that it was on, where that is certain or nothing else is possible.
    pub(crate) pod: Option<PodIx>,
    /// How the pod is known.
    pub(crate) how: How,
    /// The pods that it can have been on, the likeliest first.
    pub(crate) suspects: Vec<PodIx>,
}

impl Failure {
    pub(crate) fn of(request: usize, r: &Request<'_>, kind: Kind) -> Option<Self> {
        let began = r.dispatched.unwrap_or(r.scheduled);
        let ended = r.ended?;
        let at = match kind {
            Kind::Refused | Kind::Vanished | Kind::Local | Kind::Deadline | Kind::NoBackend => {
                began
            }
            _ => ended,
        };
        Some(Self {
            request,
            kind,
            at,
            began,
            ended,
            in_body: r.outcome.is_truncated(),
            held: r.lane.is_long_lived(),
            pod: None,
            how: How::Unknown,
            suspects: Vec::new(),
        })
    }

    /// How old the request was when it ended, ns.
    pub(crate) fn age(&self) -> i64 {
        self.ended.nanos_since(self.began)
    }
}
