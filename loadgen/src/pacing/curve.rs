//! A rate that changes during the load, in straight pieces.

use std::time::Duration;

use rollscope_scenarios::Rate;

use super::pacer::MAX_PER_SECOND;

/// How many slots have come after some time, and the reverse: the integral of the rate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RateCurve {
    pieces: Vec<Piece>,
}

/// A piece in which the rate goes in a straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    /// When it begins, seconds after the start.
    begins: f64,
    /// When it ends; infinite for the last one.
    ends: f64,
    /// Slots that came before it; need not be whole.
    before: f64,
    /// Slots per second at its beginning.
    rate: f64,
    /// By how much that grows each second.
    slope: f64,
}

impl Piece {
    /// Slots that have come at its end.
    fn after(&self) -> f64 {
        let lasts = self.ends - self.begins;
        self.before + lasts * (self.rate + self.slope * lasts / 2.0)
    }

    /// When `count` slots have come, seconds after the start.
    fn when(&self, count: f64) -> f64 {
        let more = count - self.before;
        // The larger root of the quadratic, in the form that loses no digits.
        let discriminant = (self.rate * self.rate + 2.0 * self.slope * more).max(0.0);
        let lasts = 2.0 * more / (self.rate + discriminant.sqrt());
        (self.begins + lasts).min(self.ends)
    }
}

impl RateCurve {
    /// The curve of `rate`. `None` when a rate in it is not a number, not above zero or above a million per second.
    pub(crate) fn new(rate: &Rate) -> Option<Self> {
        let mut pieces = Self { pieces: Vec::new() };
        match rate {
            Rate::Constant(rate) => pieces.add(*rate, *rate, f64::INFINITY)?,
            Rate::Steps(steps) => {
                for step in steps {
                    let lasts = step.lasts.map_or(f64::INFINITY, |d| d.as_secs_f64());
                    pieces.add(step.per_second, step.per_second, lasts)?;
                }
            }
            Rate::Ramp { from, to, over } => {
                pieces.add(*from, *to, over.as_secs_f64())?;
                pieces.add(*to, *to, f64::INFINITY)?;
            }
        }
        let last = pieces.pieces.last_mut()?;
        (last.ends, last.slope) = (f64::INFINITY, 0.0);
        Some(pieces)
    }

    fn add(&mut self, from: f64, to: f64, lasts: f64) -> Option<()> {
        let possible = |rate: f64| rate.is_finite() && rate > 0.0 && rate <= MAX_PER_SECOND;
        if !possible(from) || !possible(to) || lasts <= 0.0 {
            return None;
        }
        let previous = self.pieces.last();
        let (begins, before) = previous.map_or((0.0, 0.0), |p| (p.ends, p.after()));
        self.pieces.push(Piece {
            begins,
            ends: begins + lasts,
            before,
            rate: from,
            slope: if lasts.is_finite() {
                (to - from) / lasts
            } else {
                0.0
            },
        });
        Some(())
    }

    /// When `count` slots (which need not be whole) have come, after the start.
    pub(crate) fn when(&self, count: f64) -> Duration {
        let place = self.pieces.partition_point(|p| p.before <= count);
        let piece = &self.pieces[place.saturating_sub(1)];
        Duration::from_nanos((piece.when(count) * 1e9) as u64)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use proptest::prelude::*;
    use rollscope_scenarios::RateStep;

    use super::*;

    fn ramp(from: f64, to: f64, over: u64) -> RateCurve {
        let over = Duration::from_secs(over);
        RateCurve::new(&Rate::Ramp { from, to, over }).unwrap()
    }

    fn steps(steps: &[(f64, u64)]) -> Rate {
        let step = |(per_second, lasts): &(f64, u64)| RateStep {
            per_second: *per_second,
            lasts: (*lasts > 0).then(|| Duration::from_secs(*lasts)),
        };
        Rate::Steps(steps.iter().map(step).collect())
    }

    #[test]
    fn steps_follow_one_another_at_their_times() {
        let curve = RateCurve::new(&steps(&[(10.0, 2), (100.0, 1), (20.0, 0)])).unwrap();
        for (count, nanos) in [
            (0.0, 0),
            (10.0, 1_000_000_000),
            (20.0, 2_000_000_000),
            (30.0, 2_100_000_000),
            (120.0, 3_000_000_000),
            (140.0, 4_000_000_000),
        ] {
            assert_eq!(curve.when(count), Duration::from_nanos(nanos), "{count}");
        }
    }

    #[test]
    fn a_ramp_has_sent_the_area_below_it() {
        // From 100/s to 300/s over 10 s are 2000 slots, half of the time 750 of them.
        let up = ramp(100.0, 300.0, 10);
        assert_eq!(up.when(750.0), Duration::from_secs(5));
        assert_eq!(up.when(2000.0), Duration::from_secs(10));
        assert_eq!(up.when(2300.0), Duration::from_secs(11));
        let down = ramp(300.0, 100.0, 10);
        assert_eq!(down.when(1250.0), Duration::from_secs(5));
        assert_eq!(down.when(2100.0), Duration::from_secs(11));
    }

    #[test]
    fn impossible_rates_are_refused() {
        for rate in [
            Rate::Constant(0.0),
            Rate::Constant(f64::NAN),
            steps(&[(10.0, 1), (0.0, 0)]),
            steps(&[]),
            Rate::Ramp {
                from: 1.0,
                to: 1e7,
                over: Duration::from_secs(1),
            },
            Rate::Ramp {
                from: 1.0,
                to: 2.0,
                over: Duration::ZERO,
            },
        ] {
            assert_eq!(RateCurve::new(&rate), None, "{rate:?}");
        }
    }

    proptest! {
        #[test]
        fn due_times_never_go_back(
            from in 0.01f64..1e6, to in 0.01f64..1e6, over in 1u64..100_000, slot in 0u64..10_000_000_000,
        ) {
            let curve = ramp(from, to, over);
            let next = curve.when((slot + 1) as f64);
            prop_assert!(curve.when(slot as f64) <= next);
            let gap = next - curve.when(slot as f64);
            prop_assert!(gap.as_secs_f64() <= 1.0 / from.min(to) + 1e-6);
        }
    }
}
