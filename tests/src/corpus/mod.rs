//! The labelled corpus: rollouts drawn at random, run in the sandbox, and scored request by request against what
//! really happened.

mod command;
mod draw;
mod execute;
mod label;
mod manifest;
mod mix;
mod report;
mod schedule;
mod score;
mod times;
mod truth;
mod witness;

pub use command::{Args, main};
