//! The constant-rate load generator: pacing, connections, outcomes, recording.
//!
//! The parts are kept apart, so that each can grow alone:
//!
//! - **pacing**: [`Schedule`] (pure: when is slot *i* due), the pacer (pure: which slots go now), the mix (pure: which
//!   request is slot *i*), the timer that waits, and the driver that starts slots. Each thread of a load has a runtime, a
//!   driver and connections of its own, and sends every *n*th slot;
//! - **connection**: resolving, dialling, TLS, the wire (an I/O wrapper that remembers what happened), the pool of the
//!   reused lane and the shared connections of the http2 lane;
//! - **protocol**: one exchange on a connection, and what the response says;
//! - **long-lived**: connections that are held open beside the slots, on a thread of their own;
//! - **journeys**: users who walk through their steps, run by goose in a process of its own;
//! - **recording**: the slot, which becomes exactly one request record whatever happens to it, the link, which becomes
//!   one connection record, and the outbox that hands both over to the [`RecordSink`], many at a time.
//!
//! No request is ever sent twice. A pooled connection that the peer had closed before a byte of the request was
//! written is replaced by a fresh one and counted as an idle close; everything else that goes wrong is a failure.

mod body;
mod chance;
mod connection;
mod context;
mod driver;
mod error;
mod journeys;
mod long_lived;
mod mix;
mod outcome;
mod pacing;
mod plan;
mod protocol;
mod recording;
mod running;
mod share;
mod target;

pub use connection::{Dialer, Direct, NoRoute, tls_config};
pub use error::LoadError;
pub use journeys::journeys_main;
pub use pacing::{ConstantRate, Schedule, Timetable};
pub use recording::{LatencySnapshot, LoadStats, RecordSink};
pub use running::{EnvLookup, LoadConfig, RunningLoad};
pub use share::LoadShare;
