//! One connection's story, which becomes its record.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use rollscope_records::{ClosedBy, ConnectionRecord, RunClock, RunOffset};

use super::{RecordSink, Tally};
use crate::connection::{PeerEnd, WireEnd, WireFacts};

/// A connection, from the attempt on. It is shared by the wire, the slot that uses it and the pool; when the last of
/// them lets go, its record is written.
pub(crate) struct Link {
    record: RefCell<ConnectionRecord>,
    /// What happens on its wire.
    pub(crate) facts: RefCell<WireFacts>,
    tls: bool,
    /// Whether it has been in the pool.
    pooled: Cell<bool>,
    /// Whether a request found it closed before a byte was written.
    found_closed: Cell<bool>,
    clock: RunClock,
    sink: Arc<dyn RecordSink>,
    tally: Rc<Tally>,
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
        sink: Arc<dyn RecordSink>,
        tally: Rc<Tally>,
    ) -> Self {
        Self {
            record: RefCell::new(record),
            facts: RefCell::default(),
            tls,
            pooled: Cell::new(false),
            found_closed: Cell::new(false),
            clock,
            sink,
            tally,
        }
    }

    /// Its id, unique in the run.
    pub(crate) fn id(&self) -> u64 {
        self.record.borrow().id
    }

    /// Whether there is TLS on it.
    pub(crate) const fn is_tls(&self) -> bool {
        self.tls
    }

    /// A copy of its record as it stands.
    pub(crate) fn snapshot(&self) -> ConnectionRecord {
        self.record.borrow().clone()
    }

    /// It stands.
    pub(crate) fn established(&self, at: RunOffset, local_port: Option<u16>) {
        let mut record = self.record.borrow_mut();
        record.established = Some(at);
        record.local_port = local_port;
    }

    /// A request is about to be written.
    pub(crate) fn begin_request(&self) {
        self.facts.borrow_mut().begin_request();
    }

    /// A request that had been written, at least in part, is over.
    pub(crate) fn count_request(&self) {
        self.record.borrow_mut().requests += 1;
    }

    /// It goes into the pool.
    pub(crate) fn begin_idle(&self) {
        self.pooled.set(true);
        self.begin_request();
    }

    /// It ended, and not by us.
    pub(crate) fn ended(&self, end: WireEnd) {
        self.facts.borrow_mut().ended(end);
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
        record.closed = Some(facts.end.map_or_else(|| self.clock.now(), |end| end.at));
        if record.established.is_some() {
            record.closed_by = closed_by(facts.end);
        }
        record.closed_idle = self.pooled.get() && facts.sent == 0;
        let by_peer = record.closed_by != Some(ClosedBy::Client) || self.found_closed.get();
        if record.closed_idle && by_peer {
            self.tally.idle_close();
        }
        self.sink.connection(record);
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
