//! Connections as columns.

use super::packed::Packed;
use super::texts::Texts;
use super::{Columns, Place, Table};
use crate::{ClosedBy, Connection, ConnectionRecord, Lane, RunOffset};

/// Many connections.
pub type Connections = Table<ConnectionColumns>;

/// Each field, or the flags together, as a column of whole numbers. Times but the start are distances from it.
#[derive(Debug, Clone, Default)]
pub struct ConnectionColumns {
    numbers: [Packed; NUMBERS],
    texts: [Texts; TEXTS.len()],
}

pub(crate) const ID: usize = 0;
pub(crate) const STARTED: usize = 1;
pub(crate) const ESTABLISHED: usize = 2;
pub(crate) const CLOSED: usize = 3;
pub(crate) const REQUESTS: usize = 4;
pub(crate) const LOCAL_PORT: usize = 5;
pub(crate) const PEER: usize = 6;
pub(crate) const SECURED: usize = 7;
pub(crate) const LOCAL_IP: usize = 8;
pub(crate) const RESOLVE_NANOS: usize = 9;
pub(crate) const RESOLVED: usize = 10;
pub(crate) const DETAIL: usize = 11;
pub(crate) const FATE: usize = 12;
pub(crate) const NUMBERS: usize = 13;

/// Columns of texts, each with its own.
const TEXTS: [usize; 4] = [PEER, LOCAL_IP, RESOLVED, DETAIL];

/// Where in the bits of one number lane and end are.
const LANE: i64 = 15;
const IDLE: i64 = 16;
const BY: u32 = 5;

// Every lane must fit into its bits.
const _: () = assert!(Lane::ALL.len() <= 16);

/// Lane and end in the bits of one number.
pub(crate) fn fate(lane: Lane, by: Option<ClosedBy>, idle: bool) -> i64 {
    let by = by.map_or(0, |by| by as i64 + 1);
    let idle = if idle { IDLE } else { 0 };
    by << BY | idle | lane as i64
}

impl ConnectionColumns {
    /// Columns as they were read, and the texts of those that have such.
    pub(crate) fn of(numbers: [Packed; NUMBERS], mut texts: [Texts; NUMBERS]) -> Self {
        Self {
            numbers,
            texts: TEXTS.map(|column| std::mem::take(&mut texts[column])),
        }
    }

    fn encode(&mut self, c: &Connection<'_>) -> [Option<i64>; NUMBERS] {
        let after = |t: Option<RunOffset>| Some(t?.0.wrapping_sub(c.started.0));
        let mut n = [None; NUMBERS];
        n[ID] = Some(c.id.cast_signed());
        n[STARTED] = Some(c.started.0);
        n[ESTABLISHED] = after(c.established);
        n[CLOSED] = after(c.closed);
        n[REQUESTS] = Some(i64::from(c.requests));
        n[LOCAL_PORT] = c.local_port.map(i64::from);
        n[SECURED] = after(c.secured);
        n[RESOLVE_NANOS] = c.resolve_nanos;
        let texts = [c.peer, c.local_ip, c.resolved, c.detail];
        for ((column, text), known) in TEXTS.into_iter().zip(texts).zip(&mut self.texts) {
            n[column] = text.map(|text| known.number(text));
        }
        n[FATE] = Some(fate(c.lane, c.closed_by, c.closed_idle));
        n
    }
}

impl Columns for ConnectionColumns {
    type Record = ConnectionRecord;
    type Row<'r> = Connection<'r>;

    fn view(record: &ConnectionRecord) -> Connection<'_> {
        record.view()
    }

    fn record(row: Connection<'_>) -> ConnectionRecord {
        row.to_record()
    }

    #[inline]
    fn height(&self) -> usize {
        self.numbers[ID].len()
    }

    fn push(&mut self, row: Connection<'_>) {
        let numbers = self.encode(&row);
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            column.push(number);
        }
    }

    fn row(&self, index: usize) -> Connection<'_> {
        let number = |column: usize| self.numbers[column].get(index);
        let started = number(STARTED).unwrap_or(0);
        let time = |column| Some(RunOffset(started.wrapping_add(number(column)?)));
        let text = |column: usize| Some(self.texts[column].text(number(TEXTS[column])?));
        let fate = number(FATE).unwrap_or(0);
        Connection {
            id: number(ID).unwrap_or(0).cast_unsigned(),
            lane: Lane::ALL[(fate & LANE) as usize % Lane::ALL.len()],
            started: RunOffset(started),
            established: time(ESTABLISHED),
            secured: time(SECURED),
            closed: time(CLOSED),
            closed_by: ((fate >> BY) as usize)
                .checked_sub(1)
                .and_then(|by| ClosedBy::ALL.get(by).copied()),
            closed_idle: fate & IDLE != 0,
            requests: number(REQUESTS).unwrap_or(0) as u32,
            local_port: number(LOCAL_PORT).map(|n| n as u16),
            peer: text(0),
            local_ip: text(1),
            resolve_nanos: number(RESOLVE_NANOS),
            resolved: text(2),
            detail: text(3),
        }
    }

    fn place(row: Connection<'_>) -> Place {
        (row.started, row.id)
    }

    fn is_in_order(&self) -> bool {
        let number = |column: usize, row| self.numbers[column].get(row).unwrap_or(0);
        let places =
            (0..self.height()).map(|row| (number(STARTED, row), number(ID, row).cast_unsigned()));
        places.is_sorted()
    }
}
