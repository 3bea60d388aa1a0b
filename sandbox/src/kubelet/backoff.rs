//! The back-off of crashing containers.

use tokio::time::{Duration, Instant};

const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(300);

/// 10 s before the second restart, doubling to 5 minutes; the first restart is at once. A run of 10 minutes resets it.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    delay: Duration,
}

impl Backoff {
    /// How long to wait from the end of a run before the next start.
    pub(super) fn after_run(&mut self, started: Instant, ended: Instant) -> Duration {
        if ended.saturating_duration_since(started) > 2 * LONGEST {
            self.delay = Duration::ZERO;
        }
        let wait = self.delay;
        self.delay = (self.delay * 2).clamp(FIRST, LONGEST);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_restart_is_at_once_and_later_ones_wait_longer_and_longer() {
        let mut backoff = Backoff::default();
        let now = Instant::now();
        let waits: Vec<u64> = (0..8)
            .map(|_| backoff.after_run(now, now).as_secs())
            .collect();
        assert_eq!(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
    }

    #[test]
    fn a_long_run_resets_it() {
        let mut backoff = Backoff::default();
        let now = Instant::now();
        backoff.after_run(now, now);
        let long = now + Duration::from_secs(601);
        assert_eq!(backoff.after_run(now, long), Duration::ZERO);
    }
}
