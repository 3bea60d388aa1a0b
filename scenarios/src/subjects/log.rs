//! The subject's log: one JSON line a step, on stdout.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Writes `{"t": <epoch ms>, "ev": <event>, "inflight": .., "conns": .., ..}` and flushes it.
pub(super) fn step(event: &str, in_flight: u64, connections: u64, more: &[(&str, Value)]) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let mut text = format!(
        "{{\"t\":{},\"ev\":{},\"inflight\":{in_flight},\"conns\":{connections}",
        now.as_millis(),
        json!(event)
    );
    for (key, value) in more {
        text += &format!(",{}:{value}", json!(key));
    }
    text += "}\n";
    // Nobody reads the log any more: no reason to stop serving.
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
}
