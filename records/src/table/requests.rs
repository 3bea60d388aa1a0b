//! Requests as packed columns.

use super::packed::Packed;
use super::texts::Texts;
use super::{Columns, Place, Table};
use crate::{Lane, Outcome, Phase, Request, RequestRecord, RunOffset};

/// Many requests.
pub type Requests = Table<RequestColumns>;

/// Each field, or the flags together, as a column of whole numbers. Times but the scheduled one are distances from it.
#[derive(Debug, Clone, Default)]
pub struct RequestColumns {
    numbers: [Packed; NUMBERS],
    names: Texts,
    peers: Texts,
    pods: Texts,
    hints: Texts,
    details: Texts,
}

const SEQ: usize = 0;
const SCHEDULED: usize = 1;
const DISPATCHED: usize = 2;
const CONNECTED: usize = 3;
const WRITTEN: usize = 4;
const FIRST_BYTE: usize = 5;
const ENDED: usize = 6;
const CONNECTION: usize = 7;
const ORDINAL: usize = 8;
const CONNECTION_AGE: usize = 9;
const IDLE: usize = 10;
const LOCAL_PORT: usize = 11;
const STATUS: usize = 12;
const ERRNO: usize = 13;
const BYTES_SENT: usize = 14;
const BYTES_RECEIVED: usize = 15;
const NAME: usize = 16;
const PEER: usize = 17;
const POD: usize = 18;
const HINT: usize = 19;
const DETAIL: usize = 20;
const FATE: usize = 21;
const NUMBERS: usize = 22;

// Every name must fit into its bits.
const _: () = assert!(Outcome::ALL.len() <= 32 && Phase::ALL.len() <= 8 && Lane::ALL.len() <= 16);

/// How a request ended, and its flags, in the bits of one number.
#[derive(Clone, Copy)]
struct Fate(i64);

impl Fate {
    const OUTCOME: u32 = 0;
    const PHASE: u32 = 5;
    const LANE: u32 = 8;
    const REUSED: u32 = 12;
    const CLOSE_REQUESTED: u32 = 13;
    const CLOSE_RECEIVED: u32 = 14;
    const MASKABLE: u32 = 15;

    fn of(r: &Request<'_>) -> Self {
        let flag = |set: bool, bit: u32| i64::from(set) << bit;
        Self(
            (r.outcome as i64) << Self::OUTCOME
                | (r.phase as i64) << Self::PHASE
                | (r.lane as i64) << Self::LANE
                | flag(r.reused, Self::REUSED)
                | flag(r.close_requested, Self::CLOSE_REQUESTED)
                | flag(r.close_received, Self::CLOSE_RECEIVED)
                | flag(r.maskable, Self::MASKABLE),
        )
    }

    #[inline(always)]
    fn outcome(self) -> Outcome {
        Outcome::ALL[(self.0 >> Self::OUTCOME & 31) as usize % Outcome::ALL.len()]
    }

    #[inline(always)]
    fn phase(self) -> Phase {
        Phase::ALL[(self.0 >> Self::PHASE & 7) as usize]
    }

    #[inline(always)]
    fn lane(self) -> Lane {
        Lane::ALL[(self.0 >> Self::LANE & 15) as usize % Lane::ALL.len()]
    }

    const fn flag(self, bit: u32) -> bool {
        self.0 >> bit & 1 == 1
    }
}

impl RequestColumns {
    fn encode(&mut self, r: &Request<'_>) -> [Option<i64>; NUMBERS] {
        let after = |t: Option<RunOffset>| Some(t?.0.wrapping_sub(r.scheduled.0));
        let mut n = [None; NUMBERS];
        n[SEQ] = Some(r.seq.cast_signed());
        n[SCHEDULED] = Some(r.scheduled.0);
        n[DISPATCHED] = after(r.dispatched);
        n[CONNECTED] = after(r.connected);
        n[WRITTEN] = after(r.written);
        n[FIRST_BYTE] = after(r.first_byte);
        n[ENDED] = after(r.ended);
        n[CONNECTION] = r.connection.map(u64::cast_signed);
        n[ORDINAL] = r.ordinal.map(i64::from);
        n[CONNECTION_AGE] = r.connection_age;
        n[IDLE] = r.idle;
        n[LOCAL_PORT] = r.local_port.map(i64::from);
        n[STATUS] = r.status.map(i64::from);
        n[ERRNO] = r.errno.map(i64::from);
        n[BYTES_SENT] = Some(r.bytes_sent.cast_signed());
        n[BYTES_RECEIVED] = Some(r.bytes_received.cast_signed());
        n[NAME] = Some(self.names.number(r.name));
        n[PEER] = r.peer.map(|text| self.peers.number(text));
        n[POD] = r.pod.map(|text| self.pods.number(text));
        n[HINT] = r.emitted_by.map(|text| self.hints.number(text));
        n[DETAIL] = r.detail.map(|text| self.details.number(text));
        n[FATE] = Some(Fate::of(r).0);
        n
    }

    #[inline(always)]
    fn number(&self, column: usize, index: usize) -> Option<i64> {
        self.numbers[column].get(index)
    }
}

impl Columns for RequestColumns {
    type Record = RequestRecord;
    type Row<'r> = Request<'r>;

    fn view(record: &RequestRecord) -> Request<'_> {
        record.view()
    }

    fn record(row: Request<'_>) -> RequestRecord {
        row.to_record()
    }

    #[inline]
    fn height(&self) -> usize {
        self.numbers[SEQ].len()
    }

    fn push(&mut self, row: Request<'_>) {
        let numbers = self.encode(&row);
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            column.push(number);
        }
    }

    /// Inlined wherever it is used, so that only the fields that are looked at are unpacked.
    #[inline(always)]
    fn row(&self, index: usize) -> Request<'_> {
        let number = |column| self.number(column, index);
        let scheduled = number(SCHEDULED).unwrap_or(0);
        let time = |column| Some(RunOffset(scheduled.wrapping_add(number(column)?)));
        let count = |column| number(column).unwrap_or(0).cast_unsigned();
        let fate = Fate(number(FATE).unwrap_or(0));
        Request {
            seq: count(SEQ),
            lane: fate.lane(),
            name: number(NAME).map_or("", |n| self.names.text(n)),
            scheduled: RunOffset(scheduled),
            dispatched: time(DISPATCHED),
            connected: time(CONNECTED),
            written: time(WRITTEN),
            first_byte: time(FIRST_BYTE),
            ended: time(ENDED),
            connection: number(CONNECTION).map(i64::cast_unsigned),
            ordinal: number(ORDINAL).map(|n| n as u32),
            connection_age: number(CONNECTION_AGE),
            idle: number(IDLE),
            reused: fate.flag(Fate::REUSED),
            local_port: number(LOCAL_PORT).map(|n| n as u16),
            peer: number(PEER).map(|n| self.peers.text(n)),
            status: number(STATUS).map(|n| n as u16),
            outcome: fate.outcome(),
            phase: fate.phase(),
            errno: number(ERRNO).map(|n| n as i32),
            bytes_sent: count(BYTES_SENT),
            bytes_received: count(BYTES_RECEIVED),
            close_requested: fate.flag(Fate::CLOSE_REQUESTED),
            close_received: fate.flag(Fate::CLOSE_RECEIVED),
            pod: number(POD).map(|n| self.pods.text(n)),
            emitted_by: number(HINT).map(|n| self.hints.text(n)),
            maskable: fate.flag(Fate::MASKABLE),
            detail: number(DETAIL).map(|n| self.details.text(n)),
        }
    }

    fn place(row: Request<'_>) -> Place {
        (row.scheduled, row.seq)
    }
}
