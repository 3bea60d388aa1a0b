//! A column of whole numbers in as few bytes as each stretch of it needs.

/// Numbers that are packed together.
pub(crate) const BLOCK: usize = 4096;

/// What stands for an absent number where a block is unpacked.
pub const ABSENT: i64 = i64::MIN;

/// A column that grows at its end. Numbers may be absent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Packed {
    full: Vec<Block>,
    rest: Loose,
}

/// Numbers that are not packed yet.
#[derive(Debug, Clone, Default)]
struct Loose {
    values: Vec<i64>,
    /// Which of them are present; empty while all are.
    present: Vec<bool>,
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
    pub(crate) const fn new() -> Self {
        Self {
            full: Vec::new(),
            rest: Loose {
                values: Vec::new(),
                present: Vec::new(),
            },
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.full.len() * BLOCK + self.rest.values.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, value: Option<i64>) {
        if value.is_none() {
            self.rest.lack();
        }
        self.rest.values.push(value.unwrap_or(0));
        if !self.rest.present.is_empty() || value.is_none() {
            self.rest.present.push(value.is_some());
        }
        self.pack_full();
    }

    /// Appends the number of each value.
    pub(crate) fn extend<T: Copy>(&mut self, mut values: &[T], number: impl Fn(T) -> i64) {
        while !values.is_empty() {
            let room = BLOCK - self.rest.values.len();
            let (now, later) = values.split_at(room.min(values.len()));
            self.rest.values.extend(now.iter().map(|v| number(*v)));
            if !self.rest.present.is_empty() {
                self.rest.present.resize(self.rest.values.len(), true);
            }
            self.pack_full();
            values = later;
        }
    }

    /// Appends the number of each value that is `present`, by its index.
    pub(crate) fn extend_present<T: Copy>(
        &mut self,
        values: &[T],
        number: impl Fn(T) -> i64,
        present: impl Fn(usize) -> bool,
    ) {
        let mut from = 0;
        while from < values.len() {
            let to = values.len().min(from + BLOCK - self.rest.values.len());
            self.rest.lack();
            let now = values[from..to].iter();
            self.rest.values.extend(now.map(|v| number(*v)));
            self.rest.present.extend((from..to).map(&present));
            self.pack_full();
            from = to;
        }
    }

    #[inline]
    fn pack_full(&mut self) {
        if self.rest.values.len() == BLOCK {
            self.full.push(Block::of(&self.rest));
            self.rest.values.clear();
            self.rest.present.clear();
        }
    }

    /// The number at `index`; `None` as well beyond the end.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Option<i64> {
        match self.full.get(index / BLOCK) {
            Some(block) => block.get(index % BLOCK),
            None => self.rest.get(index - self.full.len() * BLOCK),
        }
    }

    /// Unpacks the block of that number, with [`ABSENT`] for absent numbers.
    pub(crate) fn unpack(&self, number: usize, into: &mut Vec<i64>) {
        into.clear();
        match self.full.get(number) {
            Some(block) => block.unpack(into),
            None if number == self.full.len() => {
                into.extend(
                    (0..self.rest.values.len()).map(|i| self.rest.get(i).unwrap_or(ABSENT)),
                );
            }
            None => {}
        }
    }
}

impl Loose {
    /// Says of those so far that they are present: one that is not may come.
    fn lack(&mut self) {
        self.present.resize(self.values.len(), true);
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Option<i64> {
        let value = self.values.get(index).copied()?;
        self.present
            .get(index)
            .is_none_or(|present| *present)
            .then_some(value)
    }

    /// The smallest and the largest number that is present.
    fn span(&self) -> Option<(i64, i64)> {
        let widen = |(least, most): (i64, i64), n: i64| (least.min(n), most.max(n));
        let none = (i64::MAX, i64::MIN);
        let numbers = self.values.iter().copied();
        let span = if self.present.is_empty() {
            numbers.fold(none, widen)
        } else {
            let numbers = numbers.zip(&self.present);
            numbers.fold(
                none,
                |span, (n, present)| {
                    if *present { widen(span, n) } else { span }
                },
            )
        };
        (span.0 <= span.1).then_some(span)
    }
}

impl Block {
    fn of(numbers: &Loose) -> Self {
        let whole = numbers.present.iter().all(|p| *p);
        let span = numbers.span();
        let Some((smallest, largest)) = span else {
            return Self::Same(None);
        };
        if smallest == largest && whole {
            return Self::Same(Some(smallest));
        }
        let Some(most) = distance(largest, smallest).checked_add(1) else {
            return Self::Any((0..numbers.values.len()).map(|i| numbers.get(i)).collect());
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

    fn unpack(&self, into: &mut Vec<i64>) {
        match self {
            Self::Same(number) => into.resize(BLOCK, number.unwrap_or(ABSENT)),
            Self::Bytes(codes) => codes.unpack(into),
            Self::Shorts(codes) => codes.unpack(into),
            Self::Words(codes) => codes.unpack(into),
            Self::Longs(codes) => codes.unpack(into),
            Self::Any(numbers) => into.extend(numbers.iter().map(|n| n.unwrap_or(ABSENT))),
        }
    }
}

const fn distance(number: i64, smallest: i64) -> u64 {
    number.wrapping_sub(smallest).cast_unsigned()
}

impl<T: Copy + Into<u64>> Codes<T> {
    fn of(smallest: i64, numbers: &Loose, narrow: impl Fn(u64) -> T) -> Self {
        // Wraps where the number is absent: its value is none of the block's.
        let code = |n: &i64| narrow(distance(*n, smallest).wrapping_add(1));
        let codes = if numbers.present.is_empty() {
            numbers.values.iter().map(code).collect()
        } else {
            let pairs = numbers.values.iter().zip(&numbers.present);
            pairs
                .map(|(n, p)| if *p { code(n) } else { narrow(0) })
                .collect()
        };
        Self { smallest, codes }
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Option<i64> {
        let code: u64 = (*self.codes.get(index)?).into();
        let distance = code.checked_sub(1)?;
        Some(self.smallest.wrapping_add(distance.cast_signed()))
    }

    fn unpack(&self, into: &mut Vec<i64>) {
        let before = self.smallest.wrapping_sub(1);
        into.extend(self.codes.iter().map(|code| {
            let code: u64 = (*code).into();
            let number = before.wrapping_add(code.cast_signed());
            if code == 0 { ABSENT } else { number }
        }));
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
            prop_assert_eq!(&back, &numbers);
            let mut at_once = Packed::default();
            let whole: Vec<_> = numbers.iter().map(|n| n.or(Some(3))).collect();
            let numbers = if numbers.len() % 2 == 0 { numbers } else { whole };
            for part in numbers.chunks(3_000) {
                if part.iter().all(Option::is_some) {
                    at_once.extend(part, |n| n.unwrap_or(7));
                } else {
                    at_once.extend_present(part, |n| n.unwrap_or(7), |i| part[i].is_some());
                }
            }
            let mut block = Vec::new();
            for (n, part) in numbers.chunks(BLOCK).enumerate() {
                at_once.unpack(n, &mut block);
                let part: Vec<_> = part.iter().map(|n| n.unwrap_or(ABSENT)).collect();
                prop_assert_eq!(&block, &part);
            }
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
