//! The schedule, as a pure function of the slot's number.

use std::time::Duration;

/// The highest rate that the generator accepts, slots per second.
pub(super) const MAX_PER_SECOND: f64 = 1_000_000.0;

/// The second, the minute and the hour: the units in which people write whole rates.
const UNITS_SECONDS: [u64; 3] = [1, 60, 3600];

/// The unit for every other rate: millionths of a slot per second.
const FINE_UNIT_SECONDS: u64 = 1_000_000;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A constant rate on the absolute schedule: slot `i` is due `i / rate` after the start, whatever happened before.
///
/// The rate is kept as a fraction of integers (`slots` every `period_nanos`), so the schedule does not drift however
/// long the run is; each due time is rounded down to a nanosecond once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConstantRate {
    slots: u64,
    period_nanos: u64,
}

impl ConstantRate {
    /// The rate of `rate` slots per second. Rates that are whole per second, minute or hour (`100/m` is 1.666.../s) are
    /// exact, others are rounded to a millionth of a slot per second.
    ///
    /// `None` when the rate is not a number, not above zero (after that rounding), or above a million per second.
    pub fn per_second(rate: f64) -> Option<Self> {
        if !rate.is_finite() || rate <= 0.0 || rate > MAX_PER_SECOND {
            return None;
        }
        UNITS_SECONDS
            .into_iter()
            .find_map(|unit| Self::whole_per(rate, unit))
            .or_else(|| {
                let slots = (rate * FINE_UNIT_SECONDS as f64).round() as u64;
                Self::new(slots, FINE_UNIT_SECONDS)
            })
    }

    fn whole_per(rate: f64, unit_seconds: u64) -> Option<Self> {
        let slots = rate * unit_seconds as f64;
        let whole = slots.round();
        ((slots - whole).abs() <= slots * 1e-12)
            .then(|| Self::new(whole as u64, unit_seconds))
            .flatten()
    }

    fn new(slots: u64, seconds: u64) -> Option<Self> {
        (slots > 0).then_some(Self {
            slots,
            period_nanos: seconds * NANOS_PER_SECOND,
        })
    }

    /// When slot `slot` (from 0) is due, after the start of the load.
    pub fn due(&self, slot: u64) -> Duration {
        let nanos = u128::from(slot) * u128::from(self.period_nanos) / u128::from(self.slots);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How many slots are due within `elapsed` of the start, both ends included: slot `n` is due by then exactly when
    /// `n` is below this number.
    pub fn due_by(&self, elapsed: Duration) -> u64 {
        let end = elapsed.as_nanos() + 1;
        let slots = (end * u128::from(self.slots)).div_ceil(u128::from(self.period_nanos));
        u64::try_from(slots).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_rates_per_minute_and_hour_are_exact() {
        let hundred_per_minute = ConstantRate::per_second(100.0 / 60.0).unwrap();
        assert_eq!(hundred_per_minute.due(100), Duration::from_secs(60));
        assert_eq!(
            hundred_per_minute.due(100 * 60 * 24 * 365),
            Duration::from_secs(365 * 86_400)
        );
        let seven_per_hour = ConstantRate::per_second(7.0 / 3600.0).unwrap();
        assert_eq!(seven_per_hour.due(7), Duration::from_secs(3600));
    }

    #[test]
    fn thirds_of_a_second_do_not_drift_in_a_week() {
        let rate = ConstantRate::per_second(3.0).unwrap();
        let week = 7 * 86_400;
        assert_eq!(rate.due(3 * week), Duration::from_secs(week));
        assert_eq!(rate.due(1), Duration::from_nanos(333_333_333));
        assert_eq!(rate.due(2), Duration::from_nanos(666_666_666));
    }

    #[test]
    fn impossible_rates_are_refused() {
        for rate in [0.0, -1.0, 1e-9, 1e7, f64::NAN, f64::INFINITY] {
            assert_eq!(ConstantRate::per_second(rate), None, "{rate}");
        }
    }

    proptest! {
        #[test]
        fn due_times_never_go_back_and_keep_the_rate(rate in 0.01f64..1e6, slot in 0u64..1_000_000_000) {
            let pacer = ConstantRate::per_second(rate).unwrap();
            prop_assert!(pacer.due(slot) <= pacer.due(slot + 1));
            let exact = slot as f64 / rate;
            let error = (pacer.due(slot).as_secs_f64() - exact).abs();
            // Half a millionth of a slot per second, accumulated, plus the rounding of the nanosecond and of f64.
            prop_assert!(error <= exact * (0.5e-6 / rate + 1e-9) + 2e-9, "{error} s off at {exact} s");
        }

        #[test]
        fn a_slot_is_counted_as_due_exactly_from_its_due_time_on(rate in 0.01f64..1e6, slot in 0u64..1_000_000_000) {
            let pacer = ConstantRate::per_second(rate).unwrap();
            let due = pacer.due(slot);
            prop_assert!(pacer.due_by(due) > slot);
            if let Some(before) = due.checked_sub(Duration::from_nanos(1)) {
                prop_assert!(pacer.due_by(before) <= slot);
            }
        }

        #[test]
        fn whole_rates_put_exactly_that_many_slots_into_every_second(rate in 1u32..1_000_000, second in 0u64..100_000) {
            let pacer = ConstantRate::per_second(f64::from(rate)).unwrap();
            let first = u64::from(rate) * second;
            prop_assert_eq!(pacer.due(first), Duration::from_secs(second));
            prop_assert!(pacer.due(first + u64::from(rate) - 1) < Duration::from_secs(second + 1));
        }
    }
}
