//! Moments in order, as they come: nearly in order.

use rollscope_records::RunOffset;

/// A moment is put this many places back at most where it belongs there; beyond it all are sorted at the end.
const NEAR: usize = 64;

/// Moments that are kept in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Moments {
    times: Vec<RunOffset>,
    unsorted: bool,
}

impl Moments {
    #[inline]
    pub(super) fn push(&mut self, t: RunOffset) {
        self.times.push(t);
        let mut place = self.times.len() - 1;
        let nearest = place.saturating_sub(NEAR);
        while place > nearest && self.times[place - 1] > t {
            self.times[place] = self.times[place - 1];
            place -= 1;
        }
        self.times[place] = t;
        self.unsorted |= place > 0 && self.times[place - 1] > t;
    }

    /// Appends moments that are later, or nearly so.
    pub(super) fn append(&mut self, later: Self) {
        if self.times.is_empty() {
            *self = later;
            return;
        }
        self.unsorted |= later.unsorted;
        let (Some(last), Some(first)) = (self.times.last(), later.times.first()) else {
            return;
        };
        // Only what lies between the beginning of the later ones and the end of the earlier ones is mixed.
        let mixed = self.times.partition_point(|t| t <= first);
        let until = self.times.len() + later.times.partition_point(|t| t < last);
        self.times.extend(later.times);
        if !self.unsorted {
            self.times[mixed..until].sort_unstable();
        }
    }

    pub(super) fn in_order(mut self) -> Vec<RunOffset> {
        if self.unsorted {
            self.times.sort_unstable();
        }
        self.times
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn moments_come_out_in_order_however_they_came(
            parts in proptest::collection::vec(proptest::collection::vec(-40_i64..400, 0..200), 0..4),
            slope in 0_i64..20,
        ) {
            let mut all = Moments::default();
            let mut expected = Vec::new();
            for part in parts {
                let mut moments = Moments::default();
                for (i, jitter) in part.into_iter().enumerate() {
                    let t = RunOffset(expected.len() as i64 * slope + i as i64 * slope + jitter);
                    moments.push(t);
                    expected.push(t);
                }
                all.append(moments);
            }
            expected.sort_unstable();
            prop_assert_eq!(all.in_order(), expected);
        }
    }
}
