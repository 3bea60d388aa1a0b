//! Time on one run's clock.
//!
//! [`RunClock`] captures wall clock and monotonic clock together, once, at the start of a run. Everything that is
//! recorded afterwards carries a [`RunOffset`]: nanoseconds since that start, on the monotonic clock. A time that was
//! written by somebody else is never a point on this clock but an [`Interval`].

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A moment on the run's clock, in nanoseconds since the start of the run. Negative before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct RunOffset(pub i64);

impl RunOffset {
    /// The start of the run.
    pub const ZERO: Self = Self(0);

    /// The offset of `ms` milliseconds.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Nanoseconds since the start of the run.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Milliseconds since the start of the run, with the fraction; for display and reports.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// `self` moved by `nanos` (which may be negative), saturating.
    pub const fn plus_nanos(self, nanos: i64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// `self` moved later by `d`, saturating.
    pub fn plus(self, d: Duration) -> Self {
        self.plus_nanos(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
    }

    /// `self` moved earlier by `d`, saturating.
    pub fn minus(self, d: Duration) -> Self {
        self.plus_nanos(-i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
    }

    /// Nanoseconds from `earlier` to `self`; negative when `earlier` is the later one.
    pub const fn nanos_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A time known only to lie between two moments, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Interval {
    /// The earliest moment it can have been.
    pub lo: RunOffset,
    /// The latest moment it can have been.
    pub hi: RunOffset,
}

impl Interval {
    /// The interval between `lo` and `hi`; the two are put in order.
    pub fn new(lo: RunOffset, hi: RunOffset) -> Self {
        Self {
            lo: lo.min(hi),
            hi: lo.max(hi),
        }
    }

    /// A moment that was seen on the run's own clock.
    pub const fn at(t: RunOffset) -> Self {
        Self { lo: t, hi: t }
    }

    /// The middle of the interval.
    pub const fn mid(self) -> RunOffset {
        RunOffset(self.lo.0 + (self.hi.0 - self.lo.0) / 2)
    }

    /// Whether `t` can be the moment meant.
    pub fn contains(self, t: RunOffset) -> bool {
        self.lo <= t && t <= self.hi
    }

    /// What both intervals allow; `None` when they contradict each other.
    pub fn intersect(self, other: Self) -> Option<Self> {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        (lo <= hi).then_some(Self { lo, hi })
    }

    /// The interval moved by `nanos`.
    pub const fn plus_nanos(self, nanos: i64) -> Self {
        Self {
            lo: self.lo.plus_nanos(nanos),
            hi: self.hi.plus_nanos(nanos),
        }
    }
}

/// Wall clock and monotonic clock, captured together at the start of a run. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    start: Instant,
    wall_start_unix_nanos: i64,
}

impl RunClock {
    /// Starts a run's clock now.
    pub fn start() -> Self {
        let (start, wall) = (Instant::now(), SystemTime::now());
        let since_epoch = wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            start,
            wall_start_unix_nanos: i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX),
        }
    }

    /// Now, on the run's clock.
    pub fn now(&self) -> RunOffset {
        self.at(Instant::now())
    }

    /// The run's time of a monotonic instant, also of one before the start.
    pub fn at(&self, t: Instant) -> RunOffset {
        match t.checked_duration_since(self.start) {
            Some(after) => RunOffset::ZERO.plus(after),
            None => RunOffset::ZERO.minus(self.start.duration_since(t)),
        }
    }

    /// The monotonic instant of a moment of the run. Moments before the start give the start.
    pub fn instant(&self, t: RunOffset) -> Instant {
        self.start + Duration::from_nanos(u64::try_from(t.0).unwrap_or(0))
    }

    /// The wall clock at the start of the run, in nanoseconds since the Unix epoch.
    pub const fn wall_start_unix_nanos(&self) -> i64 {
        self.wall_start_unix_nanos
    }
}
