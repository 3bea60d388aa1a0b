//! Where the records go.

use rollscope_records::{ConnectionRecord, RecordingWriter, RequestRecord};

/// Takes the generator's records. Both methods are called on the generator's thread, between two requests: they must
/// not wait for anything.
pub trait RecordSink: Send + Sync {
    /// A slot that is over.
    fn request(&self, record: RequestRecord);

    /// A connection that is over.
    fn connection(&self, record: ConnectionRecord);
}

impl RecordSink for RecordingWriter {
    fn request(&self, record: RequestRecord) {
        Self::request(self, record);
    }

    fn connection(&self, record: ConnectionRecord) {
        Self::connection(self, record);
    }
}
