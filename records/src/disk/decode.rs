//! Columns of a Parquet file as packed columns, without a row in between: each column by itself, on all cores.

use std::ops::RangeInclusive;

use polars::prelude::*;
use polars_arrow::array::{Array, Utf8ViewArray};
use polars_arrow::bitmap::Bitmap;

use super::parquet::RowGroups;
use crate::in_parallel;
use crate::table::{BLOCK, Packed, Texts};

/// A packed column: the name of its column in the file (where it is one), and how its numbers are had from it.
pub(crate) type Made = (&'static str, From);

/// How the numbers of a column are made.
#[derive(Clone)]
pub(crate) enum From {
    /// The number of a row, which every row has.
    Id,
    /// The time that the others are distances from, which every row has.
    Base,
    /// A time, as its distance from the base.
    Time,
    /// A whole number within these limits; what is beyond them is absent.
    Signed(RangeInclusive<i64>),
    /// One that is not negative and no more than that; what is beyond it is absent.
    Unsigned(i64),
    /// The bits of an unsigned number.
    Bits,
    /// An unsigned number of bytes or requests no more than that: absent or beyond it is 0.
    Count(u64),
    /// The number of a text.
    Text,
    /// The number of a text: absent is the empty one.
    Name,
    /// Made from several columns of a row group.
    Mixed(fn(&RowGroups, usize) -> PolarsResult<Vec<i64>>),
}

/// Reads the columns of all row groups. Both those of [`From::Id`] and [`From::Base`] come first: how long they are
/// shows that the file has as many rows as it says.
pub(crate) fn columns<const N: usize>(
    groups: &RowGroups,
    made: &[Made; N],
) -> PolarsResult<([Packed; N], [Texts; N])> {
    let mut numbers = [const { Packed::new() }; N];
    let mut texts = std::array::from_fn(|_| Texts::default());
    let is_first = |column: &usize| matches!(made[*column].1, From::Id | From::Base);
    let (first, others): (Vec<usize>, Vec<usize>) = (0..N).partition(is_first);
    let base = first
        .iter()
        .copied()
        .find(|c| matches!(made[*c].1, From::Base));
    for columns in [first, others] {
        let base = base.map(|c| &numbers[c]);
        let read = in_parallel(&columns, |c| column(groups, &made[*c], base));
        for (c, read) in columns.into_iter().zip(read) {
            (numbers[c], texts[c]) = read?;
        }
    }
    Ok((numbers, texts))
}

fn column(
    groups: &RowGroups,
    (name, from): &Made,
    base: Option<&Packed>,
) -> PolarsResult<(Packed, Texts)> {
    let (mut packed, mut known) = (Packed::new(), Texts::default());
    let mut base = Bases::of(base);
    for group in 0..groups.len() {
        match from {
            From::Text | From::Name => {
                let series = groups.series(group, name, &DataType::String)?;
                let absent = matches!(from, From::Name).then_some("");
                texts(series.str()?, absent, &mut packed, &mut known);
            }
            From::Mixed(make) => {
                let numbers = make(groups, group)?;
                packed.extend(&numbers, |n| n);
            }
            From::Id | From::Bits | From::Unsigned(_) | From::Count(_) => {
                let series = groups.series(group, name, &DataType::UInt64)?;
                for array in series.u64()?.downcast_iter() {
                    unsigned(name, from, array.values(), array.validity(), &mut packed)?;
                }
            }
            From::Base | From::Time | From::Signed(_) => {
                let series = groups.series(group, name, &DataType::Int64)?;
                for array in series.i64()?.downcast_iter() {
                    let (values, valid) = (array.values(), array.validity());
                    if matches!(from, From::Time) {
                        base.distances(values, valid, &mut packed);
                    } else {
                        signed(name, from, values, valid, &mut packed)?;
                    }
                }
            }
        }
    }
    Ok((packed, known))
}

fn is_valid(valid: Option<&Bitmap>, i: usize) -> bool {
    valid.is_none_or(|v| v.get_bit(i))
}

fn required(name: &str, valid: Option<&Bitmap>, before: usize) -> PolarsResult<()> {
    match valid.and_then(|v| v.iter().position(|set| !set)) {
        Some(row) => {
            polars_bail!(ComputeError: "column {name:?} has no value in row {}", before + row)
        }
        None => Ok(()),
    }
}

fn unsigned(
    name: &str,
    from: &From,
    values: &[u64],
    valid: Option<&Bitmap>,
    packed: &mut Packed,
) -> PolarsResult<()> {
    match from {
        From::Unsigned(most) => packed.extend_present(values, u64::cast_signed, |i| {
            is_valid(valid, i) && (0..=*most).contains(&values[i].cast_signed())
        }),
        From::Count(most) => {
            let counts = values.iter().enumerate().map(|(i, n)| match n {
                n if n <= most && is_valid(valid, i) => n.cast_signed(),
                _ => 0,
            });
            packed.extend(&counts.collect::<Vec<_>>(), |n| n);
        }
        From::Id => {
            required(name, valid, packed.len())?;
            packed.extend(values, u64::cast_signed);
        }
        _ => present(values, u64::cast_signed, valid, packed),
    }
    Ok(())
}

fn signed(
    name: &str,
    from: &From,
    values: &[i64],
    valid: Option<&Bitmap>,
    packed: &mut Packed,
) -> PolarsResult<()> {
    match from {
        From::Signed(limits) if *limits == (i64::MIN..=i64::MAX) => {
            present(values, |n| n, valid, packed);
        }
        From::Signed(limits) => packed.extend_present(
            values,
            |n| n,
            |i| is_valid(valid, i) && limits.contains(&values[i]),
        ),
        _ => {
            required(name, valid, packed.len())?;
            packed.extend(values, |n| n);
        }
    }
    Ok(())
}

/// Appends the numbers of the values that are valid.
fn present<T: Copy>(
    values: &[T],
    number: impl Fn(T) -> i64,
    valid: Option<&Bitmap>,
    packed: &mut Packed,
) {
    match valid.filter(|v| v.unset_bits() > 0) {
        None => packed.extend(values, number),
        Some(valid) => packed.extend_present(values, number, |i| valid.get_bit(i)),
    }
}

/// The base of one row after the other.
struct Bases<'p> {
    packed: Option<&'p Packed>,
    block: Vec<i64>,
    number: Option<usize>,
    distances: Vec<i64>,
}

impl<'p> Bases<'p> {
    fn of(packed: Option<&'p Packed>) -> Self {
        Self {
            packed,
            block: Vec::new(),
            number: None,
            distances: Vec::new(),
        }
    }

    /// Appends the distances of `times` from the bases of the rows that come next.
    fn distances(&mut self, times: &[i64], valid: Option<&Bitmap>, packed: &mut Packed) {
        let mut from = 0;
        while from < times.len() {
            let (number, first) = (packed.len() / BLOCK, packed.len() % BLOCK);
            if self.number != Some(number) {
                if let Some(bases) = self.packed {
                    bases.unpack(number, &mut self.block);
                }
                self.number = Some(number);
            }
            let bases = self.block.get(first..).unwrap_or_default();
            self.distances.clear();
            let times = times[from..].iter();
            let distances = times.zip(bases).map(|(t, base)| t.wrapping_sub(*base));
            self.distances.extend(distances);
            let count = self.distances.len();
            // Columns of several lengths have been refused.
            if count == 0 {
                return;
            }
            match valid {
                None => packed.extend(&self.distances, |n| n),
                Some(valid) => {
                    packed.extend_present(&self.distances, |n| n, |i| valid.get_bit(from + i));
                }
            }
            from += count;
        }
    }
}

fn texts(texts: &StringChunked, absent: Option<&str>, packed: &mut Packed, known: &mut Texts) {
    for array in texts.downcast_iter() {
        let mut cache = Cache::new();
        let mut numbers = Vec::with_capacity(array.len());
        for i in 0..array.len() {
            let number = match absent {
                _ if is_valid(array.validity(), i) => {
                    cache.get(array, i, |text| known.number(text))
                }
                Some(text) => known.number(text),
                None => -1,
            };
            numbers.push(number);
        }
        packed.extend_present(&numbers, |n| n, |i| numbers[i] >= 0);
    }
}

/// What each text of a column of names stands for; a row without one is an error, and so is an unknown one.
pub(crate) fn named(
    groups: &RowGroups,
    group: usize,
    column: &str,
    absent: Option<i64>,
    known: impl Fn(&str) -> Option<i64>,
) -> PolarsResult<Vec<i64>> {
    let series = groups.series(group, column, &DataType::String)?;
    let mut numbers = Vec::with_capacity(series.len());
    for array in series.str()?.downcast_iter() {
        let mut cache = Cache::new();
        let mut unknown = None;
        for i in 0..array.len() {
            if !is_valid(array.validity(), i) {
                let number = absent.ok_or_else(
                    || polars_err!(ComputeError: "column {column:?} has no value in row {i}"),
                )?;
                numbers.push(number);
                continue;
            }
            numbers.push(cache.get(array, i, |name| {
                known(name).unwrap_or_else(|| {
                    unknown = Some(name.to_owned());
                    0
                })
            }));
        }
        if let Some(name) = unknown {
            polars_bail!(ComputeError: "unknown {column} {name:?}");
        }
    }
    Ok(numbers)
}

/// Sets `bit` in the numbers of the rows in which the column is true.
pub(crate) fn flag(
    groups: &RowGroups,
    group: usize,
    column: &str,
    bit: i64,
    numbers: &mut [i64],
) -> PolarsResult<()> {
    let series = groups.series(group, column, &DataType::Boolean)?;
    let mut numbers = numbers.iter_mut();
    for array in series.bool()?.downcast_iter() {
        let values = array.values().iter();
        match array.validity() {
            None => numbers
                .by_ref()
                .zip(values)
                .for_each(|(n, set)| *n |= if set { bit } else { 0 }),
            Some(valid) => numbers
                .by_ref()
                .zip(values.zip(valid.iter()))
                .for_each(|(n, (set, valid))| *n |= if set && valid { bit } else { 0 }),
        }
    }
    Ok(())
}

/// What the texts of one array stand for, by the views of those that came last: many rows have the same view.
struct Cache {
    last: Vec<Option<(u128, i64)>>,
}

impl Cache {
    const SIZE: usize = 1024;

    fn new() -> Self {
        Self {
            last: vec![None; Self::SIZE],
        }
    }

    #[inline]
    fn get(&mut self, array: &Utf8ViewArray, i: usize, mut number: impl FnMut(&str) -> i64) -> i64 {
        let view = array.views()[i].as_u128();
        let folded = (view >> 64) as u64 ^ view as u64;
        let place = (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % Self::SIZE;
        match self.last[place] {
            Some((known, number)) if known == view => number,
            _ => {
                let number = number(array.value(i));
                self.last[place] = Some((view, number));
                number
            }
        }
    }
}
