//! The log lines that a pod's panel shows.

use std::collections::BTreeMap;

use rollscope_analyzer::{Analysis, Ms};
use rollscope_records::{LogRecord, LogSource, Recording};
use serde_json::{Value, json};

use crate::text::visible;

/// Lines of one pod at most.
const MOST_LINES: usize = 120;
/// Characters of one line at most.
const LINE_CHARS: usize = 400;

/// For each pod of the analysis, the last lines of its containers and how many more there are.
pub(super) fn logs_json(analysis: &Analysis, recording: &Recording) -> Vec<Value> {
    let mut by_pod: BTreeMap<&str, Vec<(&LogRecord, &str)>> = BTreeMap::new();
    for log in &recording.logs {
        if let LogSource::Container { pod, container } = &log.source {
            by_pod.entry(pod).or_default().push((log, container));
        }
    }
    let empty = Vec::new();
    analysis
        .pods
        .iter()
        .map(|pod| lines_json(by_pod.get(pod.name.as_str()).unwrap_or(&empty)))
        .collect()
}

fn lines_json(lines: &[(&LogRecord, &str)]) -> Value {
    let more = lines.len().saturating_sub(MOST_LINES);
    let shown = lines.iter().skip(more).map(|(log, container)| {
        json!([
            Ms(log.at),
            container,
            log.timestamp,
            visible(&log.line, LINE_CHARS)
        ])
    });
    json!({ "more": more, "lines": shown.collect::<Vec<_>>() })
}

/// The output of the stages' commands, the last lines of it.
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
