//! `report.json`: what the pipeline reads.

use rollscope_analyzer::Analysis;

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
