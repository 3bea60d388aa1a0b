//! The arithmetic of the grace period.

use tokio::time::{Duration, Instant};

/// What a container gets between the stop signal and SIGKILL at the least, in seconds.
const MINIMUM: i64 = 2;

/// The grace period of one container's end. A kubelet counts it in whole seconds: each step (preStop, waiting for its
/// turn) costs its duration rounded down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grace {
    seconds: i64,
    since: Instant,
    minimum: i64,
}

impl Grace {
    pub(super) const fn new(seconds: i64, now: Instant) -> Self {
        Self {
            seconds,
            since: now,
            minimum: 0,
        }
    }

    /// Whether there is any left.
    pub(super) const fn is_left(&self) -> bool {
        self.seconds > 0
    }

    /// When it is used up.
    pub(super) fn deadline(&self) -> Instant {
        self.since + Duration::from_secs(u64::try_from(self.seconds).unwrap_or(0))
    }

    /// Ends a step: takes off the whole seconds since the step before.
    pub(super) fn spend(&mut self, now: Instant) {
        let spent = now.saturating_duration_since(self.since).as_secs();
        self.seconds = self.seconds.saturating_sub_unsigned(spent);
        self.since = now;
    }

    /// A later deletion asks for less. One that asks for more changes nothing.
    pub(super) fn shorten(&mut self, seconds: i64, now: Instant) {
        let shorter = Self {
            seconds: seconds.max(self.minimum),
            since: now,
            ..*self
        };
        if shorter.deadline() < self.deadline() {
            *self = shorter;
        }
    }

    /// What the runtime is given between stop signal and SIGKILL: at least 2 s, however much the steps before used.
    pub(super) fn for_signal(self) -> Self {
        Self {
            seconds: self.seconds.max(MINIMUM),
            since: self.since,
            minimum: MINIMUM,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(start: Instant, millis: u64) -> Instant {
        start + Duration::from_millis(millis)
    }

    #[test]
    fn pre_stop_time_is_taken_off_in_whole_seconds() {
        let start = Instant::now();
        let mut grace = Grace::new(10, start);
        grace.spend(after(start, 5_900));
        assert_eq!(grace.for_signal().deadline(), after(start, 5_900 + 5_000));
    }

    #[test]
    fn steps_are_rounded_down_one_by_one() {
        let start = Instant::now();
        let mut grace = Grace::new(10, start);
        grace.spend(after(start, 1_900));
        grace.spend(after(start, 3_800));
        assert_eq!(grace.for_signal().deadline(), after(start, 3_800 + 8_000));
    }

    #[test]
    fn a_used_up_grace_leaves_two_seconds() {
        let start = Instant::now();
        let mut grace = Grace::new(10, start);
        grace.spend(after(start, 10_000));
        assert!(!grace.is_left());
        assert_eq!(grace.for_signal().deadline(), after(start, 12_000));
    }

    #[test]
    fn a_grace_of_zero_leaves_two_seconds_too() {
        let start = Instant::now();
        assert_eq!(
            Grace::new(0, start).for_signal().deadline(),
            after(start, 2_000)
        );
    }

    #[test]
    fn a_second_deletion_only_shortens() {
        let start = Instant::now();
        let mut grace = Grace::new(10, start);
        grace.shorten(30, after(start, 1_000));
        assert_eq!(grace.deadline(), after(start, 10_000));
        grace.shorten(3, after(start, 1_000));
        assert_eq!(grace.deadline(), after(start, 4_000));
    }

    #[test]
    fn a_second_deletion_after_the_signal_leaves_two_seconds() {
        let start = Instant::now();
        let mut grace = Grace::new(10, start).for_signal();
        grace.shorten(0, after(start, 1_000));
        assert_eq!(grace.deadline(), after(start, 3_000));
    }
}
