//! `trace.json` against the published trace event format: the fields that each kind of event must have, intervals that
//! nest, asynchronous events that come in pairs.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../examples/sample/mod.rs"]
mod sample;

use std::collections::{BTreeMap, BTreeSet};

use rollscope_records::RunOffset;
use rollscope_reports::trace_json;
use serde_json::Value;

fn events(trace: &str) -> Vec<Value> {
    let trace: Value = serde_json::from_str(trace).unwrap();
    assert_eq!(trace["displayTimeUnit"], "ms");
    trace["traceEvents"].as_array().unwrap().clone()
}

fn traces() -> Vec<String> {
    let runs = [
        sample::early_close(4_400),
        sample::clean(),
        sample::invalid(),
    ];
    runs.iter().map(|(a, r)| trace_json(a, r)).collect()
}

fn micros(event: &Value, field: &str) -> f64 {
    event[field]
        .as_f64()
        .unwrap_or_else(|| panic!("no {field} in {event}"))
}

#[test]
fn every_event_has_the_fields_of_its_kind() {
    for event in traces().iter().flat_map(|t| events(t)) {
        assert!(event["name"].is_string() && event["pid"].is_u64() && event["tid"].is_u64());
        let phase = event["ph"].as_str().unwrap();
        if phase != "M" {
            assert!(micros(&event, "ts") >= 0.0, "{event}");
        }
        match phase {
            "M" => assert!(event["args"].is_object()),
            "X" => assert!(micros(&event, "dur") >= 0.0),
            "i" => assert_eq!(event["s"], "t"),
            "b" | "e" => assert!(event["cat"].is_string() && event["id"].is_string()),
            "C" => {
                let series = event["args"].as_object().unwrap();
                assert!(
                    !series.is_empty() && series.values().all(Value::is_number),
                    "{event}"
                );
            }
            other => panic!("phase {other}"),
        }
    }
}

#[test]
fn intervals_of_one_track_do_not_overlap() {
    for trace in traces() {
        let mut tracks: BTreeMap<(u64, u64), Vec<(f64, f64)>> = BTreeMap::new();
        for e in events(&trace).iter().filter(|e| e["ph"] == "X") {
            let track = (e["pid"].as_u64().unwrap(), e["tid"].as_u64().unwrap());
            let from = micros(e, "ts");
            tracks
                .entry(track)
                .or_default()
                .push((from, from + micros(e, "dur")));
        }
        for (track, mut intervals) in tracks {
            intervals.sort_by(|a, b| a.0.total_cmp(&b.0));
            for pair in intervals.windows(2) {
                assert!(pair[0].1 <= pair[1].0 + 0.001, "{track:?}: {pair:?}");
            }
        }
    }
}

#[test]
fn asynchronous_events_come_in_pairs() {
    for trace in traces() {
        let mut open = BTreeMap::new();
        for e in events(&trace) {
            let id = (
                e["cat"].to_string(),
                e["id"].to_string(),
                e["pid"].to_string(),
            );
            match e["ph"].as_str().unwrap() {
                "b" => assert!(
                    open.insert(id, micros(&e, "ts")).is_none(),
                    "begun twice: {e}"
                ),
                "e" => assert!(open.remove(&id).unwrap() <= micros(&e, "ts"), "{e}"),
                _ => {}
            }
        }
        assert!(open.is_empty(), "never ended: {open:?}");
    }
}

#[test]
fn every_track_and_process_has_a_name() {
    for trace in traces() {
        let events = events(&trace);
        let named: BTreeSet<_> = events
            .iter()
            .filter(|e| e["name"] == "thread_name")
            .map(|e| (e["pid"].as_u64(), e["tid"].as_u64()))
            .collect();
        let processes: BTreeSet<_> = events
            .iter()
            .filter(|e| e["name"] == "process_name")
            .map(|e| e["pid"].as_u64())
            .collect();
        for e in &events {
            assert!(processes.contains(&e["pid"].as_u64()), "{e}");
            if e["ph"] == "X" || e["ph"] == "i" {
                assert!(
                    named.contains(&(e["pid"].as_u64(), e["tid"].as_u64())),
                    "{e}"
                );
            }
        }
    }
}

#[test]
fn what_never_ended_ends_with_the_run() {
    let (mut a, mut r) = sample::early_close(4_400);
    a.stages.last_mut().unwrap().to_ms = None;
    r.requests.retain(|request| request.outcome.is_failure());
    let mut requests: Vec<_> = r.requests.iter().map(|r| r.to_record()).collect();
    requests[0].ended = None;
    requests[0].scheduled = RunOffset(-5_000_000);
    r.requests = requests.into();
    let events = events(&trace_json(&a, &r));
    let end = a.run.duration_ms.0 as f64 / 1e3;
    let first = events
        .iter()
        .find(|e| e["id"] == format!("request-{}", r.requests.row(0).seq))
        .unwrap();
    assert_eq!(micros(first, "ts"), 0.0);
    let ends = events
        .iter()
        .filter(|e| e["ph"] == "X")
        .map(|e| micros(e, "ts") + micros(e, "dur"));
    assert!(ends.fold(0.0, f64::max) >= end);
}
