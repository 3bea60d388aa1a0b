//! The program, run as a user runs it, against witnesses that are independent of it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod bad_input;
mod fidelity;
mod followed_logs;
mod front_ends;
mod generators;
mod init;
mod interruption;
mod kubernetes;
mod long_lived;
mod plain_target;
mod reproduction;
mod shipped;
mod shutdown_stages;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rollscope-under-test");
