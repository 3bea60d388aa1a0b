//! When slots are due, which of them go together, and how to wait for that.

mod curve;
mod pace;
mod pacer;
mod poisson;
mod schedule;
mod timer;
mod timetable;

pub(crate) use pace::{Going, Pacer, tolerance};
pub use pacer::ConstantRate;
pub use schedule::Schedule;
pub(crate) use timer::SlotTimer;
pub(crate) use timetable::Place;
pub use timetable::Timetable;
