//! Waiting longer after each failure in a row, with jitter.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// The delays between attempts: doubling from `first` to `longest`, each drawn between a half and the whole of it.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) const fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            next: first,
        }
    }

    /// After a success.
    pub(crate) const fn reset(&mut self) {
        self.next = self.first;
    }

    /// How long to wait before the next attempt. A wait that the server asked for comes first (30 s at most).
    pub(crate) fn delay(&mut self, asked: Option<Duration>) -> Duration {
        let whole = self.next;
        self.next = (self.next * 2).min(self.longest);
        let jittered = whole / 2 + whole.mul_f64(fraction()) / 2;
        match asked {
            Some(asked) => asked.min(Duration::from_secs(30)).max(jittered),
            None => jittered,
        }
    }
}

/// A number drawn evenly from `[0, 1)`; for jitter, not for secrets.
pub(crate) fn fraction() -> f64 {
    let drawn = RandomState::new().build_hasher().finish();
    (drawn >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_the_longest_and_start_again_after_a_success() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(400));
        let bounds = [(50, 100), (100, 200), (200, 400), (200, 400)];
        for (lo, hi) in bounds {
            let delay = backoff.delay(None).as_millis();
            assert!((lo..=hi).contains(&delay), "{delay} not in {lo}..={hi}");
        }
        backoff.reset();
        assert!(backoff.delay(None) <= Duration::from_millis(100));
    }

    #[test]
    fn wait_asked_for_by_the_server_is_kept_but_bounded() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(400));
        let asked = Some(Duration::from_secs(2));
        assert_eq!(backoff.delay(asked), Duration::from_secs(2));
        let asked = Some(Duration::from_secs(3600));
        assert_eq!(backoff.delay(asked), Duration::from_secs(30));
    }
}
