//! The collector against an API server that misbehaves on request.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod following;
mod importing;
mod refusing;
mod standin;
mod walking;
mod watching;
mod world;
