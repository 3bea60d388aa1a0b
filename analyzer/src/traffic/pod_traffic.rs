//! What one pod was asked and answered.

use rollscope_records::{Fate, RunOffset};

use super::moments::Moments;

/// One pod's requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct PodTraffic {
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

/// One pod's requests as they are gathered.
#[derive(Debug, Clone, Default)]
pub(super) struct Passing {
    requests: u64,
    answered_new: Moments,
    answered_reused: Moments,
    unasked_close: Vec<RunOffset>,
    served: u64,
    last_answer: Option<RunOffset>,
}

impl Passing {
    /// Takes a request that is known to have been on this pod; `times`: when it began and ended, where it has a status;
    /// `routed`: on a new connection, or by itself.
    #[inline]
    pub(super) fn take(&mut self, times: Option<(RunOffset, RunOffset)>, fate: Fate, routed: bool) {
        self.requests += 1;
        let Some((began, ended)) = times.filter(|_| !fate.outcome().is_truncated()) else {
            return;
        };
        if routed {
            self.answered_new.push(began);
        } else {
            self.answered_reused.push(began);
        }
        if fate.close_received() && !fate.close_requested() {
            self.unasked_close.push(ended);
        }
        if !fate.outcome().is_failure() {
            self.served += 1;
        }
        // The answer itself can have been kept on the way after the pod had ended.
        self.last_answer = self.last_answer.max(Some(began));
    }

    pub(super) fn append(&mut self, later: Self) {
        self.requests += later.requests;
        self.answered_new.append(later.answered_new);
        self.answered_reused.append(later.answered_reused);
        self.unasked_close.extend(later.unasked_close);
        self.served += later.served;
        self.last_answer = self.last_answer.max(later.last_answer);
    }

    /// All of it; `None` where there was no request.
    pub(super) fn over(mut self, routed_singly: bool) -> Option<PodTraffic> {
        // A balancer's `Connection: close` is its own: the header goes no further than one hop.
        if routed_singly {
            self.unasked_close.clear();
        }
        self.unasked_close.sort_unstable();
        (self.requests > 0).then(|| PodTraffic {
            failures: Vec::new(),
            answered_new: self.answered_new.in_order(),
            answered_reused: self.answered_reused.in_order(),
            unasked_close: self.unasked_close,
            served: self.served,
            last_answer: self.last_answer,
        })
    }
}

fn between(times: &[RunOffset], from: RunOffset, to: RunOffset) -> usize {
    let lo = times.partition_point(|t| *t < from);
    let hi = times.partition_point(|t| *t <= to);
    hi.saturating_sub(lo)
}
