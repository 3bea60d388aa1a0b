//! How each stream tells the end of a pod: the sequence of its transitions, and the times between streams. Taken from
//! a recording of the sandbox and from one of a real cluster, they can be compared.

use std::collections::BTreeMap;

use rollscope_records::{ObjectKind, Recording, RunOffset, WatchRecord, WatchType};
use serde_json::Value;

/// The end of one pod as the streams tell it. Times are milliseconds from `T0`, the receipt of the first pod event
/// that carries a deletionTimestamp.
#[derive(Debug, Default, PartialEq)]
pub struct Termination {
    /// States of the pod's own stream from T0 on, each only when it differs from the one before.
    pub pod: Vec<String>,
    /// States of its endpoint from just before T0 on; the last is `removed`.
    pub endpoint: Vec<String>,
    /// Reasons of its events, in order of first occurrence from just before T0 on.
    pub events: Vec<String>,
    /// The Killing event.
    pub killing_ms: Option<f64>,
    /// The endpoint's first change to `ready: false`.
    pub endpoint_not_ready_ms: Option<f64>,
    /// The endpoint's removal.
    pub endpoint_removed_ms: Option<f64>,
    /// The first pod event with a terminated container.
    pub terminated_ms: Option<f64>,
    /// DELETED.
    pub deleted_ms: Option<f64>,
}

/// Streams are not ordered against each other: what belongs to the deletion can arrive this much before T0.
const BEFORE_T0_MS: f64 = 500.0;

/// The end of every pod that was deleted in a recording, by name.
pub fn terminations(recording: &Recording) -> BTreeMap<String, Termination> {
    let deleted = events(recording, ObjectKind::Pod)
        .filter(|(_, _, pod)| !pod["metadata"]["deletionTimestamp"].is_null());
    let mut first_deleted = BTreeMap::new();
    for (at, _, pod) in deleted {
        first_deleted.entry(name(pod)).or_insert(at);
    }
    first_deleted
        .into_iter()
        .map(|(pod, t0)| {
            let mut end = Termination::default();
            follow_pod(recording, &pod, t0, &mut end);
            follow_endpoint(recording, &pod, t0, &mut end);
            follow_events(recording, &pod, t0, &mut end);
            (pod, end)
        })
        .collect()
}

fn events(
    recording: &Recording,
    of: ObjectKind,
) -> impl Iterator<Item = (RunOffset, WatchType, &Value)> {
    recording
        .watch
        .iter()
        .filter_map(move |record| match record {
            WatchRecord::Event {
                at,
                kind,
                event,
                object,
            } if *kind == of => Some((*at, *event, object)),
            _ => None,
        })
}

fn name(object: &Value) -> String {
    object["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn ms(at: RunOffset, t0: RunOffset) -> f64 {
    at.nanos_since(t0) as f64 / 1e6
}

fn push_change(states: &mut Vec<String>, state: String) {
    if states.last() != Some(&state) {
        states.push(state);
    }
}

fn follow_pod(recording: &Recording, pod: &str, t0: RunOffset, end: &mut Termination) {
    let of_pod = events(recording, ObjectKind::Pod).filter(|(_, _, o)| name(o) == pod);
    for (at, event, object) in of_pod.filter(|(at, _, _)| *at >= t0) {
        let container = &object["status"]["containerStatuses"][0]["state"];
        if !container["terminated"].is_null() {
            end.terminated_ms.get_or_insert(ms(at, t0));
        }
        if event == WatchType::Deleted {
            end.deleted_ms = Some(ms(at, t0));
        }
        push_change(&mut end.pod, pod_state(event, object));
    }
}

fn pod_state(event: WatchType, pod: &Value) -> String {
    let status = &pod["status"];
    let ready = status["conditions"].as_array().into_iter().flatten();
    let ready = ready
        .filter(|c| c["type"] == "Ready")
        .map(|c| &c["status"])
        .next_back();
    let container = &status["containerStatuses"][0]["state"];
    let container = match container.as_object().and_then(|o| o.iter().next()) {
        Some((state, how)) if state == "terminated" => {
            format!("terminated {} {}", how["exitCode"], how["reason"])
        }
        Some((state, _)) => state.clone(),
        None => "none".to_owned(),
    };
    let grace = match pod["metadata"]["deletionGracePeriodSeconds"].as_i64() {
        Some(0) => "0",
        Some(_) => "whole",
        None => "none",
    };
    format!(
        "{event:?} grace={grace} phase={} ready={} container={container}",
        status["phase"],
        ready.unwrap_or(&Value::Null)
    )
}

fn follow_endpoint(recording: &Recording, pod: &str, t0: RunOffset, end: &mut Termination) {
    let mut seen = false;
    for (at, _, slice) in events(recording, ObjectKind::EndpointSlice) {
        let mut endpoints = slice["endpoints"].as_array().into_iter().flatten();
        let own = endpoints.rfind(|e| e["targetRef"]["name"] == pod);
        let since = ms(at, t0);
        let Some(own) = own else {
            if seen && end.endpoint_removed_ms.is_none() && since >= -BEFORE_T0_MS {
                end.endpoint_removed_ms = Some(since);
                push_change(&mut end.endpoint, "removed".to_owned());
            }
            continue;
        };
        seen = true;
        if since < -BEFORE_T0_MS {
            continue;
        }
        let conditions = &own["conditions"];
        if conditions["ready"] == false {
            end.endpoint_not_ready_ms.get_or_insert(since);
        }
        let (ready, serving) = (&conditions["ready"], &conditions["serving"]);
        let state = format!(
            "ready={ready} serving={serving} terminating={}",
            conditions["terminating"]
        );
        push_change(&mut end.endpoint, state);
    }
}

fn follow_events(recording: &Recording, pod: &str, t0: RunOffset, end: &mut Termination) {
    for (at, _, event) in events(recording, ObjectKind::Event) {
        let since = ms(at, t0);
        if event["involvedObject"]["name"] != pod || since < -BEFORE_T0_MS {
            continue;
        }
        let reason = event["reason"].as_str().unwrap_or_default();
        if reason == "Killing" {
            end.killing_ms.get_or_insert(since);
        }
        if !end.events.iter().any(|r| r == reason) {
            end.events.push(reason.to_owned());
        }
    }
}
