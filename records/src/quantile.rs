//! Quantiles by nearest rank: each is a value that occurs.

/// The place, from 0, of a quantile among so many values in ascending order; beyond the last one when there are none.
pub const fn nearest_rank(values: usize, permille: usize) -> usize {
    let rank = (values * permille).div_ceil(1000);
    rank.saturating_sub(1)
}

/// A quantile of values in ascending order; `None` when there are none.
pub fn quantile<T: Copy>(ascending: &[T], permille: usize) -> Option<T> {
    let place = nearest_rank(ascending.len(), permille);
    ascending.get(place).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occur() {
        let values: Vec<u32> = (1..=1000).collect();
        for (permille, value) in [(0, 1), (1, 1), (500, 500), (999, 999), (1000, 1000)] {
            assert_eq!(quantile(&values, permille), Some(value));
        }
        assert_eq!(quantile(&[7, 9], 500), Some(7));
        assert_eq!(quantile(&[7, 9], 501), Some(9));
        assert_eq!(quantile::<u32>(&[], 500), None);
    }
}
