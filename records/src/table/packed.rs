//! A column of whole numbers in as few bytes as each stretch of it needs.

/// Numbers that are packed together.
pub(super) const BLOCK: usize = 4096;

/// A column that grows at its end. Numbers may be absent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Packed {
    full: Vec<Block>,
    rest: Vec<Option<i64>>,
}

/// [`BLOCK`] numbers.
#[derive(Debug, Clone)]
enum Block {
    Same(Option<i64>),
    Bytes(Codes<u8>),
    Shorts(Codes<u16>),
    Words(Codes<u32>),
    Longs(Codes<u64>),
    /// Their span leaves no code for an absent one.
    Any(Box<[Option<i64>]>),
}

/// Distances from the smallest number, plus one; 0 stands for an absent one.
#[derive(Debug, Clone)]
struct Codes<T> {
    smallest: i64,
    codes: Box<[T]>,
}

impl Packed {
    pub(crate) fn len(&self) -> usize {
        self.full.len() * BLOCK + self.rest.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, value: Option<i64>) {
        self.rest.push(value);
        if self.rest.len() == BLOCK {
            self.full.push(Block::of(&self.rest));
            self.rest.clear();
        }
    }

    /// The number at `index`; `None` as well beyond the end.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Option<i64> {
        match self.full.get(index / BLOCK) {
            Some(block) => block.get(index % BLOCK),
            None => self.rest.get(index - self.full.len() * BLOCK).copied()?,
        }
    }
}

impl Block {
    fn of(numbers: &[Option<i64>]) -> Self {
        let present = || numbers.iter().flatten().copied();
        let (Some(smallest), Some(largest)) = (present().min(), present().max()) else {
            return Self::Same(None);
        };
        if smallest == largest && numbers.iter().all(Option::is_some) {
            return Self::Same(Some(smallest));
        }
        let Some(most) = distance(largest, smallest).checked_add(1) else {
            return Self::Any(numbers.into());
        };
        if most <= u64::from(u8::MAX) {
            Self::Bytes(Codes::of(smallest, numbers, |c| c as u8))
        } else if most <= u64::from(u16::MAX) {
            Self::Shorts(Codes::of(smallest, numbers, |c| c as u16))
        } else if most <= u64::from(u32::MAX) {
            Self::Words(Codes::of(smallest, numbers, |c| c as u32))
        } else {
            Self::Longs(Codes::of(smallest, numbers, |c| c))
        }
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Option<i64> {
        match self {
            Self::Same(number) => *number,
            Self::Bytes(codes) => codes.get(index),
            Self::Shorts(codes) => codes.get(index),
            Self::Words(codes) => codes.get(index),
            Self::Longs(codes) => codes.get(index),
            Self::Any(numbers) => numbers.get(index).copied()?,
        }
    }
}

const fn distance(number: i64, smallest: i64) -> u64 {
    number.wrapping_sub(smallest).cast_unsigned()
}

impl<T: Copy + Into<u64>> Codes<T> {
    fn of(smallest: i64, numbers: &[Option<i64>], narrow: impl Fn(u64) -> T) -> Self {
        let code = |n: &Option<i64>| narrow(n.map_or(0, |n| distance(n, smallest) + 1));
        Self {
            smallest,
            codes: numbers.iter().map(code).collect(),
        }
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Option<i64> {
        let code: u64 = (*self.codes.get(index)?).into();
        let distance = code.checked_sub(1)?;
        Some(self.smallest.wrapping_add(distance.cast_signed()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers in which every width of code occurs.
    fn numbers() -> impl Strategy<Value = Vec<Option<i64>>> {
        let spread = proptest::sample::select(&[0_u32, 3, 11, 29, 45, 63, 64][..]);
        (any::<i64>(), spread, 0..3_usize * BLOCK, any::<u64>()).prop_map(
            |(base, bits, length, seed)| {
                let mask = if bits == 64 {
                    u64::MAX
                } else {
                    (1 << bits) - 1
                };
                let mut state = seed | 1;
                let mut next = move || {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    state
                };
                (0..length)
                    .map(|_| {
                        let random = next();
                        (random % 9 > 0).then(|| base.wrapping_add((next() & mask).cast_signed()))
                    })
                    .collect()
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn numbers_come_back_as_they_went_in(
            numbers in numbers(),
        ) {
            let mut packed = Packed::default();
            numbers.iter().for_each(|n| packed.push(*n));
            prop_assert_eq!(packed.len(), numbers.len());
            let back: Vec<_> = (0..numbers.len()).map(|i| packed.get(i)).collect();
            prop_assert_eq!(back, numbers);
        }
    }

    #[test]
    fn near_numbers_take_few_bytes() {
        let packed = |number: fn(i64) -> Option<i64>| {
            let mut column = Packed::default();
            (0..BLOCK as i64).for_each(|i| column.push(number(i)));
            column.full.remove(0)
        };
        assert!(matches!(packed(|_| Some(i64::MIN)), Block::Same(Some(_))));
        assert!(matches!(packed(|_| None), Block::Same(None)));
        assert!(matches!(
            packed(|i| (i > 0).then_some(i % 200)),
            Block::Bytes(_)
        ));
        assert!(matches!(packed(|i| Some((1 << 60) + i)), Block::Shorts(_)));
        assert!(matches!(packed(|i| Some(i * 1_000_000)), Block::Words(_)));
        assert!(matches!(packed(|i| Some(i * 5_000_000)), Block::Longs(_)));
    }
}
