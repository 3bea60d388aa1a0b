//! Records on their way to the sink: handed over many at a time, so that neither side is woken for each of them.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rollscope_records::{ClockSample, ConnectionRecord, RequestRecord, StreamRecord, Text};

use super::RecordSink;

/// Records that are handed over at once, at most.
const BATCH: usize = 512;

/// Collects the records of one thread. What is in it when it is dropped is handed over.
pub(crate) struct Outbox {
    sink: Arc<dyn RecordSink>,
    requests: RefCell<Vec<RequestRecord<Text>>>,
    connections: RefCell<Vec<ConnectionRecord>>,
    /// The most that was handed over at once lately: how much room to make.
    room: Cell<usize>,
}

impl Outbox {
    /// An outbox before `sink`.
    pub(crate) fn new(sink: Arc<dyn RecordSink>) -> Self {
        Self {
            sink,
            requests: RefCell::default(),
            connections: RefCell::default(),
            room: Cell::new(0),
        }
    }

    /// A slot that is over.
    pub(crate) fn request(&self, record: RequestRecord<Text>) {
        let mut requests = self.requests.borrow_mut();
        if requests.capacity() == 0 {
            requests.reserve_exact(self.room.get().max(1));
        }
        requests.push(record);
        if requests.len() >= BATCH {
            drop(requests);
            self.hand_over();
        }
    }

    /// A connection that is over.
    pub(crate) fn connection(&self, record: ConnectionRecord) {
        let mut connections = self.connections.borrow_mut();
        connections.push(record);
        if connections.len() >= BATCH {
            drop(connections);
            self.hand_over();
        }
    }

    /// A connection that was held open and is over.
    pub(crate) fn stream(&self, record: StreamRecord) {
        self.sink.stream(record);
    }

    /// A sample of a clock of the target.
    pub(crate) fn clock_sample(&self, sample: ClockSample) {
        self.sink.clock_sample(sample);
    }

    /// Hands over what there is.
    pub(crate) fn hand_over(&self) {
        let requests = self.requests.take();
        let connections = self.connections.take();
        self.room.set(requests.len());
        if !requests.is_empty() || !connections.is_empty() {
            self.sink.records(requests, connections);
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.hand_over();
    }
}
