//! One generator's share of a load that several generators make together.

use rollscope_records::RunOffset;

/// The share of generator `index` of `of`: the slots `i mod of`, with their numbers in the whole load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadShare {
    /// Its number, from 0.
    pub index: u64,
    /// How many generators there are.
    pub of: u64,
    /// When slot 0 of the whole load is due, on this run's clock.
    pub starts: RunOffset,
    /// Slots of the whole load.
    pub slots: u64,
}

impl LoadShare {
    /// Its part of a number of things that belong to the whole load (requests in flight, connections), at least one.
    pub(crate) fn part_of(&self, all: usize) -> usize {
        let (all, of) = (all as u64, self.of.max(1));
        let part = all / of + u64::from(self.index < all % of);
        usize::try_from(part.max(1)).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_all_generators_make_the_whole() {
        let share = |index| LoadShare {
            index,
            of: 4,
            starts: RunOffset::ZERO,
            slots: 0,
        };
        let parts: Vec<usize> = (0..4).map(|i| share(i).part_of(10)).collect();
        assert_eq!(parts, [3, 3, 2, 2]);
        assert_eq!(share(3).part_of(2), 1);
    }
}
