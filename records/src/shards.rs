//! Several generators of one run: each sends its share of the slots and records apart; a merge puts them together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    ClockSample, GeneratorRecord, Interval, Lateness, MergeError, Recording, Requests, RunEnd,
    RunOffset, quantile,
};

/// The generators that share the slots of a run: generator `i` sends the slots `i mod of`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shards {
    /// How many there are.
    pub of: u64,
    /// When slot 0 was due by the wall clock, ns since the Unix epoch.
    pub start_unix_nanos: i64,
    /// The slots of all of them together.
    pub slots: u64,
    /// Those whose records these are, in the order of their numbers: one, or once they are merged, all of them.
    pub present: Vec<Shard>,
}

/// One of several generators.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shard {
    /// Its number, from 0.
    pub index: u64,
    /// What it says of itself; filled in by a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<GeneratorRecord>,
    /// How its part of the run ended; filled in by a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
    /// How far a merge moved its times beyond what the wall clocks say, ns.
    #[serde(default)]
    pub moved_nanos: i64,
    /// Bounds of what is still wrong with its times against those of the first generator, ns, from what both saw of
    /// other clocks. `None` where only the wall clocks tie them together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_nanos: Option<(i64, i64)>,
}

impl Shard {
    /// Generator `index`, of which nothing is known yet.
    pub const fn new(index: u64) -> Self {
        Self {
            index,
            generator: None,
            end: None,
            moved_nanos: 0,
            clock_error_nanos: None,
        }
    }
}

impl Shards {
    /// How many slots generator `index` has to send.
    pub const fn slots_of(&self, index: u64) -> u64 {
        match self.slots.checked_sub(index) {
            Some(left) => left.div_ceil(self.of),
            None => 0,
        }
    }

    /// The generators of which there is no recording.
    pub fn missing(&self) -> impl Iterator<Item = u64> {
        (0..self.of).filter(|i| !self.present.iter().any(|s| s.index == *i))
    }
}

/// Checks that recordings are of generators of one load, and puts them in the order of their numbers. Returns whether
/// they are of such generators at all.
pub(crate) fn in_order(parts: &mut [Recording]) -> Result<bool, MergeError> {
    let shared = parts.iter().filter(|p| p.run.shards.is_some()).count();
    if shared == 0 {
        return Ok(false);
    }
    if shared < parts.len() {
        return Err(MergeError::NotAllShards);
    }
    parts.sort_by_key(first_index);
    for pair in parts.windows(2) {
        let (Some(a), Some(b)) = (&pair[0].run.shards, &pair[1].run.shards) else {
            continue;
        };
        if (a.of, a.start_unix_nanos, a.slots) != (b.of, b.start_unix_nanos, b.slots)
            || pair[0].run.scenario != pair[1].run.scenario
        {
            return Err(MergeError::DifferentLoads(
                first_index(&pair[0]),
                first_index(&pair[1]),
            ));
        }
        if let Some(twice) = a
            .present
            .iter()
            .find(|s| b.present.iter().any(|o| o.index == s.index))
        {
            return Err(MergeError::ShardTwice(twice.index));
        }
    }
    Ok(true)
}

fn first_index(part: &Recording) -> u64 {
    let shards = part.run.shards.as_ref();
    shards
        .and_then(|s| s.present.first())
        .map_or(u64::MAX, |s| s.index)
}

/// Writes down in each part what its generator says of itself, and moves its times to those of the first one where
/// another clock that both saw proves the wall clocks wrong.
pub(crate) fn align(parts: &mut [Recording]) {
    let Some((first, others)) = parts.split_first_mut() else {
        return;
    };
    let reference = seen_clocks(&first.clocks, first.run.wall_start_unix_nanos);
    for part in others {
        let own = seen_clocks(&part.clocks, part.run.wall_start_unix_nanos);
        let Some(ahead) = difference(&reference, &own) else {
            continue;
        };
        let moved = if ahead.contains(RunOffset::ZERO) {
            0
        } else {
            -ahead.mid().nanos()
        };
        if moved != 0 {
            part.map_times(|t| t.plus_nanos(moved));
        }
        for shard in part.run.shards.iter_mut().flat_map(|s| &mut s.present) {
            shard.moved_nanos = moved;
            shard.clock_error_nanos = Some((ahead.lo.nanos() + moved, ahead.hi.nanos() + moved));
        }
    }
    parts.iter_mut().for_each(fill_in);
}

fn fill_in(part: &mut Recording) {
    let (generator, end) = (&part.generator, &part.run.end);
    if let Some(shards) = &mut part.run.shards
        && let [shard] = shards.present.as_mut_slice()
    {
        shard.generator.clone_from(generator);
        shard.end.clone_from(end);
    }
}

/// Each clock against a generator's own, as far as its samples bound it; a clock whose samples contradict each other
/// (several machines behind one name) is left out.
fn seen_clocks(samples: &[ClockSample], wall_start: i64) -> BTreeMap<&str, Interval> {
    let mut bounds: BTreeMap<&str, Option<Interval>> = BTreeMap::new();
    for s in samples {
        let (lo, hi) = s.ahead_nanos(wall_start);
        let bound = Interval::new(RunOffset(lo), RunOffset(hi));
        bounds
            .entry(&s.clock)
            .and_modify(|b| *b = b.and_then(|b| b.intersect(bound)))
            .or_insert(Some(bound));
    }
    let known = bounds.into_iter().filter_map(|(c, b)| Some((c, b?)));
    known.collect()
}

/// How far the second generator's wall clock is ahead of the first one's, by every clock that both saw.
fn difference(a: &BTreeMap<&str, Interval>, b: &BTreeMap<&str, Interval>) -> Option<Interval> {
    let bounds = a.iter().filter_map(|(clock, of_a)| {
        let of_b = b.get(clock)?;
        let lo = of_a.lo.nanos_since(of_b.hi);
        let hi = of_a.hi.nanos_since(of_b.lo);
        Some(Interval::new(RunOffset(lo), RunOffset(hi)))
    });
    bounds.map(Some).reduce(|a, b| a?.intersect(b?)).flatten()
}

/// The generators of two parts as those of one.
pub(crate) fn together(a: Option<Shards>, b: Option<Shards>) -> Option<Shards> {
    let (Some(mut a), Some(b)) = (a, b) else {
        return None;
    };
    a.present.extend(b.present);
    a.present.sort_by_key(|s| s.index);
    Some(a)
}

/// What can be measured on the requests of all generators together: exactly, where adding up what each says of itself
/// could only bound it.
pub(crate) fn measure(generator: &mut GeneratorRecord, requests: &Requests) {
    let slots = requests.iter().filter(|r| r.lane.has_slot());
    let late = slots.filter_map(|r| {
        let nanos = r.dispatched?.nanos_since(r.scheduled);
        Some(u64::try_from(nanos / 1000).unwrap_or(0))
    });
    generator.lateness_us = quantiles(late.collect());
    generator.max_in_flight = most_in_flight(requests);
}

fn quantiles(mut micros: Vec<u64>) -> Lateness {
    micros.sort_unstable();
    let at = |permille| quantile(&micros, permille).unwrap_or(0);
    Lateness {
        p50: at(500),
        p99: at(990),
        p999: at(999),
        max: at(1000),
    }
}

fn most_in_flight(requests: &Requests) -> u64 {
    let sent = requests
        .iter()
        .filter(|r| r.lane.has_slot())
        .filter_map(|r| Some((r.dispatched?, r.ended?)));
    // At one moment ends come before beginnings.
    let mut changes: Vec<(RunOffset, i64)> = sent.flat_map(|(a, b)| [(a, 1), (b, -1)]).collect();
    changes.sort_unstable();
    let mut now = 0_i64;
    let most = changes.into_iter().map(|(_, change)| {
        now += change;
        now
    });
    most.max().and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn sample(clock: &str, at_ms: i64, ahead_ms: i64, wall: i64) -> ClockSample {
        const SECOND: i64 = 1_000_000_000;
        let reading = wall + (at_ms + ahead_ms) * 1_000_000;
        ClockSample {
            clock: clock.to_owned(),
            before: RunOffset::from_millis(at_ms - 1),
            after: RunOffset::from_millis(at_ms + 1),
            reading_unix_nanos: reading.div_euclid(SECOND) * SECOND,
            resolution_nanos: SECOND,
        }
    }

    fn samples(ahead_ms: i64) -> Vec<ClockSample> {
        (0..200)
            .map(|i| sample("target", i * 137, ahead_ms, 0))
            .collect()
    }

    #[test]
    fn a_clock_that_both_saw_bounds_the_difference_of_theirs() {
        // The target's clock is 40 ms ahead of the first generator's and 10 ms ahead of the second one's.
        let (a, b) = (samples(40), samples(10));
        let ahead = difference(&seen_clocks(&a, 0), &seen_clocks(&b, 0)).unwrap();
        assert!(ahead.contains(RunOffset::from_millis(30)), "{ahead:?}");
        assert!(ahead.hi.nanos_since(ahead.lo) < 100_000_000, "{ahead:?}");
    }

    #[test]
    fn two_machines_behind_one_name_bound_nothing() {
        let mut mixed = samples(0);
        mixed.extend(samples(5_000));
        assert!(seen_clocks(&mixed, 0).is_empty());
        assert_eq!(
            difference(&seen_clocks(&samples(0), 0), &BTreeMap::new()),
            None
        );
    }

    #[test]
    fn the_slots_of_all_generators_make_the_whole() {
        let shards = Shards {
            of: 4,
            start_unix_nanos: 0,
            slots: 10,
            present: vec![Shard::new(1), Shard::new(2)],
        };
        let parts: Vec<u64> = (0..4).map(|i| shards.slots_of(i)).collect();
        assert_eq!(parts, [3, 3, 2, 2]);
        assert_eq!(shards.missing().collect::<Vec<_>>(), [0, 3]);
    }

    #[test]
    fn what_ends_as_another_begins_is_not_in_flight_with_it() {
        let request = |from: i64, to: i64| {
            let mut r = crate::RequestRecord::scheduled(0, crate::Lane::New, "a", RunOffset(from));
            (r.dispatched, r.ended) = (Some(RunOffset(from)), Some(RunOffset(to)));
            r
        };
        let requests = vec![request(0, 5), request(5, 9), request(6, 8), request(7, 9)];
        assert_eq!(most_in_flight(&requests.into()), 3);
    }
}
