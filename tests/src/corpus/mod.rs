//! The labelled corpus: rollouts drawn at random, run in the sandbox, and scored request by request against what
//! really happened.

mod aimed;
mod circumstances;
mod command;
mod draw;
mod entangled;
mod evictions;
mod execute;
mod label;
mod manifest;
mod mix;
mod report;
pub(crate) mod schedule;
mod score;
mod sidecar;
mod streams;
mod times;
mod truth;
mod witness;

pub use command::{Args, main};
pub use sidecar::{STEP as SIDECAR, main as sidecar};
