//! What becomes of slots and connections: one record each, whatever happens.

mod dates;
mod link;
mod outbox;
mod sink;
mod slot;
mod stats;
mod texts;

pub(crate) use dates::Dates;
pub(crate) use link::{Link, Written};
pub(crate) use outbox::Outbox;
pub use sink::RecordSink;
pub(crate) use slot::Slot;
pub(crate) use stats::{Counters, Tally, lateness};
pub use stats::{LatencySnapshot, LoadStats};
pub(crate) use texts::Texts;
