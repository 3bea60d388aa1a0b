//! Requests as packed columns.

use super::packed::Packed;
use super::texts::Texts;
use super::{Columns, Field, Place, Table};
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

pub(crate) const SEQ: usize = 0;
pub(crate) const SCHEDULED: usize = 1;
pub(crate) const DISPATCHED: usize = 2;
pub(crate) const CONNECTED: usize = 3;
pub(crate) const WRITTEN: usize = 4;
pub(crate) const FIRST_BYTE: usize = 5;
pub(crate) const ENDED: usize = 6;
pub(crate) const CONNECTION: usize = 7;
pub(crate) const ORDINAL: usize = 8;
pub(crate) const CONNECTION_AGE: usize = 9;
pub(crate) const IDLE: usize = 10;
pub(crate) const LOCAL_PORT: usize = 11;
pub(crate) const STATUS: usize = 12;
pub(crate) const ERRNO: usize = 13;
pub(crate) const BYTES_SENT: usize = 14;
pub(crate) const BYTES_RECEIVED: usize = 15;
pub(crate) const NAME: usize = 16;
pub(crate) const PEER: usize = 17;
pub(crate) const POD: usize = 18;
pub(crate) const HINT: usize = 19;
pub(crate) const DETAIL: usize = 20;
pub(crate) const FATE: usize = 21;
pub(crate) const NUMBERS: usize = 22;

// Every name must fit into its bits.
const _: () = assert!(Outcome::ALL.len() <= 32 && Phase::ALL.len() <= 8 && Lane::ALL.len() <= 16);

/// How a request ended, and its flags, in the bits of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate(pub(crate) i64);

impl Fate {
    const OUTCOME: u32 = 0;
    const PHASE: u32 = 5;
    const LANE: u32 = 8;
    const REUSED: u32 = 12;
    const CLOSE_REQUESTED: u32 = 13;
    const CLOSE_RECEIVED: u32 = 14;
    const MASKABLE: u32 = 15;

    fn of(r: &Request<'_>) -> Self {
        let flags = [r.reused, r.close_requested, r.close_received, r.maskable];
        Self(
            Self::of_outcome(r.outcome)
                | Self::of_phase(r.phase)
                | Self::of_lane(r.lane)
                | Self::of_flags(flags),
        )
    }

    pub(crate) const fn of_outcome(outcome: Outcome) -> i64 {
        (outcome as i64) << Self::OUTCOME
    }

    pub(crate) const fn of_phase(phase: Phase) -> i64 {
        (phase as i64) << Self::PHASE
    }

    pub(crate) const fn of_lane(lane: Lane) -> i64 {
        (lane as i64) << Self::LANE
    }

    /// Reused, close requested, close received, maskable.
    pub(crate) fn of_flags(flags: [bool; 4]) -> i64 {
        let bits = [
            Self::REUSED,
            Self::CLOSE_REQUESTED,
            Self::CLOSE_RECEIVED,
            Self::MASKABLE,
        ];
        let flags = flags.into_iter().zip(bits);
        flags.fold(0, |all, (set, bit)| all | i64::from(set) << bit)
    }

    /// The fate that an unpacked number says.
    #[inline(always)]
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// How the request ended.
    #[inline(always)]
    pub fn outcome(self) -> Outcome {
        Outcome::ALL[(self.0 >> Self::OUTCOME & 31) as usize % Outcome::ALL.len()]
    }

    /// Where it ended.
    #[inline(always)]
    pub fn phase(self) -> Phase {
        Phase::ALL[(self.0 >> Self::PHASE & 7) as usize]
    }

    /// The kind of its connection.
    #[inline(always)]
    pub fn lane(self) -> Lane {
        Lane::ALL[(self.0 >> Self::LANE & 15) as usize % Lane::ALL.len()]
    }

    /// Whether the connection had carried a request before.
    #[inline(always)]
    pub const fn reused(self) -> bool {
        self.flag(Self::REUSED)
    }

    /// Whether the request said `Connection: close`.
    #[inline(always)]
    pub const fn close_requested(self) -> bool {
        self.flag(Self::CLOSE_REQUESTED)
    }

    /// Whether the response said `Connection: close`.
    #[inline(always)]
    pub const fn close_received(self) -> bool {
        self.flag(Self::CLOSE_RECEIVED)
    }

    /// Whether a client that silently re-sends would have hidden the failure.
    #[inline(always)]
    pub const fn maskable(self) -> bool {
        self.flag(Self::MASKABLE)
    }

    #[inline(always)]
    const fn flag(self, bit: u32) -> bool {
        self.0 >> bit & 1 == 1
    }
}

impl RequestColumns {
    /// Columns as they were read, and the texts of those that have such.
    pub(crate) fn of(numbers: [Packed; NUMBERS], mut texts: [Texts; NUMBERS]) -> Self {
        let mut texts = |column: usize| std::mem::take(&mut texts[column]);
        Self {
            names: texts(NAME),
            peers: texts(PEER),
            pods: texts(POD),
            hints: texts(HINT),
            details: texts(DETAIL),
            numbers,
        }
    }

    pub(super) fn column(&self, field: Field) -> &Packed {
        &self.numbers[field as usize]
    }

    pub(super) fn texts(&self, field: Field) -> Option<&Texts> {
        match field {
            Field::Name => Some(&self.names),
            Field::Peer => Some(&self.peers),
            Field::Pod => Some(&self.pods),
            _ => None,
        }
    }

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
            reused: fate.reused(),
            local_port: number(LOCAL_PORT).map(|n| n as u16),
            peer: number(PEER).map(|n| self.peers.text(n)),
            status: number(STATUS).map(|n| n as u16),
            outcome: fate.outcome(),
            phase: fate.phase(),
            errno: number(ERRNO).map(|n| n as i32),
            bytes_sent: count(BYTES_SENT),
            bytes_received: count(BYTES_RECEIVED),
            close_requested: fate.close_requested(),
            close_received: fate.close_received(),
            pod: number(POD).map(|n| self.pods.text(n)),
            emitted_by: number(HINT).map(|n| self.hints.text(n)),
            maskable: fate.maskable(),
            detail: number(DETAIL).map(|n| self.details.text(n)),
        }
    }

    fn place(row: Request<'_>) -> Place {
        (row.scheduled, row.seq)
    }

    fn is_in_order(&self) -> bool {
        super::blocks::in_order(self)
    }
}
