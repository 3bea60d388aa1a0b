//! Golden cases, one folder each under `golden/`: a recording and the right answer in words. Add a folder, get a test.
//! Those of a real cluster are also analysed without their logs, and without readiness conditions and probe events: then
//! the cause must be the same, or an explicit `several` that names it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;
use std::path::Path;

use rollscope_analyzer::{Analysis, analyze, signature_names};
use rollscope_collector::read_watch_dir;
use rollscope_tests::{Expected, GoldenCase};
use serde_json::Value;

/// A written case is read in one go.
const MOST_LINES: usize = 40;

#[test]
fn every_golden_case_gives_its_right_answer() {
    let mut wrong = Vec::new();
    for case in GoldenCase::all() {
        let analysis = analyze(&case.recording());
        let mistakes = case.expected().mistakes(&analysis);
        wrong.extend(mistakes.iter().map(|m| format!("{}: {m}", case.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_signature_has_a_golden_case_of_its_own() {
    let expected: Vec<Expected> = GoldenCase::all().iter().map(GoldenCase::expected).collect();
    let missing: Vec<&str> = signature_names()
        .filter(|name| {
            // Of jobs there is never a failed request, but a finding.
            let found = |e: &Expected| e.findings.iter().any(|f| f.cause == *name);
            !expected.iter().any(|e| e.names(name) || found(e))
        })
        .collect();
    assert!(missing.is_empty(), "no golden case for {missing:?}");
}

#[test]
fn every_written_case_is_small_enough_to_read() {
    for case in GoldenCase::all() {
        let lines = case.written().map_or(0, |text| text.lines().count());
        assert!(lines <= MOST_LINES, "{}: {lines} lines", case.name);
    }
}

/// The causes of the whole recording, and for `several` those that it leaves open.
fn same_or_several(analysis: &Analysis, expected: &Expected) -> Result<(), String> {
    for burst in &analysis.bursts {
        let open = burst.detail.as_deref().unwrap_or_default();
        let several = burst.cause == "several" && open.split(", ").any(|c| expected.names(c));
        if !several && !expected.names(&burst.cause) {
            return Err(format!(
                "burst {} is called {} ({})",
                burst.id, burst.cause, burst.summary
            ));
        }
    }
    if analysis.requests.failed != expected.failed() || analysis.unattributed != 0 {
        return Err(format!(
            "{} failed, {} unattributed",
            analysis.requests.failed, analysis.unattributed
        ));
    }
    Ok(())
}

fn blinded(blind: impl Fn(&Path)) {
    let mut wrong = Vec::new();
    for case in GoldenCase::real() {
        let dir = tempfile::tempdir().unwrap();
        let streams = case.unpack(dir.path());
        blind(&streams);
        let analysis = analyze(&read_watch_dir(&streams).unwrap().recording);
        if let Err(what) = same_or_several(&analysis, &case.expected()) {
            wrong.push(format!("{}: {what}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn without_logs_the_cause_is_the_same_or_explicitly_several() {
    blinded(|streams| fs::remove_dir_all(streams.join("logs")).unwrap());
}

#[test]
fn without_readiness_and_probe_events_the_cause_is_the_same_or_explicitly_several() {
    blinded(hide_readiness);
}

#[test]
fn without_logs_and_readiness_the_cause_is_the_same_or_explicitly_several() {
    blinded(|streams| {
        hide_readiness(streams);
        fs::remove_dir_all(streams.join("logs")).unwrap();
    });
}

fn hide_readiness(streams: &Path) {
    rewrite(&streams.join("pods.watch"), |object| {
        if let Some(conditions) = object["status"]["conditions"].as_array_mut() {
            conditions.retain(|c| !matches!(c["type"].as_str(), Some("Ready" | "ContainersReady")));
        }
        true
    });
    rewrite(&streams.join("events.watch"), |object| {
        object["reason"] != "Unhealthy"
    });
}

/// Rewrites the objects of a watch stream; `keep` says which events stay.
fn rewrite(stream: &Path, keep: impl Fn(&mut Value) -> bool) {
    let mut kept = String::new();
    for line in fs::read_to_string(stream).unwrap().lines() {
        let (received, json) = line.split_once(' ').unwrap();
        let mut event: Value = serde_json::from_str(json).unwrap();
        if keep(&mut event["object"]) {
            kept.push_str(&format!("{received} {event}\n"));
        }
    }
    fs::write(stream, kept).unwrap();
}
