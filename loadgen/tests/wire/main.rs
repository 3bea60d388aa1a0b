//! The generator against servers that misbehave in exactly one way each, and against what those servers saw.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod body;
mod client;
mod connect;
mod frames;
mod harness;
mod head;
mod http2;
mod load;
mod long_lived;
mod pacing;
mod reuse;
mod server;
mod tls;
