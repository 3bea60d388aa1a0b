//! The generator against servers that misbehave in exactly one way each, and against what those servers saw.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod body;
mod connect;
mod harness;
mod head;
mod load;
mod reuse;
mod server;
