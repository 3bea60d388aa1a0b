//! `rollscope import` on what is left of production.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod hostile;
mod week;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rollscope-under-test");
