//! The report as text, as JSON and as SARIF.

mod json;
mod sarif;
mod snippet;
mod text;

pub use json::{REPORT_SCHEMA, json};
pub use sarif::sarif;
pub use text::text;
