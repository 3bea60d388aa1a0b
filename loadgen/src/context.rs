//! What every slot of one generator thread shares.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use rollscope_records::{ConnectionRecord, Lane, RunClock};

use crate::connection::{Dialer, Pool, Tls};
use crate::plan::Plan;
use crate::recording::{Link, RecordSink, Tally};

/// What every slot of one generator thread shares.
pub(crate) struct Context {
    pub(crate) plan: Plan,
    pub(crate) clock: RunClock,
    pub(crate) sink: Arc<dyn RecordSink>,
    pub(crate) dialer: Arc<dyn Dialer>,
    pub(crate) tls: Option<Tls>,
    pub(crate) pool: Rc<Pool>,
    pub(crate) tally: Rc<Tally>,
    /// The next connection's id.
    pub(crate) next_connection: Cell<u64>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl Context {
    /// The record of a new attempt to connect to `address`, which begins now.
    pub(crate) fn new_link(&self, lane: Lane, address: SocketAddr) -> Rc<Link> {
        let id = self.next_connection.get();
        self.next_connection.set(id + 1);
        let mut record = ConnectionRecord::attempt(id, lane, self.clock.now());
        record.peer = Some(address.to_string());
        let sink = Arc::clone(&self.sink);
        let tally = Rc::clone(&self.tally);
        let link = Link::new(record, self.tls.is_some(), self.clock, sink, tally);
        Rc::new(link)
    }
}
