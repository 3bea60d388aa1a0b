//! What a front end counts: a witness of the traffic that is independent of the load generator.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// The counts of one front end since its start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct FrontEndCounters {
    /// Client connections: accepted (`http`), or asked for and given an endpoint (`l4`).
    pub connections: u64,
    /// Requests received (`http`).
    pub requests: u64,
    /// Responses by status, as the client saw it begin; 499 is a client that left before any (`http`).
    pub by_status: BTreeMap<u16, u64>,
    /// Counts by pod name; an endpoint without a pod goes by its address.
    pub by_pod: BTreeMap<String, PodCounters>,
    /// Connections (`l4`) or requests (`http`) that found no endpoint.
    pub no_endpoint: u64,
}

/// The counts of one pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PodCounters {
    /// Connections opened to it (`http`) or sent to it (`l4`).
    pub connections: u64,
    /// Requests sent to it.
    pub requests: u64,
    /// Requests for which it refused the connection.
    pub refused: u64,
    /// Requests whose connection ended before the response was complete, before or after its head.
    pub cut: u64,
    /// Those of `cut` that ended after the head: the client got a truncated response.
    pub truncated: u64,
    /// Requests that it did not answer in time.
    pub timed_out: u64,
}

/// The counters as the front end's tasks share them.
#[derive(Debug, Default)]
pub(super) struct Counters(Mutex<FrontEndCounters>);

impl Counters {
    fn lock(&self) -> MutexGuard<'_, FrontEndCounters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts of now.
    pub(super) fn snapshot(&self) -> FrontEndCounters {
        self.lock().clone()
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut FrontEndCounters)) {
        count(&mut self.lock());
    }

    pub(super) fn status(&self, status: u16) {
        *self.lock().by_status.entry(status).or_default() += 1;
    }

    pub(super) fn pod(&self, pod: &str, count: impl FnOnce(&mut PodCounters)) {
        let mut counters = self.lock();
        if let Some(counts) = counters.by_pod.get_mut(pod) {
            count(counts);
        } else {
            count(counters.by_pod.entry(pod.to_owned()).or_default());
        }
    }
}
