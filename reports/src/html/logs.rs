//! The log lines that a panel shows.

use std::collections::BTreeMap;

use rollscope_analyzer::{Analysis, Ms};
use rollscope_records::{LogRecord, LogSource, Recording};
use serde_json::{Value, json};

use super::budget::{distance, share_out, spans};
use crate::text::visible;

/// Lines of one pod, or of the stages' commands, at most.
const MOST_LINES: usize = 120;
/// Characters of one line at most.
const LINE_CHARS: usize = 400;
/// What a line costs besides its text.
const LINE_COST: usize = 50;

/// For each pod of the analysis, the lines of its containers that are nearest to its end and its bursts, in order, and
/// how many more there are (`more`). A row is `[at, container, runtime's timestamp, line]`.
pub(super) fn logs_json(analysis: &Analysis, recording: &Recording, room: usize) -> Vec<Value> {
    let mut by_pod: BTreeMap<&str, Vec<(&LogRecord, &str)>> = BTreeMap::new();
    for log in &recording.logs {
        if let LogSource::Container { pod, container } = &log.source {
            by_pod.entry(pod).or_default().push((log, container));
        }
    }
    let spans = spans(analysis);
    let mut all = vec![Value::Null; analysis.pods.len()];
    share_out(analysis, room, |pod, share| {
        let none = Vec::new();
        let lines = by_pod
            .get(analysis.pods[pod].name.as_str())
            .unwrap_or(&none);
        let mut nearest: Vec<usize> = (0..lines.len()).collect();
        nearest.sort_by_key(|i| distance(&spans[pod], lines[*i].0.at));
        let mut used = 0;
        let fits = nearest.into_iter().take(MOST_LINES).take_while(|i| {
            used += lines[*i].0.line.len().min(LINE_CHARS) + LINE_COST;
            used <= share
        });
        let mut shown: Vec<usize> = fits.collect();
        shown.sort_unstable();
        let more = lines.len() - shown.len();
        let rows: Vec<_> = shown.into_iter().map(|i| row(lines[i])).collect();
        all[pod] = json!({ "more": more, "lines": rows });
        used.min(share)
    });
    all
}

fn row((log, container): (&LogRecord, &str)) -> Value {
    json!([
        Ms(log.at),
        container,
        log.timestamp,
        visible(&log.line, LINE_CHARS)
    ])
}

/// The output of the stages' commands, the last lines of it: `[at, stage, stream, line]`.
pub(super) fn exec_json(recording: &Recording) -> Value {
    let own: Vec<_> = recording
        .logs
        .iter()
        .filter_map(|log| match &log.source {
            LogSource::Exec { stage, stream } => Some((log, *stage, stream)),
            LogSource::Container { .. } => None,
        })
        .collect();
    let more = own.len().saturating_sub(MOST_LINES);
    let shown = own.iter().skip(more).map(|(log, stage, stream)| {
        json!([Ms(log.at), stage, stream, visible(&log.line, LINE_CHARS)])
    });
    json!({ "more": more, "lines": shown.collect::<Vec<_>>() })
}
