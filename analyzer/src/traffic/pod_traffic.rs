//! What one pod was asked and answered.

use rollscope_records::{Request, RunOffset};

/// One pod's requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct PodTraffic {
    /// Indices of the requests that are known to have been on it, in the order of the schedule.
    pub(crate) requests: Vec<u32>,
    /// Indices of the failures that are known to have been on it.
    pub(crate) failures: Vec<usize>,
    /// Dispatch times of answered requests that opened their connection (or were routed one by one), in order.
    pub(crate) answered_new: Vec<RunOffset>,
    /// Dispatch times of answered requests on established connections, in order.
    pub(crate) answered_reused: Vec<RunOffset>,
    /// Ends of responses that said `Connection: close` unasked.
    pub(crate) unasked_close: Vec<RunOffset>,
    /// Requests that it answered with success.
    pub(crate) served: u64,
    /// When the last request was sent that it answered: it lived then.
    pub(crate) last_answer: Option<RunOffset>,
}

impl PodTraffic {
    /// Takes a request that is known to have been on this pod.
    pub(crate) fn take(&mut self, ix: usize, r: &Request<'_>, routed_singly: bool) {
        self.requests.push(ix as u32);
        let answered = r.status.is_some() && !r.outcome.is_truncated();
        let (Some(began), Some(ended), true) = (r.dispatched, r.ended, answered) else {
            return;
        };
        if r.reused && !routed_singly {
            self.answered_reused.push(began);
        } else {
            self.answered_new.push(began);
        }
        // A balancer's `Connection: close` is its own: the header goes no further than one hop.
        if !routed_singly && r.close_received && !r.close_requested {
            self.unasked_close.push(ended);
        }
        if !r.outcome.is_failure() {
            self.served += 1;
        }
        // The answer itself can have been kept on the way after the pod had ended.
        self.last_answer = self.last_answer.max(Some(began));
    }

    pub(crate) fn close(&mut self) {
        self.answered_new.sort_unstable();
        self.answered_reused.sort_unstable();
        self.unasked_close.sort_unstable();
    }

    /// The first new connection that it answered at or after `t`.
    pub(crate) fn new_after(&self, t: RunOffset) -> Option<RunOffset> {
        let i = self.answered_new.partition_point(|a| *a < t);
        self.answered_new.get(i).copied()
    }

    /// The dispatch of the last request that it answered, of those dispatched within `[from, to]`.
    pub(crate) fn answered_within(&self, from: RunOffset, to: RunOffset) -> Option<RunOffset> {
        [&self.answered_new, &self.answered_reused]
            .into_iter()
            .filter_map(|times| {
                let i = times.partition_point(|t| *t <= to).checked_sub(1)?;
                Some(times[i]).filter(|t| *t >= from)
            })
            .max()
    }

    /// How many new connections it answered within `[from, to]`.
    pub(crate) fn new_between(&self, from: RunOffset, to: RunOffset) -> usize {
        between(&self.answered_new, from, to)
    }

    /// How many requests on established connections it answered within `[from, to]`.
    pub(crate) fn reused_between(&self, from: RunOffset, to: RunOffset) -> usize {
        between(&self.answered_reused, from, to)
    }
}

fn between(times: &[RunOffset], from: RunOffset, to: RunOffset) -> usize {
    let lo = times.partition_point(|t| *t < from);
    let hi = times.partition_point(|t| *t <= to);
    hi.saturating_sub(lo)
}
