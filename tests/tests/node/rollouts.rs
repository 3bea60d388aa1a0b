//! Each subject through a rollout in the sandbox.

use rollscope_tests::{Redis, Workdir};
use serde_json::Value;

use super::at_once::for_each;
use super::table::{Expected, expected};
use super::{PROGRAM, counts, jobs, verdict};

fn check(expected: &Expected) {
    let workdir = Workdir::new(PROGRAM);
    let redis = Redis::of_subject(&workdir, &expected.subject);
    let run = workdir.run(&format!("scenarios/node/{}.yaml", expected.subject));
    let report = verdict::check(&expected.rollout, &run);
    check_pods(&report);
    counts::check(&run, &report, &workdir.ledgers(), 0);
    if let Some(redis) = redis {
        jobs::check(&report, &redis);
    }
}

/// The pods are the manifest's two, old and new.
fn check_pods(report: &Value) {
    let pods = report["pods"].as_array().unwrap();
    let old = pods.iter().filter(|p| p["old"] == true).count();
    assert_eq!((old, pods.len()), (2, 4));
}

#[test]
fn every_node_subject_gets_the_verdict_of_the_table_from_a_rollout() {
    for_each(&expected(), check);
}
