//! The reports of a run, read back as their readers do.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod agreement;
mod command;
mod pipelines;
mod preflight;
mod schema;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rollscope-under-test");
