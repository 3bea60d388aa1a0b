//! Arrivals of independent users: a Poisson process of one arrival a unit on average, by the number of the arrival.
//!
//! The time of arrival *i* is the sum of *i* + 1 exponential gaps. To have it without adding up all of them, the process
//! is drawn from the outside in: the length of a stretch of 2^40 arrivals, then how it is divided into halves, and so on
//! down to blocks of 1024, whose gaps are drawn one by one and scaled to the block's length. Given its sum, the shares of
//! a sum of exponential gaps are independent of it (Dirichlet), and the first half's share is Beta(n, n): the result is
//! the process itself, except that shares of halves of 1024 arrivals and more are drawn from the normal distribution
//! that they then are close to.

use crate::chance::{What, exponential, normal};

/// Arrivals of a block.
pub(crate) const BLOCK: u64 = 1 << BLOCK_BITS;
const BLOCK_BITS: u32 = 10;
/// Arrivals of the whole stretch: 12 days at the highest rate.
const WHOLE_BITS: u32 = 40;

/// A seeded Poisson process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Poisson {
    seed: u64,
}

impl Poisson {
    /// The process of this seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The times of the arrivals of block `block` (which has those from `block * BLOCK` on), in order.
    pub(crate) fn block(self, block: u64) -> Vec<f64> {
        let (begins, length) = self.stretch(block);
        let mut sum = 0.0;
        let mut times: Vec<f64> = (block * BLOCK..(block + 1) * BLOCK)
            .map(|arrival| {
                sum += exponential(self.seed, What::Gap, arrival);
                sum
            })
            .collect();
        for time in &mut times {
            *time = begins + length * (*time / sum);
        }
        times
    }

    /// When a block begins, and how long it is.
    fn stretch(self, block: u64) -> (f64, f64) {
        let whole = (1_u64 << WHOLE_BITS) as f64;
        let mut begins = 0.0;
        let mut length = whole + whole.sqrt() * normal(self.seed, What::Split, 0);
        // Nodes of the tree are numbered as in a heap: 1, 2 and 3, 4 to 7, ...
        let mut node = 1_u64;
        for bits in (BLOCK_BITS..WHOLE_BITS).rev() {
            let half = (1_u64 << bits) as f64;
            let spread = 0.5 / (2.0 * half + 1.0).sqrt();
            let first = length * (0.5 + spread * normal(self.seed, What::Split, node));
            let second_half = block >> (bits - BLOCK_BITS) & 1;
            if second_half == 1 {
                begins += first;
                length -= first;
            } else {
                length = first;
            }
            node = 2 * node + second_half;
        }
        (begins, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(seed: u64, blocks: std::ops::Range<u64>) -> Vec<f64> {
        let times: Vec<f64> = blocks.flat_map(|b| Poisson::new(seed).block(b)).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn gaps_are_exponential_and_arrivals_keep_the_rate() {
        for (seed, first) in [(1, 0), (2, 0), (3, 1 << 28)] {
            let gaps = gaps(seed, first..first + 200);
            let n = gaps.len() as f64;
            let mean = gaps.iter().sum::<f64>() / n;
            let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n;
            assert!((mean - 1.0).abs() < 0.02, "mean {mean}");
            assert!((variance - 1.0).abs() < 0.05, "variance {variance}");
            for quantile in [0.1, 0.5, 1.0, 2.0, 4.0] {
                let longer = gaps.iter().filter(|g| **g > quantile).count() as f64 / n;
                assert!(
                    (longer - (-quantile).exp()).abs() < 0.01,
                    "{quantile}: {longer}"
                );
            }
        }
    }

    #[test]
    fn counts_in_equal_times_vary_as_much_as_they_are_large() {
        let times: Vec<f64> = (0..400).flat_map(|b| Poisson::new(9).block(b)).collect();
        for width in [1.0, 10.0, 1_000.0] {
            let windows = (400_000.0 / width) as usize;
            let mut counts = vec![0.0; windows];
            for time in &times {
                if let Some(count) = counts.get_mut((time / width) as usize) {
                    *count += 1.0;
                }
            }
            let mean = counts.iter().sum::<f64>() / windows as f64;
            let variance =
                counts.iter().map(|c: &f64| (c - mean).powi(2)).sum::<f64>() / windows as f64;
            let tolerance = 6.0 / (windows as f64 / 2.0).sqrt() + 0.02;
            assert!(
                (variance / mean - 1.0).abs() < tolerance,
                "{width}: {mean} {variance}"
            );
        }
    }

    #[test]
    fn blocks_follow_one_another_without_a_step_back() {
        for block in [0, 1, 2, 1023, 1024, (1 << 20) - 1, 1 << 29] {
            let times = Poisson::new(5).block(block);
            assert!(times.is_sorted());
            let next = Poisson::new(5).block(block + 1);
            assert!(times[times.len() - 1] <= next[0]);
        }
    }
}
