//! The sandbox against a real cluster: how each stream tells the end of a pod.

use std::collections::{BTreeMap, BTreeSet};

use rollscope_records::Recording;
use rollscope_tests::golden_recording;
use rollscope_tests::transitions::{Termination, terminations};

/// Compares the terminations of a sandbox run with those of the real recording in `golden/<real>`.
pub(crate) fn check(sandbox: &Recording, real: &str) {
    let ours = terminations(sandbox);
    let dir = tempfile::tempdir().unwrap();
    let theirs = terminations(&Recording::open(&golden_recording(real, dir.path())).unwrap());
    assert_eq!(ours.len(), 3, "three old pods ended");
    compare("pods", &ours, &theirs, |t| t.pod.clone());
    compare("endpointslices", &ours, &theirs, |t| t.endpoint.clone());
    compare("events", &ours, &theirs, |t| t.events.clone());
    for (pod, end) in &ours {
        check_bounds(pod, end);
    }
}

/// Every sequence that the sandbox shows, a real cluster has shown for this behaviour.
fn compare(
    stream: &str,
    ours: &BTreeMap<String, Termination>,
    theirs: &BTreeMap<String, Termination>,
    sequence: impl Fn(&Termination) -> Vec<String>,
) {
    let real: BTreeSet<_> = theirs.values().map(&sequence).collect();
    for (pod, end) in ours {
        let seen = sequence(end);
        assert!(
            real.contains(&seen),
            "{stream} of {pod}:\n{seen:#?}\nreal:\n{real:#?}"
        );
    }
}

/// The bounds between streams that were measured on a real cluster, in milliseconds from T0. A busy machine may receive
/// either end of each span late.
fn check_bounds(pod: &str, end: &Termination) {
    const BUSY_MS: f64 = 250.0;
    let within = |what: &str, ms: Option<f64>, from: f64, to: f64| {
        let ms = ms.unwrap_or_else(|| panic!("{pod}: {what} was never seen"));
        assert!(
            (from - BUSY_MS..=to + BUSY_MS).contains(&ms),
            "{pod}: {what} came at {ms} ms"
        );
    };
    within("Killing", end.killing_ms, -30.0, 380.0);
    within(
        "the endpoint's flip",
        end.endpoint_not_ready_ms,
        -30.0,
        90.0,
    );
    let terminated = end.terminated_ms.expect("a terminated state was seen");
    let after = |ms: Option<f64>| ms.map(|ms| ms - terminated);
    within(
        "DELETED after the terminated state",
        after(end.deleted_ms),
        190.0,
        1020.0,
    );
    let removed = after(end.endpoint_removed_ms);
    within(
        "the endpoint's removal after the terminated state",
        removed,
        -30.0,
        380.0,
    );
}
