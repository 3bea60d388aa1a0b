//! Front ends against raw sockets: pods that misbehave, clients that see what was written, objects written by hand.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod client;
mod cluster;
mod failures;
mod membership;
mod passing;
mod pod;
