//! Latency of answered requests: from the time they were due, and from the time they were sent.

use std::ops::Range;

use rollscope_records::{ABSENT, Fate, Field, Outcome, Requests, nearest_rank};

use crate::analysis::{Latency, Quantiles};

/// Exact quantiles over every request that was answered completely, whatever the status. What was held open has no
/// latency, and that of journeys is not a user's: a closed loop asks less often while the service hangs.
///
/// All are counted by their size first; then only those near a quantile are looked at one by one.
pub(crate) fn latency(requests: &Requests) -> Latency {
    let counts = requests.by_stretch(|blocks| {
        let mut counts = [Counts::default(), Counts::default()];
        each(requests, blocks, |of, nanos| counts[of].take(nanos));
        counts
    });
    let mut sums = [Counts::default(), Counts::default()];
    for part in counts {
        sums.iter_mut()
            .zip(part)
            .for_each(|(sum, part)| sum.add(&part));
    }
    let near = sums.each_ref().map(Counts::near);
    let parts = requests.by_stretch(|blocks| {
        let mut found = [Vec::new(), Vec::new()];
        each(requests, blocks, |of, nanos| {
            if near[of][size(nanos)] {
                found[of].push(nanos);
            }
        });
        found
    });
    let [scheduled, dispatched] = [0, 1].map(|of| {
        let mut found = Vec::new();
        parts
            .iter()
            .for_each(|part| found.extend_from_slice(&part[of]));
        found.sort_unstable();
        sums[of].quantiles(&near[of], &found)
    });
    Latency {
        scheduled,
        dispatched,
    }
}

/// How long each answered request took, ns: from when it was due (0), and from when it was sent (1).
fn each(requests: &Requests, blocks: Range<usize>, mut take: impl FnMut(usize, i64)) {
    let mut unpacked = requests.unpacked([Field::Dispatched, Field::Ended, Field::Fate]);
    for block in blocks {
        let [dispatched, ended, fates] = unpacked.block(block);
        for ((began, over), fate) in dispatched.iter().zip(ended).zip(fates) {
            let fate = Fate::from_number(*fate);
            let answered = matches!(fate.outcome(), Outcome::Ok | Outcome::Status);
            if !answered || !fate.lane().has_slot() || *over == ABSENT {
                continue;
            }
            take(0, *over);
            if *began != ABSENT {
                take(1, over.saturating_sub(*began));
            }
        }
    }
}

/// The quantiles that are told, in thousandths.
const PERMILLES: [usize; 5] = [500, 900, 990, 999, 1000];

/// Bits of a length that are told apart below its highest one.
const BITS: u32 = 8;

/// Sizes that there are.
const SIZES: usize = (64 - BITS as usize) << BITS;

/// The size of a length of time: a longer one's is no smaller. Negative lengths have one together.
fn size(nanos: i64) -> usize {
    let nanos = nanos.max(0).cast_unsigned();
    let shift = (64 - BITS - 1).saturating_sub(nanos.leading_zeros());
    ((shift as usize) << BITS) + (nanos >> shift) as usize
}

/// How many lengths of each size there are.
struct Counts(Vec<u64>);

impl Default for Counts {
    fn default() -> Self {
        Self(vec![0; SIZES])
    }
}

impl Counts {
    #[inline]
    fn take(&mut self, nanos: i64) {
        self.0[size(nanos)] += 1;
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(n, m)| *n += m);
    }

    /// The size of the length that is at that place in their order, and how many lengths are of smaller sizes.
    fn at(&self, place: u64) -> Option<(usize, u64)> {
        let mut below = 0;
        for (size, n) in self.0.iter().enumerate() {
            if place < below + n {
                return Some((size, below));
            }
            below += n;
        }
        None
    }

    /// The places of the quantiles in the order of all lengths.
    fn places(&self) -> [u64; 5] {
        let all: u64 = self.0.iter().sum();
        PERMILLES.map(|permille| nearest_rank(all as usize, permille) as u64)
    }

    /// The sizes among which a quantile lies.
    fn near(&self) -> Vec<bool> {
        let mut near = vec![false; SIZES];
        let places = self.places().into_iter();
        places
            .filter_map(|place| self.at(place))
            .for_each(|(size, _)| near[size] = true);
        near
    }

    /// Quantiles, ms; `found`: all lengths of the sizes that are `near` one, in order.
    fn quantiles(&self, near: &[bool], found: &[i64]) -> Quantiles {
        let of = |place: u64| {
            let (size, below) = self.at(place)?;
            let smaller = self.0[..size].iter().zip(near).filter(|(_, near)| **near);
            let before: u64 = smaller.map(|(n, _)| n).sum();
            let nanos = found.get((before + place - below) as usize)?;
            Some((*nanos as f64 / 1e3).round() / 1e3)
        };
        let [p50, p90, p99, p999, max] = self.places().map(|place| of(place).unwrap_or(0.0));
        Quantiles {
            p50,
            p90,
            p99,
            p999,
            max,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rollscope_records::{Lane, RequestRecord, RunOffset};

    use super::*;

    /// Quantiles of requests that took so long.
    fn quantiles(nanos: impl IntoIterator<Item = i64>) -> Quantiles {
        let requests: Requests = nanos
            .into_iter()
            .zip(0..)
            .map(|(nanos, seq)| RequestRecord {
                ended: Some(RunOffset(7 + nanos)),
                outcome: Outcome::Ok,
                ..RequestRecord::scheduled(seq, Lane::New, "a", RunOffset(7))
            })
            .collect();
        latency(&requests).scheduled
    }

    #[test]
    fn quantiles_are_the_nearest_rank() {
        let q = quantiles((1..=1000).map(|ms| ms * 1_000_000));
        assert_eq!(
            q,
            Quantiles {
                p50: 500.0,
                p90: 900.0,
                p99: 990.0,
                p999: 999.0,
                max: 1000.0
            }
        );
    }

    #[test]
    fn nothing_answered_has_no_latency() {
        assert_eq!(quantiles(Vec::new()), Quantiles::default());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

        #[test]
        fn quantiles_are_those_of_all_lengths_in_order(
            base in 0_i64..4_000_000_000,
            mut nanos in proptest::collection::vec(-50_000_i64..900_000_000, 1..3000),
        ) {
            nanos.iter_mut().for_each(|n| *n += base);
            let q = quantiles(nanos.clone());
            nanos.sort_unstable();
            let at = |permille| (nanos[nearest_rank(nanos.len(), permille)] as f64 / 1e3).round() / 1e3;
            prop_assert_eq!([q.p50, q.p90, q.p99, q.p999, q.max], PERMILLES.map(at));
        }
    }
}
