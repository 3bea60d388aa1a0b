//! Connections: dialling, TLS, what happens on the wire, and the pool.

mod connect;
mod dialer;
mod frames;
mod multiplex;
mod pool;
mod socket;
mod tls;
mod wire;

pub(crate) use connect::{Connection, connect, transport};
pub use dialer::{Dialer, Direct, NoRoute};
pub(crate) use frames::Goaway;
pub(crate) use multiplex::{Multiplex, Shared};
pub(crate) use pool::Pool;
pub(crate) use tls::Tls;
pub use tls::tls_config;
pub(crate) use wire::{PeerEnd, Wire, WireEnd, WireFacts};

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tls_tests;
