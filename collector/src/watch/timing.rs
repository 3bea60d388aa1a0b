//! How long a watch lasts.

use std::time::Duration;

use crate::backoff::fraction;

/// How long a watch lasts, and when a connection counts as half open. A half-open connection looks like a quiet one: what
/// tells them apart is that the server ends each watch in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchTiming {
    /// The server is asked to end each watch after this long, in whole seconds. Each time up to 40 % more are drawn on
    /// top, so that the kinds do not all reconnect at once.
    pub lasts: Duration,
    /// A watch that the server has not ended this long after it should have is given up.
    pub half_open_after: Duration,
}

impl Default for WatchTiming {
    fn default() -> Self {
        Self {
            lasts: Duration::from_secs(25),
            half_open_after: Duration::from_secs(5),
        }
    }
}

impl WatchTiming {
    /// The next watch's length, seconds.
    pub(super) fn draw(self) -> u32 {
        let seconds = self.lasts.as_secs_f64() * (1.0 + 0.4 * fraction());
        (seconds as u32).max(1)
    }
}
