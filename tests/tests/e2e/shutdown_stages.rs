//! The stages of a shutdown from real logs, against the subjects' ledgers.

use std::fs;

use rollscope_tests::{Finished, Workdir};
use serde_json::Value;

use super::PROGRAM;

/// Two accounts of one moment are this near each other, ms.
const NEAR: f64 = 250.0;

/// A short rollout of the reference's manifest with another subject.
fn rolled_out(workdir: &Workdir, subject: &str) -> Finished {
    let manifests = workdir.path().join("scenarios/manifests");
    let manifest = fs::read_to_string(manifests.join("graceful.yaml")).unwrap();
    let other = manifest.replace("value: graceful", &format!("value: {subject}"));
    workdir.write("scenarios/manifests/subject.yaml", &other);
    let changes = [
        ("manifests/graceful.yaml", "manifests/subject.yaml"),
        ("name: graceful", "name: stages"),
        ("rate: 200/s", "rate: 40/s"),
        ("warmup: 4s", "warmup: 2s"),
        ("settle: 3s", "settle: 1s"),
    ];
    workdir.variant("graceful", "stages", &changes);
    workdir.run("scenarios/stages.yaml")
}

fn old_pods(report: &Value) -> Vec<&Value> {
    let pods = report["pods"].as_array().unwrap().iter();
    let old: Vec<_> = pods.filter(|p| p["old"] == true).collect();
    assert_eq!(old.len(), 3);
    old
}

fn stages(pod: &Value) -> Vec<(&str, f64)> {
    let stages = pod["shutdown"]["stages"].as_array();
    let stages = stages.unwrap_or_else(|| panic!("no stages: {pod}"));
    let moment = |s: &Value| s["at_ms"].as_f64().unwrap();
    stages
        .iter()
        .map(|s| (s["stage"].as_str().unwrap(), moment(s)))
        .collect()
}

/// The moments of a step in a pod's ledger, ms of the wall clock.
fn witnessed(workdir: &Workdir, pod: &Value, step: &str) -> Vec<f64> {
    let file = format!("ledgers/{}.ledger", pod["name"].as_str().unwrap());
    let ledger = fs::read_to_string(workdir.path().join(file)).unwrap();
    ledger
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, told)| *told == step)
        .map(|(at, _)| at.parse::<f64>().unwrap() / 1e3)
        .collect()
}

#[test]
fn a_double_owner_is_told_by_its_stages_and_blamed_for_its_errors() {
    let workdir = Workdir::new(PROGRAM);
    let run = rolled_out(&workdir, "double-owner");
    run.expect_exit(1);
    let causes: Vec<_> = run.causes().into_keys().collect();
    assert_eq!(causes, ["double_shutdown"], "{}", run.stdout);
    for pod in old_pods(&run.report()) {
        assert_eq!(pod["shutdown"]["owners"], 2);
        assert_eq!(pod["shutdown"]["in_order"], false);
        let told = stages(pod);
        let of = |stage: &str| -> Vec<f64> {
            told.iter()
                .filter(|(s, _)| *s == stage)
                .map(|(_, at)| *at)
                .collect()
        };
        let (closed, witness) = (of("pool_closed"), witnessed(&workdir, pod, "pool_closed"));
        assert_eq!((closed.len(), witness.len()), (2, 2), "{told:?}");
        let apart = |at: &[f64]| at[1] - at[0];
        assert!((apart(&closed) - apart(&witness)).abs() < NEAR);
    }
}

#[test]
fn the_stages_of_a_graceful_shutdown_come_in_order_and_as_its_ledger_says() {
    let workdir = Workdir::new(PROGRAM);
    let run = rolled_out(&workdir, "graceful");
    run.expect_exit(0);
    let report = run.report();
    for pod in old_pods(&report) {
        assert_eq!(pod["shutdown"]["in_order"], true);
        let told = stages(pod);
        let names: Vec<_> = told.iter().map(|(s, _)| *s).collect();
        let right = [
            "signal",
            "readiness_off",
            "listener_closed",
            "drained",
            "pool_closed",
            "exit",
        ];
        assert_eq!(names, right);
        let steps = ["signal", "draining", "refusing"].map(|s| witnessed(&workdir, pod, s)[0]);
        for i in 1..steps.len() {
            let (said, witness) = (told[i].1 - told[0].1, steps[i] - steps[0]);
            assert!(
                (said - witness).abs() < NEAR,
                "{}: {said} {witness}",
                names[i]
            );
        }
    }
    let held = |id: &str| {
        let all = report["assertions"].as_array().unwrap();
        all.iter()
            .find(|a| a["id"] == id)
            .map(|a| a["held"].clone())
    };
    assert_eq!(held("stages_in_order"), Some(Value::Bool(true)));
    assert_eq!(report["budget"]["grace_ms"], 10_000.0);
}
