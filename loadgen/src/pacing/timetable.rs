//! Slots of the mix, and those of a request that comes at a rate of its own beside them, as one sequence.

use std::time::Duration;

use rollscope_scenarios::Load;

use super::ConstantRate;
use super::schedule::{DueTimes, Schedule};

/// Every slot of a load: numbered in the order in which they are due, those of the mix first where two are due at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Timetable {
    mix: Schedule,
    own: Option<ConstantRate>,
}

/// What a slot is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The mix: its so-and-so-manieth slot, from 0.
    Mix(u64),
    /// The request with a rate of its own.
    Own,
}

impl Timetable {
    /// The timetable of `load`. `None` when one of its rates is not a number, not above zero or above a million a second.
    pub fn new(load: &Load) -> Option<Self> {
        let own = match &load.own_rate {
            Some(own) => Some(ConstantRate::per_second(own.per_second)?),
            None => None,
        };
        Some(Self {
            mix: Schedule::new(load)?,
            own,
        })
    }

    /// How many slots are due within `elapsed` of the start, both ends included.
    pub fn due_by(&self, elapsed: Duration) -> u64 {
        let own = self.own.map_or(0, |rate| rate.due_by(elapsed));
        self.mix.due_by(elapsed) + own
    }
}

/// The due times of a timetable, for somebody who asks for slots that lie near one another.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    mix: DueTimes,
    own: Option<ConstantRate>,
    /// How many slots of either kind come before the slot whose number is their sum.
    before: Before,
}

#[derive(Debug, Clone, Copy, Default)]
struct Before {
    mix: u64,
    own: u64,
}

impl Times {
    /// The due times of `timetable`.
    pub(crate) fn new(timetable: Timetable) -> Self {
        Self {
            mix: DueTimes::new(timetable.mix),
            own: timetable.own,
            before: Before::default(),
        }
    }

    /// When slot `slot` (from 0) is due, after the start of the load.
    pub(crate) fn due(&mut self, slot: u64) -> Duration {
        self.at(slot).0
    }

    /// When it is due, and what it is for.
    pub(crate) fn at(&mut self, slot: u64) -> (Duration, Place) {
        let Some(own) = self.own else {
            return (self.mix.due(slot), Place::Mix(slot));
        };
        while self.before.mix + self.before.own > slot {
            self.back(own);
        }
        while self.before.mix + self.before.own < slot {
            match self.next(own).1 {
                Place::Mix(_) => self.before.mix += 1,
                Place::Own => self.before.own += 1,
            }
        }
        self.next(own)
    }

    /// The slot that comes after those before it.
    fn next(&mut self, own: ConstantRate) -> (Duration, Place) {
        let Before { mix, own: n } = self.before;
        let (of_mix, of_own) = (self.mix.due(mix), own.due(n));
        if of_own < of_mix {
            (of_own, Place::Own)
        } else {
            (of_mix, Place::Mix(mix))
        }
    }

    /// Takes the last one of those before it away.
    fn back(&mut self, own: ConstantRate) {
        let Before { mix, own: n } = self.before;
        let last_own = n.checked_sub(1).map(|n| own.due(n));
        let last_mix = mix.checked_sub(1).map(|m| self.mix.due(m));
        // `None` is before every time; of two at once the mix's came first.
        if last_own >= last_mix && last_own.is_some() {
            self.before.own -= 1;
        } else {
            self.before.mix = mix.saturating_sub(1);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use proptest::prelude::*;
    use rollscope_scenarios::{Arrivals, OwnRate, Rate};

    use super::*;

    fn timetable(rate: f64, own: f64, arrivals: Arrivals) -> Timetable {
        let mut load = Load::new(Rate::Constant(rate), Vec::new());
        load.arrivals = arrivals;
        load.own_rate = Some(OwnRate {
            request: "enqueue".to_owned(),
            per_second: own,
        });
        Timetable::new(&load).unwrap()
    }

    #[test]
    fn of_slots_that_are_due_at_once_the_mix_comes_first() {
        let mut times = Times::new(timetable(2.0, 1.0, Arrivals::Even));
        let first: Vec<_> = (0..6).map(|slot| times.at(slot)).collect();
        let at = Duration::from_millis;
        let expected = [
            (at(0), Place::Mix(0)),
            (at(0), Place::Own),
            (at(500), Place::Mix(1)),
            (at(1_000), Place::Mix(2)),
            (at(1_000), Place::Own),
            (at(1_500), Place::Mix(3)),
        ];
        assert_eq!(first, expected);
    }

    #[test]
    fn a_rate_that_cannot_be_is_refused() {
        let mut load = Load::new(Rate::Constant(1.0), Vec::new());
        load.own_rate = Some(OwnRate {
            request: "enqueue".to_owned(),
            per_second: 0.0,
        });
        assert_eq!(Timetable::new(&load), None);
    }

    proptest! {
        #[test]
        fn slots_are_those_of_both_in_the_order_in_which_they_are_due(
            rate in 0.5f64..500.0, own in 0.5f64..500.0, poisson: bool, asked in prop::collection::vec(0u64..3_000, 1..40),
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Even };
            let timetable = timetable(rate, own, arrivals);
            let mut in_order = Times::new(timetable.clone());
            let all: Vec<_> = (0..3_001).map(|slot| in_order.at(slot)).collect();
            prop_assert!(all.is_sorted_by_key(|slot| slot.0));
            let mix: Vec<u64> = all.iter().filter_map(|s| match s.1 { Place::Mix(n) => Some(n), Place::Own => None }).collect();
            prop_assert_eq!(&mix, &(0..mix.len() as u64).collect::<Vec<_>>());
            let last = all[2_999].0;
            let due = all.iter().filter(|s| s.0 <= last).count() as u64;
            prop_assert!(due <= 3_000 || all[3_000].0 == last);
            prop_assert!(timetable.due_by(last) >= 3_000);
            if let Some(before) = last.checked_sub(Duration::from_nanos(1)) {
                prop_assert!(timetable.due_by(before) < 3_000);
            }
            // In whatever order they are asked for.
            let mut other = Times::new(timetable);
            for slot in asked {
                prop_assert_eq!(other.at(slot), all[slot as usize]);
            }
        }
    }
}
