//! When each slot is due: a rate, and how slots lie between one another.

use std::time::Duration;

use rollscope_scenarios::{Arrivals, Load, Rate};

use super::ConstantRate;
use super::curve::RateCurve;
use super::poisson::{BLOCK, Poisson};

/// The schedule of a load, as a pure function of the slot's number.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    rate: ScheduledRate,
    poisson: Option<Poisson>,
}

#[derive(Debug, Clone, PartialEq)]
enum ScheduledRate {
    /// In whole numbers: exact however long the run is.
    Constant(ConstantRate),
    Curve(RateCurve),
}

impl Schedule {
    /// The schedule of `load`. `None` when one of its rates is not a number, not above zero or above a million a second.
    pub fn new(load: &Load) -> Option<Self> {
        let rate = match (&load.rate, load.arrivals) {
            (Rate::Constant(rate), Arrivals::Even) => {
                ScheduledRate::Constant(ConstantRate::per_second(*rate)?)
            }
            (rate, _) => ScheduledRate::Curve(RateCurve::new(rate)?),
        };
        let poisson = match load.arrivals {
            Arrivals::Even => None,
            Arrivals::Poisson => Some(Poisson::new(load.seed)),
        };
        Some(Self { rate, poisson })
    }

    /// How many slots are due within `elapsed` of the start, both ends included.
    pub fn due_by(&self, elapsed: Duration) -> u64 {
        let is_due = |slot: u64| self.due(slot) <= elapsed;
        let mut after = 1;
        while is_due(after - 1) && after < u64::MAX / 2 {
            after *= 2;
        }
        // Slot `after - 1` is not due; the first one that is not lies at or before it.
        let (mut from, mut to) = (after / 2, after - 1);
        while from < to {
            let middle = from + (to - from) / 2;
            if is_due(middle) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// When slot `slot` (from 0) is due, after the start of the load.
    pub fn due(&self, slot: u64) -> Duration {
        match self.poisson {
            Some(poisson) => self.when(poisson.block(slot / BLOCK)[(slot % BLOCK) as usize]),
            None => self.evenly(slot),
        }
    }

    fn evenly(&self, slot: u64) -> Duration {
        match &self.rate {
            ScheduledRate::Constant(rate) => rate.due(slot),
            ScheduledRate::Curve(curve) => curve.when(slot as f64),
        }
    }

    fn when(&self, count: f64) -> Duration {
        match &self.rate {
            ScheduledRate::Constant(rate) => rate.due(count as u64),
            ScheduledRate::Curve(curve) => curve.when(count),
        }
    }
}

/// The due times of a schedule, for somebody who asks for one slot after the other and looks a little ahead: each block
/// of a Poisson process is drawn once.
#[derive(Debug, Clone)]
pub(crate) struct DueTimes {
    schedule: Schedule,
    /// The last two blocks, by the parity of their numbers.
    blocks: [Block; 2],
}

/// A block of a Poisson process; without times while it is not drawn.
#[derive(Debug, Clone, Default)]
struct Block {
    number: u64,
    times: Vec<f64>,
}

impl DueTimes {
    /// The due times of `schedule`.
    pub(crate) fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            blocks: Default::default(),
        }
    }

    /// When slot `slot` is due, after the start of the load.
    pub(crate) fn due(&mut self, slot: u64) -> Duration {
        let Some(poisson) = self.schedule.poisson else {
            return self.schedule.evenly(slot);
        };
        let number = slot / BLOCK;
        let block = &mut self.blocks[(number % 2) as usize];
        if block.times.is_empty() || block.number != number {
            *block = Block {
                number,
                times: poisson.block(number),
            };
        }
        self.schedule.when(block.times[(slot % BLOCK) as usize])
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn schedule(rate: Rate, arrivals: Arrivals) -> Schedule {
        let mut load = Load::new(rate, Vec::new());
        load.arrivals = arrivals;
        Schedule::new(&load).unwrap()
    }

    #[test]
    fn slots_are_counted_up_to_the_one_that_is_due_no_more() {
        for arrivals in [Arrivals::Even, Arrivals::Poisson] {
            let schedule = schedule(Rate::Constant(200.0), arrivals);
            for ms in [0, 1, 5, 999, 3_000, 60_000] {
                let elapsed = Duration::from_millis(ms);
                let slots = schedule.due_by(elapsed);
                assert!(schedule.due(slots) > elapsed, "{ms} ms: {slots}");
                assert!(
                    slots == 0 || schedule.due(slots - 1) <= elapsed,
                    "{ms} ms: {slots}"
                );
            }
        }
        let even = schedule(Rate::Constant(200.0), Arrivals::Even);
        assert_eq!(even.due_by(Duration::from_secs(3)), 601);
    }

    #[test]
    fn due_times_asked_one_by_one_are_those_of_the_schedule() {
        let ramp = Rate::Ramp {
            from: 50.0,
            to: 5_000.0,
            over: Duration::from_secs(3),
        };
        for arrivals in [Arrivals::Even, Arrivals::Poisson] {
            for rate in [Rate::Constant(700.0), ramp.clone()] {
                let schedule = schedule(rate, arrivals);
                let mut one_by_one = DueTimes::new(schedule.clone());
                let mut before = Duration::ZERO;
                for slot in (0..9_000).step_by(7) {
                    let due = one_by_one.due(slot);
                    assert_eq!(due, schedule.due(slot));
                    assert!(due >= before);
                    before = due;
                }
            }
        }
    }

    #[test]
    fn a_poisson_load_is_the_same_for_the_same_seed_and_keeps_its_rate() {
        let mut load = Load::new(Rate::Constant(1_000.0), Vec::new());
        load.arrivals = Arrivals::Poisson;
        let one = Schedule::new(&load).unwrap();
        assert_eq!(one, Schedule::new(&load.clone()).unwrap());
        let minute = one.due(60_000).as_secs_f64();
        assert!((minute - 60.0).abs() < 1.5, "{minute}");
        load.seed = 2;
        assert_ne!(Schedule::new(&load).unwrap().due(60_000), one.due(60_000));
    }
}
