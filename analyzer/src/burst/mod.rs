//! Bursts: failures near each other in time with one cause.
//!
//! The rule: failures of one kind on one pod (or with the same likeliest suspects: of those that were down or leaving
//! and of the new ones), each within [`gap`] of the one before, are a cell; every cell is judged by itself; cells with the same verdict whose times are within twice the
//! gap of each other are one burst. So two causes at once are two bursts, and one cause that walks from pod to pod is
//! one. There are no bins: the gap is five times the mean distance of requests, at least one second and at most five.

mod cells;
mod merge;
mod report;

pub(crate) use cells::{Cell, cells, gap};
pub(crate) use merge::{Merged, merge};
pub(crate) use report::{burst_reports, unique};
