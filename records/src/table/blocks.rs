//! Requests a block of rows at a time: single fields, unpacked, for whoever looks at all of them.

use std::ops::Range;

use super::packed::BLOCK;
use super::requests::{self, RequestColumns, Requests};
use crate::parallel::{cores, in_parallel};

/// A field of a request that can be unpacked by itself.
///
/// Times but the scheduled one are ns after it. Names, peers and pods are numbers of texts
/// ([`Requests::texts`]). What is absent is [`ABSENT`](crate::ABSENT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Field {
    /// `seq`, the bits of it.
    Seq = requests::SEQ,
    /// `scheduled`, ns on the run's clock.
    Scheduled = requests::SCHEDULED,
    /// `dispatched`.
    Dispatched = requests::DISPATCHED,
    /// `connected`.
    Connected = requests::CONNECTED,
    /// `written`.
    Written = requests::WRITTEN,
    /// `first_byte`.
    FirstByte = requests::FIRST_BYTE,
    /// `ended`.
    Ended = requests::ENDED,
    /// `connection`, the bits of it.
    Connection = requests::CONNECTION,
    /// `idle`, ns.
    Idle = requests::IDLE,
    /// `status`.
    Status = requests::STATUS,
    /// `name`.
    Name = requests::NAME,
    /// `peer`.
    Peer = requests::PEER,
    /// `pod`.
    Pod = requests::POD,
    /// A [`Fate`](crate::Fate): outcome, phase, lane and flags.
    Fate = requests::FATE,
}

/// Some fields of one block of rows.
#[derive(Debug)]
pub struct Unpacked<'r, const N: usize> {
    columns: &'r RequestColumns,
    fields: [Field; N],
    block: [Vec<i64>; N],
}

impl<const N: usize> Unpacked<'_, N> {
    /// The fields of the block of that number: as many numbers of each as the block has rows.
    #[inline]
    pub fn block(&mut self, number: usize) -> [&[i64]; N] {
        for (field, block) in self.fields.iter().zip(&mut self.block) {
            self.columns.column(*field).unpack(number, block);
        }
        self.block.each_ref().map(Vec::as_slice)
    }
}

impl Requests {
    /// Rows of a block; the last one may have fewer.
    pub const BLOCK: usize = BLOCK;

    /// What unpacks those fields.
    pub fn unpacked<const N: usize>(&self, fields: [Field; N]) -> Unpacked<'_, N> {
        unpacked(&self.columns, fields)
    }

    /// Numbers of all blocks.
    pub fn blocks(&self) -> Range<usize> {
        0..self.len().div_ceil(BLOCK)
    }

    /// Looks at stretches of blocks on all cores; what is found in each is in the order of the rows.
    pub fn by_stretch<T: Send>(&self, look: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        by_stretch(self.blocks().end, look)
    }

    /// The texts of a field, by number.
    pub fn texts(&self, field: Field) -> impl Iterator<Item = &str> {
        self.columns.texts(field).into_iter().flat_map(|t| t.all())
    }

    /// Indices of the rows whose fate `is` so.
    pub fn indices(&self, is: impl Fn(super::Fate) -> bool + Sync) -> Vec<usize> {
        let found = self.by_stretch(|blocks| {
            let mut found = Vec::new();
            let mut unpacked = self.unpacked([Field::Fate]);
            for number in blocks {
                let [fates] = unpacked.block(number);
                let rows = fates.iter().zip(number * BLOCK..);
                let rows = rows.filter(|(fate, _)| is(super::Fate::from_number(**fate)));
                found.extend(rows.map(|(_, row)| row));
            }
            found
        });
        found.concat()
    }
}

fn unpacked<const N: usize>(columns: &RequestColumns, fields: [Field; N]) -> Unpacked<'_, N> {
    Unpacked {
        columns,
        fields,
        block: [const { Vec::new() }; N],
    }
}

/// Several stretches a core, so that none waits long for another.
fn by_stretch<T: Send>(blocks: usize, look: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let length = blocks.div_ceil(4 * cores()).max(4);
    let stretches: Vec<_> = (0..blocks)
        .step_by(length)
        .map(|from| from..blocks.min(from + length))
        .collect();
    in_parallel(&stretches, |stretch| look(stretch.clone()))
}

/// Whether rows are in the order of their slots: by time, then by number.
pub(super) fn in_order(columns: &RequestColumns) -> bool {
    let fields = [Field::Scheduled, Field::Seq];
    let height = super::Columns::height(columns);
    let place = |scheduled: i64, seq: i64| (scheduled, seq.cast_unsigned());
    let stretches = by_stretch(height.div_ceil(BLOCK), |blocks| {
        let mut unpacked = unpacked(columns, fields);
        let mut ends: Option<(_, _)> = None;
        for number in blocks {
            let [scheduled, seq] = unpacked.block(number);
            let mut places = scheduled.iter().zip(seq).map(|(t, n)| place(*t, *n));
            let last = ends.map(|(_, last)| last);
            if !last.into_iter().chain(places.clone()).is_sorted() {
                return None;
            }
            let (first, last) = (places.clone().next()?, places.next_back()?);
            ends = Some((ends.map_or(first, |(first, _)| first), last));
        }
        ends
    });
    let Some(ends) = stretches.into_iter().collect::<Option<Vec<_>>>() else {
        return false;
    };
    ends.is_sorted_by(|(_, last), (first, _)| last <= first)
}
