//! Where the records go.

use rollscope_records::{ConnectionRecord, RecordingWriter, RequestRecord};

/// Takes the generator's records. Called on the generator's threads, between two requests: it must not wait for
/// anything, and counts what it cannot take.
pub trait RecordSink: Send + Sync {
    /// Slots and connections that are over, each in the order in which they ended.
    fn records(&self, requests: Vec<RequestRecord>, connections: Vec<ConnectionRecord>);

    /// Records that it could not take so far.
    fn lost(&self) -> u64 {
        0
    }
}

impl RecordSink for RecordingWriter {
    fn records(&self, requests: Vec<RequestRecord>, connections: Vec<ConnectionRecord>) {
        self.batch(requests, connections);
    }

    fn lost(&self) -> u64 {
        Self::lost(self)
    }
}
