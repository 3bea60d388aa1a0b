//! Which slots go when: the schedule, a tolerance that saves wake-ups, and a limit on how fast a delay is caught up with.

use std::time::Duration;

use rollscope_records::RunOffset;
use rollscope_scenarios::Load;

use super::timetable::{Place, Times, Timetable};

/// Slots go together up to this, unless the scenario says otherwise: measured, see `PERFORMANCE.md`.
const LONGEST_TOLERANCE: Duration = Duration::from_micros(500);
/// Slots that go together at rates for which that would be more than these.
const TOGETHER: f64 = 5.0;
/// Slots that go together at most.
const MOST_TOGETHER: u64 = 1024;
/// A delay that is an ordinary hiccup of the machine: its slots go at once.
const HICCUP: Duration = Duration::from_millis(1);

/// The tolerance of `load`: what the scenario says, or enough for a handful of slots at the highest rate.
pub(crate) fn tolerance(load: &Load) -> Duration {
    let by_rate = Duration::from_secs_f64(TOGETHER / load.highest_rate().max(1.0));
    let adaptive = by_rate.min(LONGEST_TOLERANCE);
    load.pacing.tolerance.unwrap_or(adaptive)
}

/// A slot that goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Going {
    /// Its number.
    pub(crate) slot: u64,
    /// When it was due.
    pub(crate) due: RunOffset,
    /// What it is for.
    pub(crate) place: Place,
}

/// The slots of one thread, in order: which of them go now, and when to look again. It is told the time, so it is pure.
#[derive(Debug, Clone)]
pub(crate) struct Pacer {
    times: Times,
    from: RunOffset,
    next: u64,
    step: u64,
    /// Where it ends: slots from here on are not sent.
    end: u64,
    tolerance: Duration,
    catch_up: u32,
    /// Before this the next slot would be caught up with too fast.
    allowed: RunOffset,
}

impl Pacer {
    /// Slots `first`, `first + step`, ... of `load`, whose slot 0 is due at `from`.
    pub(crate) fn new(
        timetable: Timetable,
        load: &Load,
        from: RunOffset,
        first: u64,
        step: u64,
    ) -> Self {
        Self {
            times: Times::new(timetable),
            from,
            next: first,
            step,
            end: u64::MAX,
            tolerance: tolerance(load),
            catch_up: load.pacing.catch_up.max(1),
            allowed: from,
        }
    }

    fn due(&mut self, slot: u64) -> RunOffset {
        self.from.plus(self.times.due(slot))
    }

    /// The next slot, if it may go at `now`. It counts as gone.
    pub(crate) fn go(&mut self, now: RunOffset) -> Option<Going> {
        let slot = self.next;
        let (due, place) = self.times.at(slot);
        let due = self.from.plus(due);
        if slot >= self.end || due > now || self.allowed > now {
            return None;
        }
        self.next += self.step;
        let gap = self.due(self.next).nanos_since(due);
        let burst = self.tolerance.max(HICCUP);
        let earliest = self.allowed.max(now.minus(burst));
        self.allowed = earliest.plus_nanos(gap / i64::from(self.catch_up));
        Some(Going { slot, due, place })
    }

    /// When to look again: at the last slot that is due within the tolerance of the next one.
    pub(crate) fn wake(&mut self, now: RunOffset) -> RunOffset {
        let due = self.due(self.next);
        if due <= now {
            return self.allowed.plus(self.tolerance);
        }
        let (limit, mut last) = (due.plus(self.tolerance), due);
        for ahead in 1..MOST_TOGETHER {
            let later = self.due(self.next + ahead * self.step);
            if later > limit {
                break;
            }
            last = later;
        }
        last.max(self.allowed)
    }

    /// The number after the last of its slots that has gone or is due at `now`.
    pub(crate) fn end_at(&mut self, now: RunOffset) -> u64 {
        let mut slot = self.next;
        while self.due(slot) <= now {
            slot += self.step;
        }
        (slot + 1).saturating_sub(self.step)
    }

    /// When the last slot that has gone was due.
    pub(crate) fn last(&mut self) -> Option<RunOffset> {
        let last = self.next.checked_sub(self.step)?;
        Some(self.due(last))
    }

    /// Sends nothing from slot `end` on, or from an earlier end.
    pub(crate) fn end_before(&mut self, end: u64) {
        self.end = self.end.min(end);
    }

    /// Whether every slot before the end has gone.
    pub(crate) const fn is_over(&self) -> bool {
        self.next >= self.end
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use proptest::prelude::*;
    use rollscope_scenarios::Rate;

    use super::*;

    fn load(rate: f64, tolerance_us: Option<u64>) -> Load {
        let mut load = Load::new(Rate::Constant(rate), Vec::new());
        load.pacing.tolerance = tolerance_us.map(Duration::from_micros);
        load
    }

    fn pacer(load: &Load, first: u64, step: u64) -> Pacer {
        Pacer::new(
            Timetable::new(load).unwrap(),
            load,
            RunOffset::ZERO,
            first,
            step,
        )
    }

    fn micros(us: i64) -> RunOffset {
        RunOffset(us * 1_000)
    }

    /// What goes when whoever drives the pacer looks exactly when it is told to.
    fn driven(pacer: &mut Pacer, until: RunOffset) -> Vec<(u64, RunOffset, RunOffset)> {
        let (mut now, mut gone) = (RunOffset::ZERO, Vec::new());
        while now <= until {
            while let Some(Going { slot, due, .. }) = pacer.go(now) {
                gone.push((slot, due, now));
            }
            now = pacer.wake(now);
        }
        gone
    }

    #[test]
    fn slots_within_the_tolerance_go_together_and_others_alone() {
        let mut together = pacer(&load(10_000.0, Some(250)), 0, 1);
        let times: Vec<_> = driven(&mut together, micros(1_000))
            .iter()
            .map(|g| g.2)
            .collect();
        let groups: Vec<_> = [0, 300, 600, 900].into_iter().map(micros).collect();
        let mut found = times.clone();
        found.dedup();
        assert_eq!(
            found, groups,
            "slots at 100..300 us, 400..600 us, 700..900 us"
        );
        let mut alone = pacer(&load(1_000.0, None), 0, 1);
        assert!(
            driven(&mut alone, micros(50_000))
                .iter()
                .all(|(_, due, at)| due == at)
        );
        let mut exact = pacer(&load(10_000.0, Some(0)), 0, 1);
        assert!(
            driven(&mut exact, micros(50_000))
                .iter()
                .all(|(_, due, at)| due == at)
        );
    }

    #[test]
    fn a_delay_is_caught_up_with_at_the_factor_and_no_faster() {
        let mut load = load(1_000.0, Some(0));
        load.pacing.catch_up = 4;
        let mut pacer = pacer(&load, 0, 1);
        driven(&mut pacer, micros(10_000));
        // A stall of 200 ms: 200 slots late, caught up with at 4000/s.
        let mut now = micros(210_000);
        let mut gone = Vec::new();
        while now < micros(400_000) {
            while let Some(Going { due, .. }) = pacer.go(now) {
                gone.push((due, now));
            }
            now = pacer.wake(now);
        }
        for pair in gone.windows(8) {
            let took = pair[7].1.nanos_since(pair[0].1);
            assert!(took >= 3 * 250_000, "8 slots within {took} ns");
        }
        let caught_up = gone.iter().find(|(due, at)| due == at).unwrap();
        // 200 slots at 4000/s, while another 1000/s come due: 67 ms.
        let took = caught_up.1.nanos_since(micros(210_000)) / 1_000_000;
        assert!((60..75).contains(&took), "{took} ms");
    }

    #[test]
    fn threads_share_the_slots_and_end_at_the_same_one() {
        let load = load(1_000.0, Some(0));
        let mut all = Vec::new();
        let mut ends = Vec::new();
        let mut pacers: Vec<_> = (0..3).map(|first| pacer(&load, first, 3)).collect();
        for (thread, pacer) in pacers.iter_mut().enumerate() {
            let until = micros(20_000 + thread as i64 * 2_500);
            all.extend(driven(pacer, until).into_iter().map(|g| g.0));
            ends.push(pacer.end_at(micros(21_000)));
        }
        let end = *ends.iter().max().unwrap();
        for pacer in &mut pacers {
            pacer.end_before(end);
            while let Some(going) = pacer.go(micros(1_000_000)) {
                all.push(going.slot);
            }
            assert!(pacer.is_over());
        }
        all.sort_unstable();
        assert_eq!(all, (0..end).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn no_slot_goes_before_its_time_or_later_than_the_tolerance(
            rate in 1.0f64..50_000.0, tolerance_us in 0u64..2_000, first in 0u64..3, catch_up in 1u32..8,
        ) {
            let mut load = load(rate, Some(tolerance_us));
            load.pacing.catch_up = catch_up;
            let gone = driven(&mut pacer(&load, first, 3), micros(200_000));
            let expected: Vec<u64> = (0..gone.len() as u64).map(|i| first + 3 * i).collect();
            prop_assert_eq!(gone.iter().map(|g| g.0).collect::<Vec<_>>(), expected);
            for (slot, due, at) in gone {
                let late = at.nanos_since(due);
                prop_assert!(late >= 0 && late <= tolerance_us as i64 * 1_000, "slot {} is {} ns late", slot, late);
            }
        }
    }
}
