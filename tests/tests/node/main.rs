//! The Node.js subjects, on the installed node and npm, against the README's table and against what they and their
//! clients say themselves.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod at_once;
mod counts;
mod documents;
mod environment;
mod jobs;
mod matrix;
mod rollouts;
mod signals;
mod table;
mod verdict;
mod workers;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rollscope-under-test");
