use rollscope_records::{EndKind, Gap, Loss, Outcome, RunOffset, StageEvent, WatchRecord, marks};

use super::{analysed, new_pod, quiet, replaced};
use crate::testing::Scene;
use crate::{VerdictOutcome, analyze};

/// A valid run with a rollout and no failure.
fn clean() -> Scene {
    let mut scene = quiet();
    replaced(&mut scene);
    scene
}

fn code(scene: &Scene) -> u8 {
    analysed(scene).verdict.exit_code
}

#[track_caller]
fn invalid_because(scene: &Scene, words: &str) {
    let v = analysed(scene).verdict;
    assert_eq!(
        (v.outcome, v.exit_code),
        (VerdictOutcome::Invalid, 3),
        "{:?}",
        v.reasons
    );
    assert!(
        v.reasons.iter().any(|r| r.contains(words)),
        "{:?}",
        v.reasons
    );
}

#[test]
fn a_clean_run_passes() {
    assert_eq!(code(&clean()), 0);
}

#[test]
fn failures_over_the_limit_fail_the_gate_even_in_an_invalid_run() {
    let mut scene = clean();
    scene.refused(6_100);
    scene.recording.run.end = None;
    let v = analysed(&scene).verdict;
    assert_eq!((v.outcome, v.exit_code), (VerdictOutcome::GateFailed, 1));
    assert!(v.reasons.iter().any(|r| r.contains("1 request failed")));
    assert!(v.reasons.iter().any(|r| r.contains("no end")));
}

#[test]
fn failures_within_the_limit_pass() {
    let mut scene = clean();
    scene.refused(6_100);
    scene.recording.run.gate.max_failed = 1;
    assert_eq!(code(&scene), 0);
}

#[test]
fn a_killed_run_is_invalid() {
    let mut scene = clean();
    scene.recording.run.end = None;
    invalid_because(&scene, "has no end");
}

#[test]
fn an_interrupted_run_is_130_and_a_failed_environment_is_4() {
    let mut scene = clean();
    for (how, expected) in [(EndKind::Interrupted, 130), (EndKind::EnvironmentFailed, 4)] {
        if let Some(end) = &mut scene.recording.run.end {
            end.how = how;
        }
        assert_eq!(code(&scene), expected);
    }
}

#[test]
fn an_interruption_is_130_also_when_requests_had_failed_and_the_reasons_say_both() {
    let mut scene = clean();
    scene.refused(6_100);
    if let Some(end) = &mut scene.recording.run.end {
        end.how = EndKind::Interrupted;
    }
    assert_eq!(code(&scene), 130);
    let reasons = analyze(&scene.recorded()).verdict.reasons.join("; ");
    assert!(
        reasons.contains("interrupted") && reasons.contains("1 request failed"),
        "{reasons}"
    );
}

#[test]
fn a_rollout_that_no_request_met_is_invalid() {
    let mut scene = clean();
    let rollout = scene
        .recording
        .stages
        .iter()
        .find(|s| s.kind == "restart")
        .map(|s| s.at);
    let before = rollout.unwrap_or_default();
    scene.requests.retain(|r| r.scheduled < before);
    invalid_because(&scene, "not put to the test");
}

#[test]
fn dropped_slots_are_invalid() {
    let mut scene = clean();
    scene.refused(30_000).outcome = Outcome::Dropped;
    invalid_because(&scene, "dropped");
}

#[test]
fn a_rate_that_was_not_held_is_invalid() {
    let mut scene = clean();
    let n = scene.requests.len();
    for r in &mut scene.requests[n - 20..] {
        r.dispatched = Some(r.scheduled.plus_nanos(400_000_000));
        r.ended = Some(r.scheduled.plus_nanos(500_000_000));
    }
    invalid_because(&scene, "rate was not held");
}

#[test]
fn a_gap_over_a_termination_is_invalid_and_one_elsewhere_is_not() {
    let gap = |from, to| {
        WatchRecord::Gap(Gap {
            source: "watch/Pod".to_owned(),
            from: RunOffset::from_millis(from),
            to: Some(RunOffset::from_millis(to)),
            reason: "410 Gone".to_owned(),
        })
    };
    let mut scene = clean();
    scene.recording.watch.push(gap(30_000, 31_000));
    assert_eq!(code(&scene), 0);
    scene.recording.watch.push(gap(7_000, 8_000));
    invalid_because(&scene, "watch/Pod was not observed");
}

#[test]
fn a_damaged_recording_is_invalid() {
    let mut scene = clean();
    scene.recording.losses.push(Loss {
        file: "watch.jsonl".to_owned(),
        what: "a cut last line".to_owned(),
    });
    invalid_because(&scene, "damaged");
}

#[test]
fn a_restart_stage_that_replaced_nothing_is_invalid() {
    invalid_because(&quiet(), "nothing was rolled out");
}

#[test]
fn a_foreign_rollout_is_invalid() {
    let mut scene = clean();
    scene.stage(9_000, StageEvent::Mark, marks::FOREIGN_ROLLOUT);
    invalid_because(&scene, "somebody else");
}

#[test]
fn a_failed_stage_is_invalid() {
    let mut scene = clean();
    if let Some(end) = &mut scene.recording.run.end {
        end.how = EndKind::StageFailed;
        end.reason = Some("restart: not complete within 2m".to_owned());
    }
    invalid_because(&scene, "not complete within 2m");
}

#[test]
fn a_pod_whose_end_was_not_seen_makes_a_run_invalid() {
    let mut scene = quiet();
    new_pod(&mut scene);
    scene.pod("old", "h1").deleted(6_000).add(&mut scene);
    invalid_because(&scene, "was not observed (old)");
}

#[test]
fn a_broken_assertion_fails_the_gate_where_the_scenario_says_so() {
    let mut scene = quiet();
    new_pod(&mut scene);
    scene
        .pod("old", "h1")
        .deleted(6_000)
        .not_ready(7_500)
        .exit(11_500, 1, "Error")
        .add(&mut scene);
    assert_eq!(code(&scene), 0);
    scene.recording.run.gate.assertions_fail = true;
    let v = analyze(&scene.recorded()).verdict;
    assert_eq!(v.exit_code, 1);
    assert!(v.reasons[0].contains("ended_by_itself"), "{:?}", v.reasons);
}
