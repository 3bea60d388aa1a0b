//! From the tree of a YAML text to a checked scenario. Every check goes on after a problem.

mod balancers;
mod connections;
mod field;
mod gate;
mod jobs;
mod journey;
mod load;
mod preflight;
mod rate;
mod request;
mod scenario;
mod section;
mod stages;
mod stream;
mod target;

pub(crate) use field::Checker;
pub(crate) use scenario::scenario;
