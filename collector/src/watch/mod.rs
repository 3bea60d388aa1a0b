//! list + watch of one kind, recorded truthfully: what was not seen is a gap in the recording, never a silent hole.

mod event;
mod kind_watch;
mod known;
mod timing;

pub(crate) use kind_watch::KindWatch;
pub use timing::WatchTiming;
