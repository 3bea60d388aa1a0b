//! `report.json`: what the pipeline reads.
//!
//! The names in it are a published interface, described by [`REPORT_SCHEMA`]. Version policy: `schema` names the major
//! version. Within one, fields are added and never renamed, removed or given another meaning, and lists of names
//! (causes, outcomes, phases, marks) grow: a reader ignores fields and names that it does not know. Anything else is a
//! new major version, and the change log says so. A field that is not known is `null`, not absent.

use rollscope_analyzer::Analysis;

/// The JSON Schema (draft 2020-12) of `report.json`.
pub const REPORT_SCHEMA: &str = include_str!("../report.schema.json");

/// The analysis as pretty JSON with a newline at its end. The names are a published interface; numbers are finite
/// (a float that is not becomes `null`); the order of fields is that of the types, so equal analyses give equal bytes.
///
/// # Panics
///
/// Never: every map of an analysis has strings as its keys.
pub fn report_json(analysis: &Analysis) -> String {
    let mut text = serde_json::to_string_pretty(analysis).expect("an analysis is plain data");
    text.push('\n');
    text
}
