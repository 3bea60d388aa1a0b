//! What the end-to-end tests share: a run of the program, and the witnesses that are independent of it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

pub mod corpus;
mod golden;
mod ledger;
pub mod matrix;
mod nginx;
pub mod noise;
mod processes;
mod program;
mod redis;
mod schema;
pub mod transitions;
pub mod week;

pub use golden::{Expected, ExpectedCause, GoldenCase, golden_cases, golden_recording};
pub use ledger::{Ledgers, PodLedger};
pub use nginx::Nginx;
pub use processes::{descendants, wait_until, wait_until_gone};
pub use program::{Finished, Workdir};
pub use redis::Redis;
pub use schema::violations;
