//! `timeline.html`: one file that needs nothing else.
//!
//! Everything that decides is in the page without its script: verdict, causes, advice, evidence and every measurement.
//! The script draws the timeline from the data that is embedded as JSON, and shows nothing but text nodes.

mod assets;
mod balancers;
mod bins;
mod budget;
mod bursts;
mod checks;
mod columns;
mod comparison;
mod data;
mod first_screen;
#[cfg(test)]
mod fixtures;
mod held_open;
mod index;
mod jobs;
mod journeys;
mod logs;
mod merge_patch;
mod near;
mod over_time;
mod page;
mod parts;
pub(crate) mod placement;
mod pods;
mod raw;
mod rows;
mod run_entry;
mod shutdowns;
mod signal;
mod trend;
mod watch;

pub use comparison::comparison_html;
pub use index::index_html;
pub use page::timeline_html;
pub use run_entry::{RunEntry, RunEntryError};
