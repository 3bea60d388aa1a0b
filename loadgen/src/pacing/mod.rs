//! When slots are due, and how to wait for that.

mod pacer;
mod timer;

pub use pacer::ConstantRate;
pub(crate) use timer::SlotTimer;
