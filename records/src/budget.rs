//! The budget of the grace period: one sum for what a run measured and for what a manifest says before any run.
//!
//! The grace counts from the request of deletion. The preStop hook spends it first, then the program's shutdown from the
//! signal to its exit; what is left must be a margin.

use std::time::Duration;

/// Above what a shutdown needs, seconds.
pub const GRACE_MARGIN: i64 = 5;

/// Above the longest propagation lag.
pub const LAG_MARGIN: Duration = Duration::from_millis(500);

/// What a program needs after its own deadline to cut what is left and to exit, seconds.
pub const EXIT_MARGIN: i64 = 2;

/// The grace where nothing says another (`terminationGracePeriodSeconds` defaults to it), seconds.
pub const DEFAULT_GRACE: i64 = 30;

const SECOND: i64 = 1_000_000_000;

/// What a termination spends of its grace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GraceBudget {
    /// The preStop hook, ns.
    pub pre_stop: i64,
    /// From the stop signal to the exit, ns.
    pub drain: i64,
}

impl GraceBudget {
    /// The sum with the margin, ns.
    pub const fn needed(self) -> i64 {
        self.pre_stop
            .saturating_add(self.drain)
            .saturating_add(GRACE_MARGIN * SECOND)
    }

    /// The least `terminationGracePeriodSeconds`.
    pub const fn needed_seconds(self) -> i64 {
        whole_seconds(self.needed())
    }

    /// Whether it fits in a grace of `seconds`.
    pub const fn fits(self, seconds: i64) -> bool {
        self.needed() <= seconds.saturating_mul(SECOND)
    }
}

/// The least preStop sleep for a propagation lag of `nanos`, seconds.
pub const fn pre_stop_for(nanos: i64) -> i64 {
    whole_seconds(with_lag_margin(nanos))
}

/// A propagation lag of `nanos` with its margin, ns.
pub const fn with_lag_margin(nanos: i64) -> i64 {
    nanos.saturating_add(LAG_MARGIN.as_nanos() as i64)
}

/// What a grace of `grace` seconds leaves the program after a preStop of `pre_stop` seconds, ns.
pub const fn left_for_drain(grace: i64, pre_stop: i64) -> i64 {
    let left = grace.saturating_sub(pre_stop);
    if left > 0 {
        left.saturating_mul(SECOND)
    } else {
        0
    }
}

/// The longest deadline that a program may give its own shutdown when `left` is left for it, ns.
pub const fn longest_own_deadline(left: i64) -> i64 {
    let deadline = left.saturating_sub(EXIT_MARGIN * SECOND);
    if deadline > 0 { deadline } else { 0 }
}

/// To the next whole second.
pub const fn whole_seconds(nanos: i64) -> i64 {
    nanos.saturating_add(SECOND - 1) / SECOND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_pre_stop_drain_and_margin() {
        let budget = GraceBudget {
            pre_stop: 5 * SECOND,
            drain: 19_600_000_000,
        };
        assert_eq!(budget.needed(), 29_600_000_000);
        assert_eq!(budget.needed_seconds(), 30);
        assert!(budget.fits(30));
        assert!(!budget.fits(29));
    }

    #[test]
    fn a_pre_stop_outlasts_the_lag_by_its_margin() {
        assert_eq!(pre_stop_for(1_110_000_000), 2);
        assert_eq!(pre_stop_for(1_500_000_000), 2);
        assert_eq!(pre_stop_for(1_500_000_001), 3);
    }

    #[test]
    fn a_grace_that_is_used_up_leaves_nothing() {
        assert_eq!(left_for_drain(10, 4), 6 * SECOND);
        assert_eq!(left_for_drain(10, 10), 0);
        assert_eq!(longest_own_deadline(6 * SECOND), 4 * SECOND);
        assert_eq!(longest_own_deadline(SECOND), 0);
    }
}
