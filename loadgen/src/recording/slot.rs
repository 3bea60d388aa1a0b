//! One slot's story, which becomes its record.

use std::rc::Rc;

use rollscope_records::{Outcome, Phase, RequestRecord, RunOffset, Text};

use super::{Link, Written};
use crate::connection::Connection;
use crate::context::Context;
use crate::outcome::Ending;
use crate::plan::PreparedRequest;
use crate::protocol::ResponseFacts;

/// A slot that is being sent. Whatever happens to it, it leaves exactly one record: the one it is finished with, or,
/// when it is dropped before, one with the outcome `aborted`.
#[derive(Debug)]
pub(crate) struct Slot {
    record: Option<RequestRecord<Text>>,
    replayable: bool,
    link: Option<Rc<Link>>,
    stream: Option<Stream>,
    context: Rc<Context>,
}

/// What a slot on a shared connection has to itself.
#[derive(Debug)]
struct Stream {
    written: Written,
    body: u64,
    received: u64,
}

impl Slot {
    /// Slot `seq`, which was due at `scheduled`, and has been admitted: it is in flight from here on.
    pub(crate) fn new(
        context: &Rc<Context>,
        seq: u64,
        request: &PreparedRequest,
        scheduled: RunOffset,
    ) -> Self {
        let mut record =
            RequestRecord::due(seq, request.lane, Text::clone(&request.name), scheduled);
        record.close_requested = request.close_requested;
        Self {
            record: Some(record),
            replayable: request.replayable(),
            link: None,
            stream: None,
            context: Rc::clone(context),
        }
    }

    /// The number of the slot.
    pub(crate) fn seq(&self) -> u64 {
        self.record.as_ref().map_or(0, |r| r.seq)
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

    fn update(&mut self, change: impl FnOnce(&mut RequestRecord<Text>)) {
        if let Some(record) = &mut self.record {
            change(record);
        }
    }

    /// It goes on to `phase`.
    pub(crate) fn enter(&mut self, phase: Phase) {
        self.update(|r| r.phase = phase);
    }

    /// Why it will fail, in words, where the outcome leaves that open.
    pub(crate) fn because(&mut self, detail: impl Into<Text>) {
        self.update(|r| r.detail = Some(detail.into()));
    }

    /// The phase it is in.
    pub(crate) fn phase(&self) -> Phase {
        let phase = self.record.as_ref().map_or(Phase::Queue, |r| r.phase);
        let written = match (&self.stream, &self.link) {
            (Some(stream), _) => stream.written.get().is_some(),
            (None, Some(link)) => link.facts.borrow().written.is_some(),
            (None, None) => true,
        };
        match phase {
            Phase::Head if !written => Phase::Send,
            phase => phase,
        }
    }

    /// It uses the connection attempt `link`.
    pub(crate) fn on_fresh(&mut self, link: &Rc<Link>) {
        self.link = Some(Rc::clone(link));
        let connection = link.record();
        self.update(|r| {
            r.connection = Some(connection.id);
            r.peer = link.peer();
            r.ordinal = Some(0);
            (r.reused, r.detail) = (false, None);
            (r.connection_age, r.idle, r.local_port) = (None, None, None);
        });
    }

    /// The connection that it made stands.
    pub(crate) fn connected(&mut self, link: &Link) {
        let connection = link.record();
        self.update(|r| {
            r.connected = connection.established;
            r.local_port = connection.local_port;
        });
    }

    /// It uses a connection of the pool.
    pub(crate) fn on_pooled(&mut self, pooled: &Connection) {
        self.link = Some(Rc::clone(&pooled.link));
        let connection = pooled.link.record();
        self.update(|r| {
            let since = |t: Option<RunOffset>| Some(r.dispatched?.nanos_since(t?));
            r.connection_age = since(connection.established);
            r.idle = since(pooled.last_response);
            r.connection = Some(connection.id);
            r.ordinal = Some(connection.requests);
            r.reused = connection.requests > 0;
            r.local_port = connection.local_port;
            r.peer = pooled.link.peer();
        });
    }

    /// It begins a stream on a shared connection, with a body of so many bytes.
    pub(crate) fn on_shared(&mut self, link: &Rc<Link>, body: u64) {
        self.link = Some(Rc::clone(link));
        let (before, written) = link.begin_stream();
        self.stream = Some(Stream {
            written,
            body,
            received: 0,
        });
        let connection = link.record();
        self.update(|r| {
            r.connection = Some(connection.id);
            r.ordinal = Some(before);
            (r.reused, r.detail) = (before > 0, None);
            r.local_port = connection.local_port;
            r.peer = link.peer();
            if before > 0 {
                let since = |t: Option<RunOffset>| Some(r.dispatched?.nanos_since(t?));
                // A connection that was made while this request waited for it has no age yet.
                r.connection_age = since(connection.established).map(|age| age.max(0));
            }
        });
    }

    /// It leaves its shared connection, of which it has used nothing.
    pub(crate) fn leave_shared(&mut self) {
        if let (Some(_), Some(link)) = (self.stream.take(), &self.link) {
            link.undo_stream();
        }
    }

    /// Bytes of a response's body came on its stream.
    pub(crate) fn came(&mut self, bytes: usize) {
        if let Some(stream) = &mut self.stream {
            stream.received += bytes as u64;
        }
    }

    /// The response's head is complete.
    pub(crate) fn head(&mut self, response: ResponseFacts) {
        let read = self.link.as_ref().and_then(|l| l.facts.borrow().last_read);
        let now = read.unwrap_or_else(|| self.context.clock.now());
        self.sample_date(&response, now);
        self.update(|r| {
            r.first_byte = Some(now);
            r.status = Some(response.status);
            r.close_received = response.close;
            r.pod = response.pod;
            r.emitted_by = response.emitted_by;
            r.phase = Phase::Body;
        });
    }

    fn sample_date(&self, response: &ResponseFacts, now: RunOffset) {
        if let Some(dates) = &self.context.dates
            && let Some(date) = &response.date
            && let Some(before) = self.record.as_ref().and_then(|r| r.dispatched)
        {
            for sample in dates.seen(response.pod.as_deref(), date.clone(), before, now) {
                self.context.outbox.clock_sample(sample);
            }
        }
    }

    /// HTTP has been left: what is written from now on is no part of the request.
    pub(crate) fn switched(&mut self) {
        let written = self.link.as_ref().and_then(|l| l.facts.borrow().written);
        self.update(|r| r.written = written);
    }

    /// The response is complete; `outcome` says whether it was as expected.
    pub(crate) fn answered(self, outcome: Outcome) {
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
        self.account(&mut record);
        record.maskable = self.is_maskable(&record);
        self.context.tally.ended(&record);
        self.context.outbox.request(record);
    }

    /// Puts down what was written and read, and counts the request on its connection.
    fn account(&mut self, record: &mut RequestRecord<Text>) {
        let Some(link) = self.link.take() else {
            return;
        };
        if let Some(stream) = self.stream.take() {
            record.written = stream.written.get();
            record.bytes_sent = record.written.map_or(0, |_| stream.body);
            record.bytes_received = stream.received;
            link.end_stream();
            if record.written.is_some() {
                link.count_request();
            }
            return;
        }
        let facts = *link.facts.borrow();
        record.written = record.written.or(facts.written);
        record.bytes_sent = facts.sent;
        record.bytes_received = facts.received;
        if facts.sent > 0 {
            link.count_request();
        }
    }

    /// Whether a client that re-sends in silence would have hidden it.
    fn is_maskable(&self, record: &RequestRecord<Text>) -> bool {
        let unanswered = record.bytes_received == 0 && record.status.is_none();
        match record.outcome {
            // The peer says that it has not looked at the request: any client may send it again, whatever its method.
            Outcome::Goaway | Outcome::RefusedStream => unanswered,
            // Clients re-send when a connection dies under a request, not when their patience ends.
            Outcome::DeadlineExceeded => false,
            outcome if !outcome.is_failure() || outcome.is_connect_failure() => false,
            _ => record.reused && self.replayable && unanswered,
        }
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
