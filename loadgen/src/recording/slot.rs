//! One slot's story, which becomes its record.

use std::rc::Rc;

use rollscope_records::{Outcome, Phase, RequestRecord, RunOffset};

use super::Link;
use crate::connection::Connection;
use crate::context::Context;
use crate::outcome::Ending;
use crate::plan::PreparedRequest;
use crate::protocol::ResponseFacts;

/// A slot that is being sent. Whatever happens to it, it leaves exactly one record: the one it is finished with, or,
/// when it is dropped before, one with the outcome `aborted`.
#[derive(Debug)]
pub(crate) struct Slot {
    record: Option<RequestRecord>,
    replayable: bool,
    link: Option<Rc<Link>>,
    context: Rc<Context>,
}

impl Slot {
    /// Slot `seq`, which was due at `scheduled`. It counts as in flight from here on.
    pub(crate) fn new(
        context: &Rc<Context>,
        seq: u64,
        request: &PreparedRequest,
        scheduled: RunOffset,
    ) -> Self {
        context.tally.sent();
        let mut record = RequestRecord::scheduled(seq, request.lane, &request.name, scheduled);
        record.close_requested = request.close_requested;
        Self {
            record: Some(record),
            replayable: request.replayable(),
            link: None,
            context: Rc::clone(context),
        }
    }

    /// The generator begins with it.
    pub(crate) fn dispatched(&mut self) -> RunOffset {
        let now = self.context.clock.now();
        self.update(|r| r.dispatched = Some(now));
        if let Some(record) = &self.record {
            self.context
                .tally
                .dispatched(now.nanos_since(record.scheduled));
        }
        now
    }

    fn update(&mut self, change: impl FnOnce(&mut RequestRecord)) {
        if let Some(record) = &mut self.record {
            change(record);
        }
    }

    /// It goes on to `phase`.
    pub(crate) fn enter(&mut self, phase: Phase) {
        self.update(|r| r.phase = phase);
    }

    /// The phase it is in.
    pub(crate) fn phase(&self) -> Phase {
        let phase = self.record.as_ref().map_or(Phase::Queue, |r| r.phase);
        let unwritten = |l: &Rc<Link>| l.facts.borrow().written.is_none();
        match &self.link {
            Some(link) if phase == Phase::Head && unwritten(link) => Phase::Send,
            _ => phase,
        }
    }

    /// It uses the connection attempt `link`.
    pub(crate) fn on_fresh(&mut self, link: &Rc<Link>) {
        self.link = Some(Rc::clone(link));
        let connection = link.snapshot();
        self.update(|r| {
            r.connection = Some(connection.id);
            r.peer = connection.peer;
            r.ordinal = Some(0);
            r.reused = false;
            (r.connection_age, r.idle, r.local_port) = (None, None, None);
        });
    }

    /// The connection that it made stands.
    pub(crate) fn connected(&mut self, link: &Link) {
        let connection = link.snapshot();
        self.update(|r| {
            r.connected = connection.established;
            r.local_port = connection.local_port;
        });
    }

    /// It uses a connection of the pool.
    pub(crate) fn on_pooled(&mut self, pooled: &Connection) {
        self.link = Some(Rc::clone(&pooled.link));
        let connection = pooled.link.snapshot();
        self.update(|r| {
            let since = |t: Option<RunOffset>| Some(r.dispatched?.nanos_since(t?));
            r.connection_age = since(connection.established);
            r.idle = since(pooled.last_response);
            r.connection = Some(connection.id);
            r.ordinal = Some(connection.requests);
            r.reused = connection.requests > 0;
            r.local_port = connection.local_port;
            r.peer = connection.peer;
        });
    }

    /// The response's head is complete.
    pub(crate) fn head(&mut self, response: ResponseFacts) {
        let read = self.link.as_ref().and_then(|l| l.facts.borrow().last_read);
        let now = read.unwrap_or_else(|| self.context.clock.now());
        self.update(|r| {
            r.first_byte = Some(now);
            r.status = Some(response.status);
            r.close_received = response.close;
            r.pod = response.pod;
            r.emitted_by = response.emitted_by;
            r.phase = Phase::Body;
        });
    }

    /// The response is complete.
    pub(crate) fn answered(self, expected: bool) {
        let outcome = if expected {
            Outcome::Ok
        } else {
            Outcome::Status
        };
        self.end(Ending {
            outcome,
            phase: Phase::Done,
            errno: None,
        });
    }

    /// It is over.
    pub(crate) fn end(mut self, how: Ending) {
        self.write(how);
    }

    fn write(&mut self, how: Ending) {
        let Some(mut record) = self.record.take() else {
            return;
        };
        record.ended = Some(self.context.clock.now());
        (record.outcome, record.phase, record.errno) = (how.outcome, how.phase, how.errno);
        if let Some(link) = self.link.take() {
            let facts = *link.facts.borrow();
            record.written = facts.written;
            record.bytes_sent = facts.sent;
            record.bytes_received = facts.received;
            if facts.sent > 0 {
                link.count_request();
            }
        }
        // Clients re-send when a connection dies under a request, not when their patience ends.
        record.maskable = record.outcome.is_failure()
            && record.outcome != Outcome::DeadlineExceeded
            && record.reused
            && self.replayable
            && record.bytes_received == 0;
        self.context.tally.ended(&record);
        self.context.sink.request(record);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let how = Ending {
            outcome: Outcome::Aborted,
            phase: self.phase(),
            errno: None,
        };
        self.write(how);
    }
}
