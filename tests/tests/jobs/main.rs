//! Jobs whose events are in a database: against what a real PostgreSQL says itself.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod database;
mod postgres;
mod shop;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rollscope-under-test");
