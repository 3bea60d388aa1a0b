//! One program and its signal: a pod alone, its own address, and signals that are written on it.

use rollscope_records::{Lane, ObjectKind, Outcome, RequestRecord, RunOffset, WatchRecord};
use serde_json::{Value, json};

use super::analysed;
use crate::kube_time::rfc3339;
use crate::testing::{PodScript, Scene, WALL};
use crate::{Analysis, SignalReport};

const PEER: &str = "127.9.8.7:3000";

/// A pod alone that is asked on new connections every 50 ms from 0 s until `until`, and answers.
fn alone(pod: impl Fn(PodScript) -> PodScript, until: i64) -> Scene {
    let mut scene = Scene::new();
    scene.recording.run.target.front_end = Some("direct".to_owned());
    for stage in &mut scene.recording.stages {
        stage.kind = "signal".to_owned();
    }
    pod(scene.pod("program", "h1").grace(10).deleted(6_000)).add(&mut scene);
    for at in (0..until).step_by(50) {
        scene.ok_new(at, 3, "program");
    }
    on_every_pod_object(&mut scene, |_, object| {
        object["status"]["podIP"] = json!("127.9.8.7")
    });
    scene
}

fn on_every_pod_object(scene: &mut Scene, mut change: impl FnMut(i64, &mut Value)) {
    for seen in &mut scene.recording.watch {
        if let WatchRecord::Event {
            at,
            kind: ObjectKind::Pod,
            object,
            ..
        } = seen
        {
            change(at.nanos() / 1_000_000, object);
        }
    }
}

/// The kubelet wrote down a signal, and what each process does at it.
fn sent(scene: &mut Scene, signals: &[(&str, i64)], processes: &Value) {
    let list: Vec<Value> = signals
        .iter()
        .map(|(name, at)| json!({"signal": name, "at": rfc3339(WALL + at * 1_000_000), "processes": processes}))
        .collect();
    on_every_pod_object(scene, |seen, object| {
        let known: Vec<&Value> = list
            .iter()
            .zip(signals)
            .filter(|(_, s)| s.1 <= seen)
            .map(|(l, _)| l)
            .collect();
        if !known.is_empty() {
            let text = json!(known).to_string();
            object["metadata"]["annotations"] = json!({"sandbox.rollscope.dev/signals": text});
        }
    });
}

/// What became of a request that wanted a connection of its own.
fn wanted(scene: &mut Scene, at: i64, outcome: Outcome) {
    let r = scene.refused(at);
    r.outcome = outcome;
    if outcome == Outcome::Unrouted {
        r.errno = None;
    }
    for r in &mut scene.requests {
        r.peer = Some(PEER.to_owned());
        r.pod = None;
    }
}

fn report(a: &Analysis) -> &SignalReport {
    a.signal
        .as_ref()
        .unwrap_or_else(|| panic!("no signal: {a:#?}"))
}

fn server() -> Value {
    json!([{"pid": 1, "name": "node", "action": "handler"}])
}

#[test]
fn refusals_of_the_only_pod_are_its_early_close_although_no_endpoint_is_ready() {
    let mut scene = alone(|p| p.exit(6_900, 0, "Completed"), 6_050);
    for at in (6_100..6_800).step_by(50) {
        wanted(&mut scene, at, Outcome::ConnectRefused);
    }
    sent(&mut scene, &[("SIGTERM", 6_005)], &server());
    let a = analysed(&scene);
    let causes: Vec<&str> = a.bursts.iter().map(|b| b.cause.as_str()).collect();
    assert_eq!(causes, ["early_close"], "{:#?}", a.bursts);
    assert_eq!(report(&a).new_connections.failed, 14);
    assert_eq!(report(&a).effect, "handled");
}

#[test]
fn requests_after_the_route_was_withdrawn_are_neither_failed_nor_answered() {
    let mut scene = alone(|p| p.exit(9_000, 0, "Completed"), 6_900);
    for at in (7_000..8_000).step_by(50) {
        wanted(&mut scene, at, Outcome::Unrouted);
    }
    sent(&mut scene, &[("SIGTERM", 6_005)], &server());
    let a = analysed(&scene);
    assert_eq!((a.requests.failed, a.requests.aborted), (0, 20));
    let new = report(&a).new_connections;
    assert_eq!((new.unrouted, new.failed), (20, 0));
    assert_eq!(new.answered, new.attempted);
    assert_eq!(
        report(&a).route_withdrawn_ms.map(|t| t.0),
        Some(RunOffset::from_millis(7_000))
    );
    assert!(a.verdict.reasons.is_empty(), "{:?}", a.verdict);
}

#[test]
fn a_shell_without_a_handler_keeps_the_signal_from_the_server_behind_it() {
    let mut scene = alone(|p| p.exit(16_000, 137, "Error"), 6_900);
    let processes = json!([
        {"pid": 1, "name": "sh", "action": "default"},
        {"pid": 7, "name": "node", "action": "handler"},
    ]);
    sent(
        &mut scene,
        &[("SIGTERM", 6_005), ("SIGKILL", 15_990)],
        &processes,
    );
    let a = analysed(&scene);
    let report = report(&a);
    assert_eq!(
        (report.effect, report.killed, report.exit_code),
        ("ignored", true, Some(137))
    );
    assert!(
        report.summary.contains("passed nothing on to node (pid 7)"),
        "{}",
        report.summary
    );
    assert_eq!(report.sent_ms.len(), 1, "SIGKILL is no stop signal");
}

#[test]
fn a_handler_that_does_not_end_was_reached() {
    let mut scene = alone(|p| p.exit(16_000, 137, "Error"), 6_900);
    sent(
        &mut scene,
        &[("SIGTERM", 6_005), ("SIGKILL", 15_990)],
        &server(),
    );
    let a = analysed(&scene);
    assert_eq!(report(&a).effect, "not_stopped");
}

#[test]
fn a_second_signal_is_told_beside_the_first() {
    let mut scene = alone(|p| p.exit(9_000, 0, "Completed"), 6_900);
    sent(
        &mut scene,
        &[("SIGTERM", 6_005), ("SIGTERM", 6_305)],
        &server(),
    );
    let a = analysed(&scene);
    assert_eq!(report(&a).sent_ms.len(), 2);
}

#[test]
fn a_process_that_dies_by_the_signals_number_and_had_no_handler_died_of_it() {
    let mut scene = alone(|p| p.exit(6_010, 143, "Error"), 6_000);
    let processes = json!([{"pid": 1, "name": "server", "action": "default"}]);
    sent(&mut scene, &[("SIGTERM", 6_005)], &processes);
    let a = analysed(&scene);
    assert_eq!((report(&a).effect, report(&a).killed), ("died", false));
}

#[test]
fn what_was_in_flight_is_told_by_how_far_it_had_come() {
    let mut scene = alone(|p| p.exit(9_000, 0, "Completed"), 5_900);
    let slow = |seq: u64, first_byte: Option<i64>, outcome: Outcome| {
        let mut r = RequestRecord::scheduled(seq, Lane::New, "slow", RunOffset::from_millis(5_950));
        r.dispatched = Some(r.scheduled);
        r.first_byte = first_byte.map(RunOffset::from_millis);
        r.ended = Some(RunOffset::from_millis(7_000));
        (r.outcome, r.status) = (outcome, Some(200));
        r.peer = Some(PEER.to_owned());
        r
    };
    scene.requests.push(slow(9_000, Some(5_980), Outcome::Ok));
    scene.requests.push(slow(9_001, Some(6_500), Outcome::Ok));
    scene
        .requests
        .push(slow(9_002, Some(5_990), Outcome::TruncatedBody));
    sent(&mut scene, &[("SIGTERM", 6_005)], &server());
    let a = analysed(&scene);
    let flight = report(&a).in_flight;
    assert_eq!((flight.at_signal, flight.in_body), (3, 2));
    assert_eq!((flight.answered, flight.failed), (2, 1));
}

#[test]
fn a_run_of_another_kind_has_no_such_report() {
    let mut scene = alone(|p| p.exit(9_000, 0, "Completed"), 6_900);
    scene.recording.run.target.front_end = Some("l4".to_owned());
    assert_eq!(analysed(&scene).signal, None);
}
