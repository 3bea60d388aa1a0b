//! Many records of one kind in little memory: packed columns, and a view of each row with its fields.

mod blocks;
pub(crate) mod connections;
mod packed;
pub(crate) mod requests;
mod texts;

use std::borrow::Cow;
use std::fmt;
use std::ops::{Bound, Range, RangeBounds};

use crate::RunOffset;

pub use blocks::{Field, Unpacked};
pub use connections::{ConnectionColumns, Connections};
pub use packed::ABSENT;
pub(crate) use packed::{BLOCK, Packed};
pub use requests::{Fate, RequestColumns, Requests};
pub(crate) use texts::Texts;

/// The order of rows: by time, then by number.
pub(crate) type Place = (RunOffset, u64);

/// How records of one kind are kept as columns.
pub trait Columns: Default + Clone {
    /// A record that owns its texts.
    type Record;
    /// A record whose texts are borrowed.
    type Row<'r>: Copy + fmt::Debug + PartialEq
    where
        Self: 'r;

    /// The record, borrowed.
    fn view(record: &Self::Record) -> Self::Row<'_>;
    /// The row as a record of its own.
    fn record(row: Self::Row<'_>) -> Self::Record;
    /// How many rows there are.
    fn height(&self) -> usize;
    /// Appends a row.
    fn push(&mut self, row: Self::Row<'_>);
    /// The row at `index`, which must exist.
    fn row(&self, index: usize) -> Self::Row<'_>;
    /// Where a row stands among the others.
    fn place(row: Self::Row<'_>) -> Place;
    /// Whether the rows are in the order of their places.
    fn is_in_order(&self) -> bool {
        (0..self.height())
            .map(|index| Self::place(self.row(index)))
            .is_sorted()
    }
}

/// Records of one kind, as columns. A row is a view by value: cheap to get, with the fields of the record.
#[derive(Clone, Default)]
pub struct Table<C> {
    pub(crate) columns: C,
}

impl<C: Columns> Table<C> {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.columns.height()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row at `index`.
    ///
    /// # Panics
    ///
    /// When there are not so many rows.
    #[inline(always)]
    pub fn row(&self, index: usize) -> C::Row<'_> {
        assert!(index < self.len(), "row {index} of {}", self.len());
        self.columns.row(index)
    }

    /// The first row.
    pub fn first(&self) -> Option<C::Row<'_>> {
        self.iter().next()
    }

    /// The last row.
    pub fn last(&self) -> Option<C::Row<'_>> {
        self.iter().next_back()
    }

    /// Every row, in order.
    pub fn iter(&self) -> Rows<'_, C> {
        self.range(0..self.len())
    }

    /// The rows of a range, which is cut to those that exist.
    pub fn range(&self, range: impl RangeBounds<usize>) -> Rows<'_, C> {
        let end = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => usize::MAX,
        };
        let end = end.min(self.len());
        let start = match range.start_bound() {
            Bound::Included(first) => *first,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        Rows {
            columns: &self.columns,
            range: start.min(end)..end,
        }
    }

    /// The index of the first row that is not `before`; those that are come first.
    pub fn partition_point(&self, before: impl Fn(C::Row<'_>) -> bool) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from + (to - from) / 2;
            if before(self.columns.row(middle)) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// Appends a row.
    pub fn push(&mut self, row: C::Row<'_>) {
        self.columns.push(row);
    }

    /// Changes every row.
    pub fn edit_each(&mut self, mut change: impl FnMut(&mut C::Record)) {
        let edited = self.iter().map(|row| {
            let mut record = C::record(row);
            change(&mut record);
            record
        });
        *self = edited.collect();
    }

    /// Removes every row.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Keeps the rows that `keep` says yes to.
    pub fn retain(&mut self, keep: impl Fn(C::Row<'_>) -> bool) {
        let mut kept = Self::default();
        self.iter()
            .filter(|row| keep(*row))
            .for_each(|r| kept.push(r));
        *self = kept;
    }

    /// The rows in the order of their time and number; those that have both in common stay in the order that they have.
    pub fn in_order(&self) -> Cow<'_, Self> {
        if self.columns.is_in_order() {
            return Cow::Borrowed(self);
        }
        let keys = self.iter().map(C::place);
        let mut order: Vec<_> = keys.zip(0..).collect();
        order.sort_unstable();
        let mut sorted = Self::default();
        for (_, index) in order {
            sorted.push(self.columns.row(index));
        }
        Cow::Owned(sorted)
    }

    /// Puts the rows in the order of their time and number.
    pub fn sort(&mut self) {
        if let Cow::Owned(sorted) = self.in_order() {
            *self = sorted;
        }
    }
}

/// Rows of a [`Table`].
#[derive(Debug)]
pub struct Rows<'r, C> {
    columns: &'r C,
    range: Range<usize>,
}

impl<C> Clone for Rows<'_, C> {
    fn clone(&self) -> Self {
        Self {
            columns: self.columns,
            range: self.range.clone(),
        }
    }
}

impl<'r, C: Columns> Iterator for Rows<'r, C> {
    type Item = C::Row<'r>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        self.range.next().map(|i| self.columns.row(i))
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        self.range.nth(n).map(|i| self.columns.row(i))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl<C: Columns> DoubleEndedIterator for Rows<'_, C> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.range.next_back().map(|i| self.columns.row(i))
    }
}

impl<C: Columns> ExactSizeIterator for Rows<'_, C> {}

impl<'r, C: Columns> IntoIterator for &'r Table<C> {
    type Item = C::Row<'r>;
    type IntoIter = Rows<'r, C>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<C: Columns> FromIterator<C::Record> for Table<C> {
    fn from_iter<I: IntoIterator<Item = C::Record>>(records: I) -> Self {
        let mut table = Self::default();
        for record in records {
            table.push(C::view(&record));
        }
        table
    }
}

impl<C: Columns> From<Vec<C::Record>> for Table<C> {
    fn from(records: Vec<C::Record>) -> Self {
        records.into_iter().collect()
    }
}

impl<C: Columns> fmt::Debug for Table<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<C: Columns> PartialEq for Table<C> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(a, b)| a == b)
    }
}
