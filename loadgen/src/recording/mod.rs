//! What becomes of slots and connections: one record each, whatever happens.

mod link;
mod sink;
mod slot;
mod stats;

pub(crate) use link::Link;
pub use sink::RecordSink;
pub(crate) use slot::Slot;
pub(crate) use stats::{Counters, Tally};
pub use stats::{LatencySnapshot, LoadStats};
