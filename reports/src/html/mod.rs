//! `timeline.html`: one file that needs nothing else.
//!
//! Everything that decides is in the page without its script: verdict, causes, advice, evidence and every measurement.
//! The script draws the timeline from the data that is embedded as JSON, and shows nothing but text nodes.

mod assets;
mod bins;
mod bursts;
mod checks;
mod data;
mod failed;
mod first_screen;
#[cfg(test)]
mod fixtures;
mod logs;
mod over_time;
mod page;
mod parts;
mod placement;
mod pods;
mod watch;

pub use page::timeline_html;
