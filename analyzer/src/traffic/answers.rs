//! When requests that did not fail were sent, of those that got a route of their own.

use rollscope_records::RunOffset;

use super::moments::Moments;

/// Moments of requests on new connections (of all, where each is routed by itself) that did not fail: when they were
/// dispatched, or due where they never were.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// By whether there is a status, and whether it was dispatched; each in order.
    times: [[Vec<RunOffset>; 2]; 2],
}

/// Answers as they are gathered.
#[derive(Debug, Default)]
pub(super) struct Gathered([[Moments; 2]; 2]);

impl Gathered {
    #[inline]
    pub(super) fn take(&mut self, at: RunOffset, status: bool, dispatched: bool) {
        self.0[usize::from(status)][usize::from(dispatched)].push(at);
    }

    pub(super) fn append(&mut self, later: Self) {
        let mine = self.0.iter_mut().flatten();
        for (mine, later) in mine.zip(later.0.into_iter().flatten()) {
            mine.append(later);
        }
    }

    pub(super) fn in_order(self) -> Answers {
        Answers {
            times: self.0.map(|of_status| of_status.map(Moments::in_order)),
        }
    }
}

impl Answers {
    /// The last that was dispatched at or before `t`.
    pub(super) fn last(&self, t: RunOffset) -> Option<RunOffset> {
        let dispatched = self.times.iter().map(|of_status| &of_status[1]);
        let last = dispatched.filter_map(|times| {
            let i = times.partition_point(|a| *a <= t).checked_sub(1)?;
            Some(times[i])
        });
        last.max()
    }

    /// How many with a status lie after `from` and before `to`.
    pub(super) fn between(&self, from: RunOffset, to: Option<RunOffset>) -> usize {
        let counts = self.times[1].iter().map(|times| {
            let lo = times.partition_point(|t| *t <= from);
            let hi = to.map_or(times.len(), |to| times.partition_point(|t| *t < to));
            hi.saturating_sub(lo)
        });
        counts.sum()
    }

    /// Whether one lies within `[from, to]`.
    pub(super) fn any_within(&self, from: RunOffset, to: RunOffset) -> bool {
        self.times.iter().flatten().any(|times| {
            let next = times.partition_point(|t| *t < from);
            times.get(next).is_some_and(|t| *t <= to)
        })
    }
}
