//! What every slot of one generator thread shares.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use rollscope_records::{ConnectionRecord, Lane, RunClock};

use crate::connection::{Dialer, Multiplex, Pool, Tls};
use crate::plan::Plan;
use crate::protocol::ResponseFacts;
use crate::recording::{Dates, Link, Outbox, Tally, Texts};
use crate::running::Checked;
use crate::target::Resolved;

/// What every slot of one generator thread shares.
pub(crate) struct Context {
    pub(crate) plan: Arc<Plan>,
    pub(crate) clock: RunClock,
    pub(crate) outbox: Rc<Outbox>,
    pub(crate) dialer: Arc<dyn Dialer>,
    pub(crate) tls: Option<Tls>,
    pub(crate) pool: Rc<Pool>,
    pub(crate) multiplex: Multiplex,
    pub(crate) tally: Rc<Tally>,
    pub(crate) texts: Texts,
    pub(crate) connection_ids: ConnectionIds,
    /// What the target's clocks say, where several generators need a clock in common.
    pub(crate) dates: Option<Dates>,
}

/// Numbers for connections, unique in the run: each thread counts in steps of the number of threads.
#[derive(Debug)]
pub(crate) struct ConnectionIds {
    next: Cell<u64>,
    step: u64,
}

impl ConnectionIds {
    /// The numbers of thread `thread` of `threads`.
    pub(crate) const fn new(thread: u64, threads: u64) -> Self {
        Self {
            next: Cell::new(thread),
            step: threads,
        }
    }

    fn next(&self) -> u64 {
        let id = self.next.get();
        self.next.set(id + self.step);
        id
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl Context {
    /// What one thread of `checked` shares.
    pub(crate) fn new(checked: &Checked, tally: Tally, connection_ids: ConnectionIds) -> Self {
        let plan = &checked.plan;
        let own_part = |connections: usize| connections.div_ceil(plan.threads);
        Self {
            pool: Rc::new(Pool::new(own_part(plan.pool_size), plan.keep_alive)),
            multiplex: Multiplex::new(own_part(plan.multiplex_size)),
            plan: Arc::clone(plan),
            clock: checked.clock,
            outbox: Rc::new(Outbox::new(Arc::clone(&checked.sink))),
            dialer: Arc::clone(&checked.dialer),
            tls: checked.tls.clone(),
            tally: Rc::new(tally),
            texts: Texts::default(),
            connection_ids,
            dates: plan.share.map(|_| Dates::default()),
        }
    }

    /// What a record keeps of a response's head.
    pub(crate) fn facts<B>(&self, response: &http::Response<B>) -> ResponseFacts {
        let pod_header = self.plan.pod_header.as_ref();
        ResponseFacts::of(
            response.status(),
            response.headers(),
            pod_header,
            &self.texts,
        )
    }

    /// The record of a new attempt to connect to `address`, one of those `resolved`, which begins now.
    pub(crate) fn new_link(
        &self,
        lane: Lane,
        address: SocketAddr,
        resolved: &Resolved,
    ) -> Rc<Link> {
        let id = self.connection_ids.next();
        let mut record = ConnectionRecord::attempt(id, lane, self.clock.now());
        record.peer = Some(address.to_string());
        record.resolve_nanos = resolved.took_nanos;
        record.resolved = resolved.took_nanos.map(|_| resolved.in_words());
        let outbox = Rc::clone(&self.outbox);
        let tally = Rc::clone(&self.tally);
        let link = Link::new(record, self.tls.is_some(), self.clock, outbox, tally);
        Rc::new(link)
    }
}
