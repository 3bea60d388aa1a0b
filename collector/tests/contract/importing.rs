//! Importing a folder of recorded streams.

use std::io::Write;
use std::path::Path;

use rollscope_collector::{ImportError, import_watch, read_watch_dir};
use rollscope_records::{
    Lane, ObjectKind, Outcome, Recording, RunOffset, StageEvent, WatchRecord, marks,
};
use serde_json::json;

/// 2026-11-30T11:07:00Z, ns.
const T0: i64 = 1_796_036_820_000_000_000;

fn at(seconds: f64) -> i64 {
    T0 + (seconds * 1e9) as i64
}

fn object(kind: &str, name: &str) -> serde_json::Value {
    json!({"kind": kind, "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "1",
           "managedFields": [1]}})
}

/// A small folder of every stream.
fn folder(dir: &Path) {
    let line = |t: f64, event: &str, object: serde_json::Value| {
        format!("{} {}\n", at(t), json!({"type": event, "object": object}))
    };
    let mut pod = object("Pod", "web-a");
    pod["spec"] =
        json!({"containers": [{"name": "web", "env": [{"name": "KEY", "value": "s3cret"}]}]});
    let pods = line(0.5, "ADDED", pod.clone()) + &line(9.0, "DELETED", pod);
    std::fs::write(dir.join("pods.watch"), pods).unwrap();
    std::fs::write(
        dir.join("deployments.watch"),
        line(0.4, "ADDED", object("Deployment", "web")),
    )
    .unwrap();
    std::fs::write(
        dir.join("replicasets.watch"),
        line(0.6, "ADDED", object("ReplicaSet", "web-1")),
    )
    .unwrap();
    std::fs::write(
        dir.join("endpointslices.watch"),
        line(0.6, "ADDED", object("EndpointSlice", "web-x")),
    )
    .unwrap();
    std::fs::write(
        dir.join("events.watch"),
        line(0.7, "ADDED", object("Event", "e1")),
    )
    .unwrap();
    let mut node = object("Node", "node1");
    node["status"] = json!({"nodeInfo": {"kubeletVersion": "v1.36.2"}});
    std::fs::write(dir.join("node.watch"), line(0.8, "ADDED", node)).unwrap();
    let requests = [
        json!({"t": 1_796_036_823_000.0, "path": "/slow", "conn": 1, "n": 0, "fresh": false, "reused": false, "connect_ms": 1.0, "pod": "web-a", "out": "EOF", "phase": "head", "partial": 0, "ms": 900.0}),
        json!({"t": 1_796_036_822_000.0, "path": "/", "conn": 2, "n": 0, "fresh": true, "reused": false, "connect_ms": 1.0, "pod": "web-a", "out": 200, "close": true, "ms": 2.0}),
        json!({"t": 1_796_036_824_000.0, "path": "/leak?mb=1", "conn": 3, "n": 0, "fresh": false, "reused": false, "connect_ms": 1.0, "pod": "web-a", "out": 404, "close": false, "ms": 2.0}),
    ];
    let requests: String = requests.iter().map(|r| format!("{r}\n")).collect();
    std::fs::write(dir.join("requests.jsonl"), requests).unwrap();
    std::fs::create_dir(dir.join("logs")).unwrap();
    let log = format!(
        "{} 2026-11-30T11:07:05.1Z token=abc drained\n{} <EOF>\n",
        at(5.2),
        at(6.0)
    );
    std::fs::write(dir.join("logs/web-a.web.0.api.log"), log).unwrap();
    let meta = json!({"namespace": "shop", "config": {"hits": ["1.5:/leak?mb=1"], "load": ["--timeout", "40"]},
        "timeline": [
            {"t_ns": at(1.0), "what": "load start", "service": "10.96.0.7"},
            {"t_ns": at(3.0), "what": "kubectl rollout restart: start"},
            {"t_ns": at(3.1), "what": "kubectl rollout restart: returned"},
            {"t_ns": at(6.0), "what": "kubectl rollout status: returned", "rc": 0},
            {"t_ns": at(9.1), "what": "only 3 pods left"},
            {"t_ns": at(15.0), "what": "load stop"}]});
    std::fs::write(dir.join("meta.json"), meta.to_string()).unwrap();
    let manifest = json!({"items": [
        {"kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}},
        {"kind": "Deployment", "metadata": {"name": "web"}}]});
    std::fs::write(dir.join("manifest.json"), manifest.to_string()).unwrap();
    // Ground truth: must never be read, so it may even be damaged.
    std::fs::write(dir.join("container-exits.jsonl"), "{{{").unwrap();
}

#[test]
fn a_whole_folder_becomes_a_recording_on_one_clock() {
    let dir = tempfile::tempdir().unwrap();
    folder(dir.path());
    let out = dir.path().join("out.rollscope");
    let summary = import_watch(dir.path(), &out).unwrap();
    assert_eq!(
        (
            summary.requests,
            summary.watch_events,
            summary.log_lines,
            summary.gaps
        ),
        (3, 7, 1, 0)
    );
    let recording = Recording::open(&out).unwrap();
    assert_eq!(
        recording.run.wall_start_unix_nanos,
        at(0.4),
        "the first thing received"
    );
    let target = &recording.run.target;
    assert_eq!(target.workload.as_deref(), Some("deployment/web"));
    assert_eq!(target.services, ["web"]);
    assert_eq!(target.namespace.as_deref(), Some("shop"));
    assert_eq!(target.kubelet_version.as_deref(), Some("v1.36.2"));
    assert_eq!(target.front_end.as_deref(), Some("l4"));
    let names: Vec<&str> = recording.requests.iter().map(|r| r.name).collect();
    assert_eq!(
        names,
        ["/", "/slow", "/leak?mb=1"],
        "in order of their start"
    );
    let first = recording.requests.row(0);
    assert_eq!(
        (first.seq, first.lane, first.outcome),
        (0, Lane::New, Outcome::Ok)
    );
    assert_eq!(first.scheduled, RunOffset::from_millis(1600));
    assert_eq!(first.ended, Some(RunOffset::from_millis(1602)));
    assert_eq!(first.peer, Some("10.96.0.7:80"));
    assert_eq!(
        recording.requests.row(2).outcome,
        Outcome::Ok,
        "a 404 that was asked for on purpose"
    );
    assert_eq!(recording.requests.row(2).status, Some(404));
    assert_eq!(recording.logs[0].line, "token=redacted drained");
    assert_eq!(recording.logs[0].at, RunOffset::from_millis(4800));
    let text = format!("{:?}", recording.watch);
    assert!(!text.contains("s3cret") && !text.contains("managedFields"));
    let complete = recording
        .stages
        .iter()
        .find(|s| s.detail == marks::ROLLOUT_COMPLETE)
        .unwrap();
    assert_eq!(
        (complete.at, complete.kind.as_str()),
        (RunOffset::from_millis(5600), "restart")
    );
    let settled = recording.stages.last().unwrap();
    assert_eq!(
        (settled.kind.as_str(), &settled.event),
        ("settle", &StageEvent::Completed)
    );
    assert_eq!(recording.run.requests[0].deadline_nanos, 40_000_000_000);
    assert_eq!(recording.generator.as_ref().unwrap().sent, 3);
}

#[test]
fn compressed_files_give_the_same_recording() {
    let dir = tempfile::tempdir().unwrap();
    folder(dir.path());
    let plain = read_watch_dir(dir.path()).unwrap();
    for name in [
        "pods.watch",
        "requests.jsonl",
        "meta.json",
        "logs/web-a.web.0.api.log",
    ] {
        let path = dir.path().join(name);
        let file = std::fs::File::create(dir.path().join(format!("{name}.gz"))).unwrap();
        let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        gz.write_all(&std::fs::read(&path).unwrap()).unwrap();
        gz.finish().unwrap();
        std::fs::remove_file(path).unwrap();
    }
    assert_eq!(read_watch_dir(dir.path()).unwrap(), plain);
}

#[test]
fn absent_streams_are_gaps_and_absent_logs_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    folder(dir.path());
    std::fs::remove_file(dir.path().join("events.watch")).unwrap();
    std::fs::remove_file(dir.path().join("node.watch")).unwrap();
    std::fs::remove_dir_all(dir.path().join("logs")).unwrap();
    let imported = read_watch_dir(dir.path()).unwrap();
    let sources: Vec<&str> = imported
        .recording
        .gaps()
        .map(|g| g.source.as_str())
        .collect();
    assert_eq!(sources, ["watch/Event"]);
    for part in ["node.watch", "no logs"] {
        assert!(
            imported.warnings.iter().any(|w| w.contains(part)),
            "{:?}",
            imported.warnings
        );
    }
    assert_eq!(imported.recording.run.target.kubelet_version, None);
    assert_eq!(imported.recording.run.warnings, imported.warnings);
}

#[test]
fn a_cut_last_line_is_left_out_but_a_damaged_middle_is_an_error_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    folder(dir.path());
    let path = dir.path().join("pods.watch");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 20]).unwrap();
    let imported = read_watch_dir(dir.path()).unwrap();
    let is_pod = |w: &&WatchRecord| {
        matches!(
            w,
            WatchRecord::Event {
                kind: ObjectKind::Pod,
                ..
            }
        )
    };
    assert_eq!(imported.recording.watch.iter().filter(is_pod).count(), 1);
    assert!(
        imported
            .warnings
            .iter()
            .any(|w| w.contains("pods.watch: the last line is cut"))
    );
    std::fs::write(&path, format!("{} oops\n{text}", at(0.1))).unwrap();
    let error = read_watch_dir(dir.path()).unwrap_err();
    assert!(matches!(error, ImportError::Malformed { line: 1, .. }));
    assert!(error.to_string().contains("pods.watch, line 1"), "{error}");
}

#[test]
fn a_folder_without_streams_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let error = read_watch_dir(dir.path()).unwrap_err();
    assert!(matches!(error, ImportError::Empty(_)));
}
