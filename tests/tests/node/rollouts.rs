//! Each subject through a rollout in the sandbox.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use rollscope_tests::{Finished, Redis, Workdir};
use serde_json::Value;

use super::PROGRAM;
use super::counts;
use super::jobs;
use super::table::{Expected, expected};

/// Rollouts that run at the same time: most of each is waiting.
const AT_ONCE: usize = 3;

fn check(expected: &Expected) {
    let workdir = Workdir::new(PROGRAM);
    let redis = Redis::of_subject(&workdir, &expected.subject);
    let run = workdir.run(&format!("scenarios/node/{}.yaml", expected.subject));
    run.expect_exit(expected.exit_code);
    let report = run.report();
    check_causes(expected, &run, &report);
    check_findings(expected, &run, &report);
    check_pods(&report);
    counts::check(&run, &report, &workdir.ledgers());
    if let Some(redis) = redis {
        jobs::check(&report, &redis);
    }
}

fn check_causes(expected: &Expected, run: &Finished, report: &Value) {
    let causes: BTreeSet<_> = run.causes().into_keys().collect();
    let mut allowed = expected.beside.clone();
    allowed.extend(expected.cause.clone());
    let named = expected.cause.as_ref().is_none_or(|c| causes.contains(c));
    assert!(
        named && causes.is_subset(&allowed),
        "{causes:?}, expected {:?} and at most {:?} beside it:\n{}",
        expected.cause,
        expected.beside,
        run.stdout
    );
    assert_eq!(report["unattributed"], 0);
    let failed = report["requests"]["failed"].as_u64().unwrap() > 0;
    assert_eq!(failed, !causes.is_empty(), "{}", run.stdout);
}

fn check_findings(expected: &Expected, run: &Finished, report: &Value) {
    let found = report["findings"].as_array().unwrap().iter();
    let found: BTreeSet<_> = found
        .map(|f| f["cause"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        expected.findings.is_subset(&found),
        "{found:?}, expected {:?}:\n{}",
        expected.findings,
        run.stdout
    );
}

/// The pods are the manifest's two, old and new.
fn check_pods(report: &Value) {
    let pods = report["pods"].as_array().unwrap();
    let old = pods.iter().filter(|p| p["old"] == true).count();
    assert_eq!((old, pods.len()), (2, 4));
}

/// Runs `check` on each row, some at a time, and tells of all that failed.
fn for_each(rows: &[Expected], check: impl Fn(&Expected) + Sync) {
    let next = Mutex::new(rows.iter());
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(row) = next.lock().unwrap().next() else {
                        return;
                    };
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(row))) {
                        let why = panic.downcast_ref::<String>().cloned();
                        failed.lock().unwrap().push(format!(
                            "{}: {}",
                            row.subject,
                            why.unwrap_or_default()
                        ));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn every_node_subject_gets_the_verdict_of_the_table_from_a_rollout() {
    for_each(&expected(), check);
}
