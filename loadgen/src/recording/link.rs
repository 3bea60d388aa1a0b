//! One connection's story, which becomes its record.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rollscope_records::{ClosedBy, ConnectionRecord, RunClock, RunOffset, Text};

use super::{Outbox, Tally};
use crate::connection::{Goaway, PeerEnd, WireEnd, WireFacts};

/// When a request on a shared connection had been written; empty until then.
pub(crate) type Written = Rc<Cell<Option<RunOffset>>>;

/// A connection, from the attempt on. It is shared by the wire, the slot that uses it and the pool; when the last of
/// them lets go, its record is written.
pub(crate) struct Link {
    record: RefCell<ConnectionRecord>,
    /// The address that was asked for, for the records of its requests.
    peer: Option<Text>,
    /// What happens on its wire.
    pub(crate) facts: RefCell<WireFacts>,
    tls: bool,
    /// Whether it has been in the pool.
    pooled: Cell<bool>,
    /// Whether a request found it closed before a byte was written.
    found_closed: Cell<bool>,
    streams: Streams,
    clock: RunClock,
    outbox: Rc<Outbox>,
    tally: Rc<Tally>,
}

/// The requests of a shared (HTTP/2) connection.
#[derive(Debug, Default)]
struct Streams {
    begun: Cell<u32>,
    under_way: Cell<u32>,
    /// Those that wait for their first byte to be written.
    unwritten: RefCell<Vec<Written>>,
    /// Whether none was under way when the peer ended the connection.
    ended_idle: Cell<bool>,
    /// When the peer said GOAWAY.
    goaway: Cell<Option<RunOffset>>,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field("record", &self.record)
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// The attempt to connect that `record` describes.
    pub(crate) fn new(
        record: ConnectionRecord,
        tls: bool,
        clock: RunClock,
        outbox: Rc<Outbox>,
        tally: Rc<Tally>,
    ) -> Self {
        Self {
            peer: record.peer.as_deref().map(Text::from),
            record: RefCell::new(record),
            facts: RefCell::default(),
            tls,
            pooled: Cell::new(false),
            found_closed: Cell::new(false),
            streams: Streams::default(),
            clock,
            outbox,
            tally,
        }
    }

    /// Its id, unique in the run.
    pub(crate) fn id(&self) -> u64 {
        self.record.borrow().id
    }

    /// The address that was asked for, as `ip:port`.
    pub(crate) fn peer(&self) -> Option<Text> {
        self.peer.clone()
    }

    /// Whether there is TLS on it.
    pub(crate) const fn is_tls(&self) -> bool {
        self.tls
    }

    /// Its record as it stands.
    pub(crate) fn record(&self) -> std::cell::Ref<'_, ConnectionRecord> {
        self.record.borrow()
    }

    /// It stands.
    pub(crate) fn established(&self, at: RunOffset, local: Option<std::net::SocketAddr>) {
        let mut record = self.record.borrow_mut();
        record.established = Some(at);
        record.local_port = local.map(|a| a.port());
        record.local_ip = local.map(|a| a.ip().to_string());
    }

    /// Its TLS handshake is complete.
    pub(crate) fn secured(&self, at: RunOffset) {
        self.record.borrow_mut().secured = Some(at);
    }

    /// Why it could not be made or ended, in words; the first reason stays.
    pub(crate) fn because(&self, detail: &str) {
        let mut record = self.record.borrow_mut();
        record.detail.get_or_insert_with(|| detail.to_owned());
    }

    /// A request is about to be written.
    pub(crate) fn begin_request(&self) {
        self.facts.borrow_mut().begin_request();
    }

    /// A request that had been written, at least in part, is over.
    pub(crate) fn count_request(&self) {
        self.record.borrow_mut().requests += 1;
    }

    /// A request begins on a shared connection. Returns how many had begun before, and where its writing is noted.
    pub(crate) fn begin_stream(&self) -> (u32, Written) {
        let before = self.streams.begun.get();
        self.streams.begun.set(before + 1);
        self.streams.under_way.set(self.streams.under_way.get() + 1);
        let written = Written::default();
        self.streams
            .unwritten
            .borrow_mut()
            .push(Rc::clone(&written));
        (before, written)
    }

    /// A request on a shared connection is over.
    pub(crate) fn end_stream(&self) {
        self.streams.under_way.set(self.streams.under_way.get() - 1);
    }

    /// A request on a shared connection turned out not to have begun: nothing of it was taken.
    pub(crate) fn undo_stream(&self) {
        self.end_stream();
        self.streams.begun.set(self.streams.begun.get() - 1);
    }

    /// Bytes were written: on a shared connection, those of every request that waited for it.
    pub(crate) fn wrote(&self, bytes: usize, at: RunOffset) {
        self.facts.borrow_mut().took(bytes, at);
        for written in self.streams.unwritten.borrow_mut().drain(..) {
            written.set(Some(at));
        }
    }

    /// It goes into the pool.
    pub(crate) fn begin_idle(&self) {
        self.pooled.set(true);
        self.begin_request();
    }

    /// It ended, and not by us.
    pub(crate) fn ended(&self, end: WireEnd) {
        let mut facts = self.facts.borrow_mut();
        if facts.end.is_none() {
            let idle = self.streams.begun.get() > 0 && self.streams.under_way.get() == 0;
            self.streams.ended_idle.set(idle);
        }
        facts.ended(end);
    }

    /// The peer had ended it while nothing was being written, as is seen at this moment.
    pub(crate) fn found_ended(&self, end: PeerEnd, at: RunOffset) {
        self.ended(WireEnd {
            end,
            at,
            errno: None,
            writing: false,
        });
    }

    /// The peer said GOAWAY; the first one counts.
    pub(crate) fn went_away(&self, goaway: Goaway, at: RunOffset) {
        if self.streams.goaway.get().is_some() {
            return;
        }
        let reason = h2::Reason::from(goaway.code);
        let last = goaway.last_stream;
        self.because(&format!("GOAWAY {reason:?}, last stream {last}"));
        self.streams.goaway.set(Some(at));
        self.streams
            .ended_idle
            .set(self.streams.under_way.get() == 0);
    }

    /// A request that was to use it found it closed.
    pub(crate) fn found_closed(&self) {
        self.found_closed.set(true);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let facts = *self.facts.borrow();
        let mut record = self.record.borrow().clone();
        let goaway = self.streams.goaway.get();
        let ended = facts.end.map(|end| end.at);
        record.closed = Some(goaway.or(ended).unwrap_or_else(|| self.clock.now()));
        if record.established.is_some() {
            record.closed_by = match goaway {
                Some(_) => Some(ClosedBy::PeerGoaway),
                None => closed_by(facts.end),
            };
        }
        let idle_in_pool = self.pooled.get() && facts.sent == 0;
        record.closed_idle = idle_in_pool || self.streams.ended_idle.get();
        let by_peer = record.closed_by != Some(ClosedBy::Client) || self.found_closed.get();
        if record.closed_idle && by_peer {
            self.tally.idle_close();
        }
        self.outbox.connection(record);
    }
}

/// Who ended an established connection; `None` when neither side did (the kernel gave it up).
const fn closed_by(end: Option<WireEnd>) -> Option<ClosedBy> {
    match end {
        None => Some(ClosedBy::Client),
        Some(WireEnd { end, .. }) => match end {
            PeerEnd::Fin => Some(ClosedBy::PeerFin),
            PeerEnd::Reset => Some(ClosedBy::PeerReset),
            PeerEnd::BrokenTls => Some(ClosedBy::Client),
            PeerEnd::Lost => None,
        },
    }
}
