//! The data that the script draws, embedded in the page as JSON.

use rollscope_analyzer::Analysis;
use rollscope_records::Recording;
use serde_json::{Value, json};

use super::bins::{Level, SERIES, level_json};
use super::logs::{exec_json, logs_json};
use super::near::near_evidence;
use super::placement::Placement;
use super::raw::watch_json;
use super::rows::{rows_json, without_drawn};
use crate::text::field;

/// Size of a page that raw records may fill up, bytes. What must be in it (every failed request, every pod, the bins)
/// is in it whatever the size.
const PAGE_BYTES: usize = 7_200_000;
/// Raw records together, bytes: at least and at most.
const RAW_BYTES: (usize, usize) = (500_000, 3_000_000);
/// What an answered request takes in the page, bytes, about.
const REQUEST_BYTES: usize = 80;

/// Everything that the script needs, as text that is safe inside `script` elements.
pub(super) struct Embedded {
    /// What the drawing rests on: read when the page opens.
    pub(super) drawn: String,
    /// What panels and tooltips show besides: read when one of them is opened.
    pub(super) records: String,
}

/// The data of the page; `page_bytes` is the size of the page without it.
pub(super) fn embedded(
    analysis: &Analysis,
    recording: &Recording,
    levels: &[Level],
    placement: &Placement<'_>,
    page_bytes: usize,
) -> Embedded {
    let failed = recording.requests.iter().filter(|r| r.outcome.is_failure());
    let mut facts = json!({
        "wall_start_ms": recording.run.wall_start_unix_nanos as f64 / 1e6,
        "range_ms": range_ms(analysis, recording),
        "series": SERIES,
        "levels": levels.iter().map(level_json).collect::<Vec<_>>(),
        "stages": analysis.stages,
        "pods": analysis.pods,
        "bursts": bursts_json(analysis),
        "gaps": analysis.gaps,
        "jobs": analysis.jobs,
    });
    neutralise(&mut facts);
    let mut failed = rows_json(failed, placement);
    let more = in_script(&Value::Object(without_drawn(&mut failed)).to_string());
    facts["failed"] = failed;
    let drawn = in_script(&facts.to_string());
    let (least, most) = RAW_BYTES;
    let room = PAGE_BYTES
        .saturating_sub(page_bytes + drawn.len() + more.len())
        .clamp(least, most);
    let near = near_evidence(analysis, recording, room / 5 / REQUEST_BYTES);
    let mut raw = json!({
        "watch": watch_json(analysis, recording, room / 2),
        "logs": logs_json(analysis, recording, room / 5),
        "exec": exec_json(recording),
    });
    neutralise(&mut raw);
    raw["near"] = rows_json(near.into_iter(), placement);
    let raw = in_script(&raw.to_string());
    let records = format!("{{\"failed\":{more},{}", &raw[1..]);
    Embedded { drawn, records }
}

/// What the timeline needs of each burst; the rest is in the page.
fn bursts_json(analysis: &Analysis) -> Vec<Value> {
    let burst = |b: &rollscope_analyzer::Burst| {
        json!({ "id": b.id, "from_ms": b.from_ms, "to_ms": b.to_ms, "failed": b.failed, "cause": b.cause,
            "detail": b.detail, "pods": b.pods, "summary": b.summary, "confidence": b.confidence })
    };
    analysis.bursts.iter().map(burst).collect()
}

/// From the earliest to the latest thing that is drawn, ms.
fn range_ms(analysis: &Analysis, recording: &Recording) -> [f64; 2] {
    let ends = recording
        .requests
        .iter()
        .map(|r| r.ended.unwrap_or(r.scheduled).as_millis_f64());
    let pods = analysis.pods.iter().flat_map(|p| {
        let phases = p.phases.iter().filter(|phase| phase.phase != "ended");
        phases
            .flat_map(|phase| [Some(phase.from_ms), phase.to_ms])
            .flatten()
            .map(|at| at.0.as_millis_f64())
    });
    let stages = analysis
        .stages
        .iter()
        .filter_map(|s| s.to_ms)
        .map(|at| at.0.as_millis_f64());
    let last = ends
        .chain(pods)
        .chain(stages)
        .fold(analysis.run.duration_ms.0 as f64 / 1e6, f64::max);
    let due = recording
        .requests
        .iter()
        .map(|r| r.scheduled.as_millis_f64());
    let first = due
        .chain(analysis.stages.iter().map(|s| s.from_ms.0.as_millis_f64()))
        .fold(0.0, f64::min);
    [first, last.max(first + 1.0)]
}

/// Makes every string one that can be shown as it is.
fn neutralise(value: &mut Value) {
    match value {
        Value::String(text) => {
            let shown = field(text);
            if shown != *text {
                *text = shown;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(neutralise),
        Value::Object(fields) => {
            let named = std::mem::take(fields);
            *fields = named
                .into_iter()
                .map(|(name, mut value)| {
                    neutralise(&mut value);
                    (field(&name), value)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// JSON that cannot end its `script` element, nor a line of an older parser.
fn in_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn embedded_json_has_no_markup_and_parses_back() {
        let value = json!({ "</script><script>": ["<!--", "a & b", "\u{2028}\u{2029}"] });
        let text = in_script(&value.to_string());
        assert!(
            !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
