//! The watch events of each pod: in a line each, and the objects themselves as far as there is room for them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rollscope_analyzer::Analysis;
use rollscope_records::{ObjectKind, Recording, RunOffset, WatchRecord, WatchType};
use serde_json::{Value, json};

/// One watch event as far as it is about one pod.
pub(super) struct PodEvent<'a> {
    /// When we received it.
    pub(super) at: RunOffset,
    /// What it is: `pod modified`, `endpoint`, `event`.
    pub(super) what: &'static str,
    /// Its content in a line; empty where the line is that of the event before.
    pub(super) text: String,
    /// The object's kind.
    pub(super) kind: ObjectKind,
    /// The object as recorded; of an EndpointSlice only this pod's endpoint.
    pub(super) object: Cow<'a, Value>,
}

/// The events of one pod, and what its last lines were.
#[derive(Default)]
struct Track<'a> {
    events: Vec<PodEvent<'a>>,
    last_pod: String,
    last_endpoint: String,
}

/// The events of each pod of the analysis, in order of time.
pub(super) fn pod_events<'a>(
    analysis: &Analysis,
    recording: &'a Recording,
) -> Vec<Vec<PodEvent<'a>>> {
    let uids: BTreeMap<&str, usize> = (0..)
        .zip(&analysis.pods)
        .map(|(i, p)| (p.uid.as_str(), i))
        .collect();
    let mut tracks: Vec<_> = analysis.pods.iter().map(|_| Track::default()).collect();
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
        let track = |tracks: &mut [Track<'a>], uid: &str, note: &dyn Fn(&mut Track<'a>)| {
            if let Some(index) = string(object, uid).and_then(|uid| uids.get(uid)) {
                note(&mut tracks[*index]);
            }
        };
        match kind {
            ObjectKind::Pod => track(&mut tracks, "/metadata/uid", &|t| {
                pod_event(t, *at, *event, object)
            }),
            ObjectKind::Event => track(&mut tracks, "/involvedObject/uid", &|t| {
                t.push(
                    *at,
                    "event",
                    event_text(object),
                    *kind,
                    Cow::Borrowed(object),
                );
            }),
            ObjectKind::EndpointSlice => slice_event(&mut tracks, &uids, *at, object),
            ObjectKind::ReplicaSet | ObjectKind::Deployment | ObjectKind::Node => {}
        }
    }
    tracks.into_iter().map(|track| track.events).collect()
}

impl<'a> Track<'a> {
    fn push(
        &mut self,
        at: RunOffset,
        what: &'static str,
        text: String,
        kind: ObjectKind,
        object: Cow<'a, Value>,
    ) {
        self.events.push(PodEvent {
            at,
            what,
            text,
            kind,
            object,
        });
    }
}

fn string<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}

fn pod_event<'a>(track: &mut Track<'a>, at: RunOffset, event: WatchType, object: &'a Value) {
    let what = match event {
        WatchType::Added => "pod added",
        WatchType::Modified => "pod modified",
        WatchType::Deleted => "pod deleted",
    };
    let mut text = pod_text(object);
    if text == track.last_pod {
        text.clear();
    } else {
        track.last_pod.clone_from(&text);
    }
    track.push(at, what, text, ObjectKind::Pod, Cow::Borrowed(object));
}

fn pod_text(object: &Value) -> String {
    let mut parts = vec![
        string(object, "/status/phase")
            .unwrap_or_default()
            .to_owned(),
    ];
    let conditions = object
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|c| c["type"] == "Ready");
    if let Some(ready) = ready {
        parts.push(format!(
            "Ready={}",
            string(ready, "/status").unwrap_or_default()
        ));
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
    let name = string(status, "/name").unwrap_or_default();
    let restarts = status["restartCount"].as_u64().unwrap_or(0);
    let restarted = if restarts > 0 {
        format!(" (restart {restarts})")
    } else {
        String::new()
    };
    let state = &status["state"];
    if let Some(ended) = state.get("terminated").filter(|s| s.is_object()) {
        let code = ended["exitCode"].as_i64().unwrap_or(-1);
        let finished = string(ended, "/finishedAt").unwrap_or_default();
        return format!(
            "{name} terminated: exit {code} {} at {finished}{restarted}",
            string(ended, "/reason").unwrap_or_default()
        );
    }
    if let Some(waiting) = state.get("waiting").filter(|s| s.is_object()) {
        return format!(
            "{name} waiting: {}{restarted}",
            string(waiting, "/reason").unwrap_or_default()
        );
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
        string(object, "/reason").unwrap_or_default(),
        string(object, "/message").unwrap_or_default()
    )
}

/// Notes each pod whose conditions in the slice differ from the last time. One Service's slices are taken as one.
fn slice_event(
    tracks: &mut [Track<'_>],
    uids: &BTreeMap<&str, usize>,
    at: RunOffset,
    object: &Value,
) {
    let slice = string(object, "/metadata/name").unwrap_or_default();
    let mut own: BTreeMap<usize, &Value> = BTreeMap::new();
    for endpoint in object["endpoints"].as_array().into_iter().flatten() {
        if let Some(index) = string(endpoint, "/targetRef/uid").and_then(|uid| uids.get(uid)) {
            own.entry(*index).or_insert(endpoint);
        }
    }
    for (index, track) in tracks.iter_mut().enumerate() {
        let endpoint = own.get(&index).copied();
        let text = match endpoint {
            Some(endpoint) => endpoint_text(slice, endpoint),
            None if track.last_endpoint.starts_with(slice) => format!("{slice}: not in it"),
            None => continue,
        };
        if text != track.last_endpoint {
            track.last_endpoint.clone_from(&text);
            let object = Cow::Owned(of_pod(object, endpoint));
            track.push(at, "endpoint", text, ObjectKind::EndpointSlice, object);
        }
    }
}

/// A slice with the endpoint of one pod alone, and how many others were in it.
fn of_pod(slice: &Value, endpoint: Option<&Value>) -> Value {
    let all = slice["endpoints"].as_array().map_or(0, Vec::len);
    let rest = slice.as_object().into_iter().flatten();
    let mut fields: serde_json::Map<_, _> = rest
        .filter(|(name, _)| *name != "endpoints")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let own: Vec<_> = endpoint.into_iter().cloned().collect();
    fields.insert(
        "other endpoints, left out".to_owned(),
        json!(all - own.len()),
    );
    fields.insert("endpoints".to_owned(), Value::Array(own));
    Value::Object(fields)
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
