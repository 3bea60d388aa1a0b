//! The watch events of each pod in short: what a panel lists under "what the API server said".

use std::collections::BTreeMap;

use rollscope_analyzer::{Analysis, Ms};
use rollscope_records::{ObjectKind, Recording, RunOffset, WatchRecord, WatchType};
use serde_json::{Value, json};

/// Events of one pod at most; what is in excess is counted.
const MOST_EVENTS: usize = 150;

#[derive(Default, Clone)]
struct Track {
    rows: Vec<Value>,
    more: usize,
    last_pod: String,
    last_endpoint: String,
}

impl Track {
    fn push(&mut self, at: RunOffset, what: &str, text: &str) {
        if self.rows.len() < MOST_EVENTS {
            self.rows.push(json!([Ms(at), what, text]));
        } else {
            self.more += 1;
        }
    }
}

/// For each pod of the analysis: rows of time, what, text.
pub(super) fn watch_json(analysis: &Analysis, recording: &Recording) -> Vec<Value> {
    let uids: BTreeMap<&str, usize> = analysis
        .pods
        .iter()
        .enumerate()
        .map(|(i, p)| (p.uid.as_str(), i))
        .collect();
    let mut tracks = vec![Track::default(); analysis.pods.len()];
    for record in &recording.watch {
        let WatchRecord::Event {
            at,
            kind,
            event,
            object,
        } = record
        else {
            continue;
        };
        match kind {
            ObjectKind::Pod => {
                if let Some(track) = uids
                    .get(string(object, "/metadata/uid"))
                    .map(|i| &mut tracks[*i])
                {
                    pod_event(track, *at, *event, object);
                }
            }
            ObjectKind::Event => {
                if let Some(track) = uids
                    .get(string(object, "/involvedObject/uid"))
                    .map(|i| &mut tracks[*i])
                {
                    track.push(*at, "event", &event_text(object));
                }
            }
            ObjectKind::EndpointSlice => slice_event(&mut tracks, analysis, *at, object),
            ObjectKind::ReplicaSet | ObjectKind::Deployment | ObjectKind::Node => {}
        }
    }
    tracks
        .into_iter()
        .map(|t| json!({ "more": t.more, "rows": t.rows }))
        .collect()
}

fn string<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn pod_event(track: &mut Track, at: RunOffset, event: WatchType, object: &Value) {
    let text = pod_text(object);
    if event == WatchType::Modified && text == track.last_pod {
        return;
    }
    let what = match event {
        WatchType::Added => "pod added",
        WatchType::Modified => "pod modified",
        WatchType::Deleted => "pod deleted",
    };
    track.push(at, what, &text);
    track.last_pod = text;
}

/// A pod's state in a line: phase, readiness, deletion, containers.
fn pod_text(object: &Value) -> String {
    let mut parts = vec![string(object, "/status/phase").to_owned()];
    let conditions = object
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|c| c["type"] == "Ready");
    if let Some(ready) = ready {
        parts.push(format!("Ready={}", string(ready, "/status")));
    }
    if let Some(deletion) = object
        .pointer("/metadata/deletionTimestamp")
        .and_then(Value::as_str)
    {
        let grace = object
            .pointer("/metadata/deletionGracePeriodSeconds")
            .and_then(Value::as_i64)
            .unwrap_or(0);
        parts.push(format!("deletionTimestamp={deletion} (grace {grace} s)"));
    }
    let containers = object
        .pointer("/status/containerStatuses")
        .and_then(Value::as_array);
    parts.extend(containers.into_iter().flatten().map(container_text));
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

fn container_text(status: &Value) -> String {
    let name = string(status, "/name");
    let restarts = status["restartCount"].as_u64().unwrap_or(0);
    let restarted = if restarts > 0 {
        format!(" (restart {restarts})")
    } else {
        String::new()
    };
    let state = &status["state"];
    if let Some(ended) = state.get("terminated").filter(|s| s.is_object()) {
        let code = ended["exitCode"].as_i64().unwrap_or(-1);
        let finished = string(ended, "/finishedAt");
        return format!(
            "{name} terminated: exit {code} {} at {finished}{restarted}",
            string(ended, "/reason")
        );
    }
    if let Some(waiting) = state.get("waiting").filter(|s| s.is_object()) {
        return format!("{name} waiting: {}{restarted}", string(waiting, "/reason"));
    }
    if state.get("running").is_some_and(Value::is_object) {
        return format!("{name} running{restarted}");
    }
    String::new()
}

fn event_text(object: &Value) -> String {
    let count = object["count"].as_u64().unwrap_or(1);
    let times = if count > 1 {
        format!(" (×{count})")
    } else {
        String::new()
    };
    format!(
        "{}{times}: {}",
        string(object, "/reason"),
        string(object, "/message")
    )
}

/// Notes each pod whose conditions in the slice differ from the last time. One Service's slices are taken as one.
fn slice_event(tracks: &mut [Track], analysis: &Analysis, at: RunOffset, object: &Value) {
    let slice = string(object, "/metadata/name");
    let endpoints = object["endpoints"].as_array();
    for (track, pod) in tracks.iter_mut().zip(&analysis.pods) {
        let own = endpoints
            .into_iter()
            .flatten()
            .find(|e| string(e, "/targetRef/uid") == pod.uid);
        let text = match own {
            Some(endpoint) => endpoint_text(slice, endpoint),
            None if track.last_endpoint.starts_with(slice) => format!("{slice}: not in it"),
            None => continue,
        };
        if text != track.last_endpoint {
            track.push(at, "endpoint", &text);
            track.last_endpoint = text;
        }
    }
}

fn endpoint_text(slice: &str, endpoint: &Value) -> String {
    let conditions = &endpoint["conditions"];
    let is = |name: &str| {
        conditions[name]
            .as_bool()
            .map_or("unset".to_owned(), |b| b.to_string())
    };
    format!(
        "{slice}: ready={} serving={} terminating={}",
        is("ready"),
        is("serving"),
        is("terminating")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_told_in_a_line() {
        let pod = json!({
            "metadata": { "deletionTimestamp": "2026-11-30T11:20:42Z", "deletionGracePeriodSeconds": 30 },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "False" }],
                "containerStatuses": [{ "name": "web", "restartCount": 1,
                    "state": { "terminated": { "exitCode": 137, "reason": "Error", "finishedAt": "2026-11-30T11:20:42Z" } } }] }
        });
        assert_eq!(
            pod_text(&pod),
            "Running, Ready=False, deletionTimestamp=2026-11-30T11:20:42Z (grace 30 s), \
             web terminated: exit 137 Error at 2026-11-30T11:20:42Z (restart 1)"
        );
    }
}
