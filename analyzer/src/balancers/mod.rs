//! The logs of balancers as evidence: which upstreams a request was tried on, how each try ended, who made the status.
//!
//! A line is joined with a request by the client's port and by time. What it says of a failed request goes before
//! everything that is only inferred; tries that failed under a status that the client was content with are near misses,
//! and are judged as failures would be.

mod book;
mod join;
mod near;
mod report;

pub(crate) use book::{Balancers, Met};
pub(crate) use near::near_misses;
pub(crate) use report::reports;
