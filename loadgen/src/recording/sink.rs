//! Where the records go.

use rollscope_records::{
    ClockSample, ConnectionRecord, RecordingWriter, RequestRecord, StreamRecord, Text,
};

/// Takes the generator's records. Called on the generator's threads, between two requests: it must not wait for
/// anything, and counts what it cannot take.
pub trait RecordSink: Send + Sync {
    /// Slots and connections that are over, each in the order in which they ended.
    fn records(&self, requests: Vec<RequestRecord<Text>>, connections: Vec<ConnectionRecord>);

    /// A connection that was held open and is over. Not kept where a sink does not say otherwise.
    fn stream(&self, _record: StreamRecord) {}

    /// A sample of a clock of the target. Not kept where a sink does not say otherwise.
    fn clock_sample(&self, _sample: ClockSample) {}

    /// Records that it could not take so far.
    fn lost(&self) -> u64 {
        0
    }
}

impl RecordSink for RecordingWriter {
    fn records(&self, requests: Vec<RequestRecord<Text>>, connections: Vec<ConnectionRecord>) {
        self.batch(requests, connections);
    }

    fn stream(&self, record: StreamRecord) {
        Self::stream(self, record);
    }

    fn clock_sample(&self, sample: ClockSample) {
        Self::clock_sample(self, sample);
    }

    fn lost(&self) -> u64 {
        Self::lost(self)
    }
}
