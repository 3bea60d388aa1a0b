//! `rollscope signal`: a real signal to a real command, against witnesses that are independent of it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod docker;
mod hostile;
mod interruption;
mod moments;
mod own_command;
mod program;
mod shutdowns;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rollscope-under-test");
