//! Other clocks against the run's.
//!
//! An offset is `that clock - ours`. A causal pair `(before, reading, after)` with resolution `res` bounds it to
//! `[reading - after, reading + res - before]`; many pairs are intersected. Without pairs, what was received bounds
//! it: nothing is received before it is written, and the fastest of many deliveries takes less than
//! half a second.

mod received;

use std::collections::BTreeMap;

use rollscope_records::{Interval, Recording, RunOffset};

use crate::analysis::ClockReport;
use crate::kube_time::{self, WrittenTime};
use crate::ordered::Ordered;
use crate::tame::tame_offset;

/// The clock of the API server and the controllers.
pub(crate) const API_SERVER: &str = "api-server";

/// Bounds of an offset, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Offset {
    lo: i64,
    hi: i64,
    samples: u64,
}

impl Offset {
    const UNKNOWN: Self = Self {
        lo: i64::MIN / 4,
        hi: i64::MAX / 4,
        samples: 0,
    };

    /// Narrows by one more bound; a bound that contradicts the others (a clock that was stepped) widens instead.
    fn narrow(&mut self, lo: i64, hi: i64) {
        let (new_lo, new_hi) = (self.lo.max(lo), self.hi.min(hi));
        if new_lo <= new_hi {
            (self.lo, self.hi) = (new_lo, new_hi);
        } else {
            (self.lo, self.hi) = (self.lo.min(lo), self.hi.max(hi));
        }
        self.samples += 1;
    }
}

/// Every clock of a recording.
pub(crate) struct Clocks {
    wall_start: i64,
    offsets: BTreeMap<String, Offset>,
}

impl Clocks {
    pub(crate) fn of(recording: &Recording, ordered: &Ordered<'_>) -> Self {
        let mut clocks = Self {
            wall_start: recording.run.wall_start_unix_nanos,
            offsets: sampled(recording),
        };
        let seen = received::received(clocks.wall_start, ordered);
        for (clock, offset) in seen {
            clocks.offsets.entry(clock).or_insert(offset);
        }
        clocks
    }

    /// The run's time of what `clock` wrote.
    pub(crate) fn to_run(&self, clock: &str, written: WrittenTime) -> Interval {
        let offset = self.offset(clock);
        self.with_offset(written, offset.lo, offset.hi)
    }

    /// The run's time of what a program on the run's own host wrote.
    pub(crate) fn of_own_host(&self, written: WrittenTime) -> Interval {
        self.with_offset(written, 0, 0)
    }

    fn with_offset(&self, written: WrittenTime, least: i64, most: i64) -> Interval {
        let at = written.unix_nanos.saturating_sub(self.wall_start);
        let lo = at.saturating_sub(most);
        let hi = at.saturating_add(written.resolution).saturating_sub(least);
        Interval::new(tame_offset(RunOffset(lo)), tame_offset(RunOffset(hi)))
    }

    /// The run's time of what `clock` wrote, if it is as far ahead of ours as it can be.
    pub(crate) fn at_earliest(&self, clock: &str, written: WrittenTime) -> Interval {
        let offset = self.offset(clock);
        self.with_offset(written, offset.hi, offset.hi)
    }

    /// The run's time of what `clock` wrote, if it is as far behind ours as it can be.
    pub(crate) fn at_latest(&self, clock: &str, written: WrittenTime) -> Interval {
        let offset = self.offset(clock);
        self.with_offset(written, offset.lo, offset.lo)
    }

    /// The run's time of an RFC 3339 text of `clock`.
    pub(crate) fn read(&self, clock: &str, text: &str) -> Option<Interval> {
        kube_time::parse(text).map(|t| self.to_run(clock, t))
    }

    /// The run's time of an RFC 3339 text that was written on the machine of the run itself.
    pub(crate) fn read_own(&self, text: &str) -> Option<Interval> {
        kube_time::parse(text).map(|t| self.with_offset(t, 0, 0))
    }

    /// A node's clock; where nothing is known of it, the API server's stands for it (nodes keep time by NTP).
    fn offset(&self, clock: &str) -> Offset {
        self.offsets
            .get(clock)
            .or_else(|| self.offsets.get(API_SERVER))
            .copied()
            .unwrap_or(Offset {
                lo: 0,
                hi: 0,
                samples: 0,
            })
    }

    /// Whether anything bounds its offset.
    pub(crate) fn bounded(&self, clock: &str) -> bool {
        self.offsets.contains_key(clock)
    }

    pub(crate) fn reports(&self) -> Vec<ClockReport> {
        let ms = |nanos: i64| (nanos as f64 / 1e3).round() / 1e3;
        self.offsets
            .iter()
            .map(|(clock, o)| ClockReport {
                clock: clock.clone(),
                offset_ms: (ms(o.lo), ms(o.hi)),
                samples: o.samples,
            })
            .collect()
    }
}

/// The name of a node's clock.
pub(crate) fn node_clock(node: Option<&str>) -> String {
    node.map_or_else(|| "node".to_owned(), |n| format!("node/{n}"))
}

fn sampled(recording: &Recording) -> BTreeMap<String, Offset> {
    let mut samples: Vec<_> = recording.clocks.iter().collect();
    samples.sort_by_key(|s| (s.before, s.after, s.reading_unix_nanos, s.resolution_nanos));
    let mut offsets = BTreeMap::new();
    for s in samples {
        let (lo, hi) = s.ahead_nanos(recording.run.wall_start_unix_nanos);
        if lo <= hi {
            offsets
                .entry(s.clock.clone())
                .or_insert(Offset::UNKNOWN)
                .narrow(lo, hi);
        }
    }
    offsets
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use rollscope_records::ClockSample;

    use super::*;
    use crate::testing;

    const SECOND: i64 = 1_000_000_000;

    fn sample(wall: i64, before_ms: i64, after_ms: i64, true_offset_ms: i64) -> ClockSample {
        let reading =
            (wall + before_ms * 1_000_000 + true_offset_ms * 1_000_000).div_euclid(SECOND) * SECOND;
        ClockSample {
            clock: API_SERVER.to_owned(),
            before: RunOffset::from_millis(before_ms),
            after: RunOffset::from_millis(after_ms),
            reading_unix_nanos: reading,
            resolution_nanos: SECOND,
        }
    }

    #[test]
    fn causal_pairs_narrow_an_offset_to_the_round_trip() {
        let mut recording = testing::Scene::new().recording;
        let wall = recording.run.wall_start_unix_nanos;
        for i in 0..100 {
            recording
                .clocks
                .push(sample(wall, i * 137, i * 137 + 2, 30_000));
        }
        let clocks = Clocks::of(&recording, &Ordered::of(&recording));
        let o = clocks.reports()[0].offset_ms;
        assert!(o.0 <= 30_000.0 && 30_000.0 <= o.1, "{o:?}");
        assert!(o.1 - o.0 < 60.0, "{o:?}");
    }

    #[test]
    fn a_time_of_a_shifted_clock_lies_in_its_interval() {
        let mut recording = testing::Scene::new().recording;
        let wall = recording.run.wall_start_unix_nanos;
        for i in 0..50 {
            recording
                .clocks
                .push(sample(wall, i * 137, i * 137 + 2, -12_000));
        }
        let clocks = Clocks::of(&recording, &Ordered::of(&recording));
        let written = WrittenTime {
            unix_nanos: wall + 5 * SECOND - 12 * SECOND,
            resolution: SECOND,
        };
        let at = clocks.to_run(API_SERVER, written);
        assert!(at.contains(RunOffset::from_millis(5_000)), "{at:?}");
        assert!(at.hi.0 - at.lo.0 < 2 * SECOND);
    }

    #[test]
    fn without_samples_receive_times_bound_the_offset() {
        let mut scene = testing::Scene::new();
        scene
            .pod("a", "h1")
            .started(5_000)
            .ready(5_500)
            .add(&mut scene);
        let recording = scene.recorded();
        let clocks = Clocks::of(&recording, &Ordered::of(&recording));
        let o = clocks
            .reports()
            .into_iter()
            .find(|c| c.clock == API_SERVER)
            .unwrap();
        assert!(o.offset_ms.0 <= 0.0 && 0.0 <= o.offset_ms.1, "{o:?}");
    }
}
