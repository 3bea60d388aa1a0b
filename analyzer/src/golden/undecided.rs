use rollscope_records::{Gap, Recording, RunOffset, WatchRecord};

use super::{analysed, new_pod, quiet};
use crate::testing::Scene;

#[test]
fn what_fits_no_signature_is_unknown() {
    let mut scene = quiet();
    new_pod(&mut scene);
    scene.refused(20_000);
    let a = analysed(&scene);
    assert_eq!(a.bursts[0].cause, "unknown");
}

#[test]
fn what_a_gap_may_have_decided_is_indeterminate() {
    let mut scene = quiet();
    new_pod(&mut scene);
    scene.refused(20_000);
    scene.recording.watch.push(WatchRecord::Gap(Gap {
        source: "watch/Pod".to_owned(),
        from: RunOffset::from_millis(18_000),
        to: Some(RunOffset::from_millis(21_000)),
        reason: "410 Gone".to_owned(),
    }));
    let a = analysed(&scene);
    assert_eq!(a.bursts[0].cause, "indeterminate");
    assert!(a.bursts[0].evidence.iter().any(|e| e.id == "gap"));
}

#[test]
fn without_pods_a_burst_says_what_could_not_be_observed() {
    let mut scene = Scene::new();
    scene.recording.run.target.kind = "none".to_owned();
    for at in (0..20_000).step_by(100) {
        scene.ok_new(at, 3, "unseen");
    }
    scene.refused(7_000);
    let a = analysed(&scene);
    assert_eq!(a.bursts[0].cause, "unknown");
    assert!(a.bursts[0].summary.contains("no pods were observed"));
    assert!(a.notes.iter().any(|n| n.contains("target none")));
}

#[test]
fn an_empty_recording_is_analysed_and_invalid() {
    let a = crate::analyze(&Recording::new(Scene::new().recording.run));
    assert_eq!(a.verdict.exit_code, 3);
}
