//! Which request a slot is, as a pure function of the slot's number.

/// Weights are scaled down when a whole cycle would be longer than this.
const LONGEST_CYCLE: u64 = 65_536;

/// The mix of requests: a smooth weighted round robin, so that a request of weight 1 among others of weight 9 comes
/// every tenth slot and never in clumps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mix {
    cycle: Vec<usize>,
}

impl Mix {
    /// The mix of requests with these weights (each at least 1; at least one of them). Weights whose cycle would be
    /// longer than 65,536 slots are scaled down to that, each staying at least 1.
    pub(crate) fn new(weights: &[u32]) -> Self {
        let weights = reduced(weights);
        let total: i64 = weights.iter().sum();
        let mut credit = vec![0_i64; weights.len()];
        let cycle = (0..total)
            .map(|_| {
                for (credit, weight) in credit.iter_mut().zip(&weights) {
                    *credit += weight;
                }
                let next = richest(&credit);
                credit[next] -= total;
                next
            })
            .collect();
        Self { cycle }
    }

    /// The index of the request that slot `seq` sends.
    pub(crate) fn request(&self, seq: u64) -> usize {
        let place = seq % self.cycle.len() as u64;
        self.cycle[place as usize]
    }
}

/// The first index with the largest credit.
fn richest(credit: &[i64]) -> usize {
    let mut best = 0;
    for (index, value) in credit.iter().enumerate() {
        if *value > credit[best] {
            best = index;
        }
    }
    best
}

fn reduced(weights: &[u32]) -> Vec<i64> {
    let divisor = weights
        .iter()
        .fold(0, |d, w| greatest_common_divisor(d, u64::from(*w)))
        .max(1);
    let total: u64 = weights.iter().map(|w| u64::from(*w) / divisor).sum();
    let scale = |weight: u32| {
        let weight = u64::from(weight) / divisor;
        let scaled = if total > LONGEST_CYCLE {
            (u128::from(weight) * u128::from(LONGEST_CYCLE) / u128::from(total)) as u64
        } else {
            weight
        };
        i64::try_from(scaled.max(1)).unwrap_or(i64::MAX)
    };
    weights.iter().map(|w| scale(*w)).collect()
}

const fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rare_requests_are_spread_evenly() {
        let mix = Mix::new(&[8, 1]);
        let rare: Vec<u64> = (0..90).filter(|seq| mix.request(*seq) == 1).collect();
        assert_eq!(rare.len(), 10);
        assert!(rare.windows(2).all(|pair| pair[1] - pair[0] == 9));
    }

    #[test]
    fn equal_weights_alternate_however_large_they_are() {
        let mix = Mix::new(&[1_000_000, 1_000_000]);
        assert_eq!(mix.cycle, [0, 1]);
    }

    #[test]
    fn huge_weights_are_scaled_but_nobody_disappears() {
        let mix = Mix::new(&[u32::MAX, 1, u32::MAX - 2]);
        assert!(mix.cycle.len() as u64 <= LONGEST_CYCLE + 3);
        assert!(mix.cycle.contains(&1));
    }

    proptest! {
        #[test]
        fn every_cycle_holds_each_request_in_its_share(weights in prop::collection::vec(1u32..50, 1..6)) {
            let mix = Mix::new(&weights);
            let total: u64 = weights.iter().map(|w| u64::from(*w)).sum();
            for (index, weight) in weights.iter().enumerate() {
                let count = (0..total).filter(|seq| mix.request(*seq) == index).count();
                prop_assert_eq!(count, *weight as usize);
            }
        }
    }
}
