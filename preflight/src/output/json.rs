//! The report as JSON.
//!
//! Version policy: within one `schema` fields are added, never renamed, removed or given another meaning, and the list of
//! rules grows.

use crate::finding::Report;

/// The JSON Schema (draft 2020-12) of [`json`].
pub const REPORT_SCHEMA: &str = include_str!("../../preflight.schema.json");

/// The report as pretty JSON with a newline at its end.
///
/// # Panics
///
/// Never: every map of a report has strings as its keys.
pub fn json(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report is plain data");
    text.push('\n');
    text
}
