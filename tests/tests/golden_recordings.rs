//! Recordings of a real cluster, one folder each under `golden/`: the raw streams and the right answer. Add a folder,
//! get a test. Each is also analysed without its logs, and without readiness conditions and probe events: then the
//! cause must be the same, or an explicit `several` that names it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use rollscope_analyzer::{Analysis, analyze};
use rollscope_collector::import_watch;
use rollscope_records::Recording;
use serde_json::Value;

/// What a golden folder's `expected.json` says.
struct Expected {
    exit_code: u8,
    failed: u64,
    causes: BTreeMap<String, u64>,
    details: BTreeSet<String>,
    findings: BTreeSet<String>,
}

impl Expected {
    fn read(case: &Path) -> Self {
        let raw: Value =
            serde_json::from_slice(&fs::read(case.join("expected.json")).unwrap()).unwrap();
        let names = |field: &str| serde_json::from_value(raw[field].clone()).unwrap();
        Self {
            exit_code: u8::try_from(raw["exit_code"].as_u64().unwrap()).unwrap(),
            failed: raw["failed"].as_u64().unwrap(),
            causes: serde_json::from_value(raw["causes"].clone()).unwrap(),
            details: names("details"),
            findings: names("findings"),
        }
    }
}

fn cases() -> Vec<PathBuf> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut cases: Vec<_> = fs::read_dir(golden)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no golden recordings");
    cases
}

/// Unpacks the case's streams into a folder whose name says nothing.
fn unpack(case: &Path, into: &Path) -> PathBuf {
    let dir = into.join("streams");
    let packed = fs::File::open(case.join("streams.tar.gz")).unwrap();
    tar::Archive::new(GzDecoder::new(packed))
        .unpack(&dir)
        .unwrap();
    dir
}

fn analysed(streams: &Path, into: &Path) -> Analysis {
    let recording = into.join("run.rollscope");
    let _ = fs::remove_dir_all(&recording);
    import_watch(streams, &recording).unwrap();
    analyze(&Recording::open(&recording).unwrap())
}

fn count_by_cause(analysis: &Analysis) -> BTreeMap<String, u64> {
    let mut causes = BTreeMap::new();
    for burst in &analysis.bursts {
        *causes.entry(burst.cause.clone()).or_default() += burst.failed;
    }
    causes
}

#[test]
fn every_real_recording_gives_its_right_answer() {
    let mut wrong = Vec::new();
    for case in cases() {
        let expected = Expected::read(&case);
        let dir = tempfile::tempdir().unwrap();
        let analysis = analysed(&unpack(&case, dir.path()), dir.path());
        let mut check = |what: &str, right: bool, found: String| {
            if !right {
                wrong.push(format!("{}: {what}: {found}", case.display()));
            }
        };
        let causes = count_by_cause(&analysis);
        check("causes", causes == expected.causes, format!("{causes:?}"));
        let requests = &analysis.requests;
        check(
            "failed",
            requests.failed == expected.failed,
            format!("{}", requests.failed),
        );
        check(
            "unattributed",
            analysis.unattributed == 0,
            format!("{}", analysis.unattributed),
        );
        let verdict = &analysis.verdict;
        check(
            "exit code",
            verdict.exit_code == expected.exit_code,
            format!("{verdict:?}"),
        );
        let details: BTreeSet<_> = analysis
            .bursts
            .iter()
            .filter_map(|b| b.detail.clone())
            .collect();
        check(
            "details",
            details.is_subset(&expected.details),
            format!("{details:?}"),
        );
        let findings: BTreeSet<_> = analysis.findings.iter().map(|f| f.cause.clone()).collect();
        check(
            "findings",
            findings.is_superset(&expected.findings),
            format!("{findings:?}"),
        );
        let killed = findings
            .iter()
            .filter(|f| SHUTDOWN_SIGNATURES.contains(&f.as_str()));
        let foreign: Vec<_> = killed
            .filter(|f| !expected.findings.contains(*f) && !expected.causes.contains_key(*f))
            .collect();
        check(
            "findings of another signature",
            foreign.is_empty(),
            format!("{foreign:?}"),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const SHUTDOWN_SIGNATURES: [&str; 5] = [
    "early_close",
    "unforwarded_signal",
    "sigkill_overrun",
    "prestop_overrun",
    "oom_kill",
];

/// The causes of the whole recording, and for `several` those that it leaves open.
fn same_or_several(analysis: &Analysis, expected: &Expected) -> Result<(), String> {
    for burst in &analysis.bursts {
        let several = burst.cause == "several" && {
            let text = format!("{} {:?}", burst.summary, burst.evidence);
            expected
                .causes
                .keys()
                .any(|cause| text.contains(cause.as_str()))
        };
        if !several && !expected.causes.contains_key(&burst.cause) {
            return Err(format!(
                "burst {} is called {} ({})",
                burst.id, burst.cause, burst.summary
            ));
        }
    }
    if analysis.requests.failed != expected.failed || analysis.unattributed != 0 {
        return Err(format!(
            "{} failed, {} unattributed",
            analysis.requests.failed, analysis.unattributed
        ));
    }
    Ok(())
}

fn blinded(blind: impl Fn(&Path)) {
    let mut wrong = Vec::new();
    for case in cases() {
        let dir = tempfile::tempdir().unwrap();
        let streams = unpack(&case, dir.path());
        blind(&streams);
        let analysis = analysed(&streams, dir.path());
        if let Err(what) = same_or_several(&analysis, &Expected::read(&case)) {
            wrong.push(format!("{}: {what}", case.display()));
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
