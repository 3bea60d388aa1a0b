use rollscope_records::Outcome;

use super::{analysed, one_burst, quiet, replaced};
use crate::VerdictOutcome;

/// A graceful old pod: not ready, waits, closes, ends with 0.
fn graceful(scene: &mut crate::testing::Scene) {
    replaced(scene);
    scene.keep(0, 6_200, 200, "old");
    let connection = scene.connection();
    scene.ok(5_990, 60, "old", connection);
    scene.ok_new(6_700, 3, "old");
}

#[test]
fn a_graceful_shutdown_is_a_pass_with_nothing_to_blame() {
    let mut scene = quiet();
    graceful(&mut scene);
    let a = analysed(&scene);
    assert_eq!(a.verdict.outcome, VerdictOutcome::Passed);
    assert_eq!(a.verdict.exit_code, 0);
    assert!(
        a.bursts.is_empty() && a.findings.is_empty(),
        "{:#?}",
        a.findings
    );
    assert!(
        a.assertions.iter().all(|x| x.held == Some(true)),
        "{:#?}",
        a.assertions
    );
}

#[test]
fn a_reset_on_an_idle_connection_of_a_healthy_pod_is_a_keepalive_race() {
    let mut scene = quiet();
    graceful(&mut scene);
    for i in 0..5 {
        let connection = scene.connection();
        scene.ok(20_000 + i * 1_000, 3, "stays", connection);
        let r = scene.cut(25_000 + i * 1_000, 1, connection);
        r.outcome = Outcome::ResetBeforeHeaders;
        r.idle = Some(4_997_000_000);
    }
    one_burst(&scene, "keepalive_race", None, &["stays"]);
}

/// nginx closes the idle connections of its clients at a reload, which it needs when endpoints change.
#[test]
fn an_idle_connection_that_a_balancer_closed_at_its_reload_is_no_pods_doing() {
    let mut scene = quiet();
    graceful(&mut scene);
    for i in 0..4 {
        let connection = scene.connection();
        scene.ok(5_800 + i * 20, 3, "stays", connection);
        let r = scene.cut(6_100 + i, 1, connection);
        (r.outcome, r.idle) = (Outcome::EofBeforeHeaders, Some(250_000_000));
    }
    scene.recording.run.target.front_end = Some("nginx".to_owned());
    let a = analysed(&scene);
    let of = &a.bursts[0];
    let detail = of.detail.as_deref();
    assert_eq!(
        (of.cause.as_str(), detail),
        ("keepalive_race", Some("by_the_balancer"))
    );
    assert!(of.advice[0].text.contains("reload"), "{:?}", of.advice);
}

#[test]
fn what_failed_like_this_before_the_rollout_is_background() {
    let mut scene = quiet();
    graceful(&mut scene);
    for at in (500..30_000).step_by(1_500) {
        scene.status(at, 3, 500, Some("stays"));
    }
    let a = analysed(&scene);
    assert!(
        a.bursts.iter().all(|b| b.cause == "background"),
        "{:#?}",
        a.bursts
    );
}

#[test]
fn errors_of_the_usual_rate_on_a_draining_pod_are_background() {
    let mut scene = quiet();
    graceful(&mut scene);
    for at in (100..5_000).step_by(700) {
        scene.status(at, 3, 500, Some("old"));
    }
    scene.status(6_400, 3, 500, Some("old"));
    let a = analysed(&scene);
    assert!(
        a.bursts.iter().all(|b| b.cause == "background"),
        "{:#?}",
        a.bursts
    );
}

#[test]
fn a_request_that_never_left_the_host_is_the_generators() {
    let mut scene = quiet();
    graceful(&mut scene);
    scene.refused(6_500).outcome = Outcome::ConnectLocal;
    one_burst(&scene, "generator", None, &[]);
}

#[test]
fn a_burst_long_before_the_rollout_is_no_rate() {
    let mut scene = quiet();
    graceful(&mut scene);
    for at in (100..900).step_by(100) {
        scene.status(at, 1, 500, Some("old"));
    }
    for at in (6_050..6_400).step_by(50) {
        scene.status(at, 1, 500, Some("old"));
    }
    let a = analysed(&scene);
    let causes: Vec<_> = a.bursts.iter().map(|b| b.cause.as_str()).collect();
    assert_eq!(causes, ["background", "dependency_closed_first"]);
}
