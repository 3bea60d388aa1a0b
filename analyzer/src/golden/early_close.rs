use super::{new_pod, one_burst, quiet};
use crate::testing::Scene;

/// An old pod that ends at `exit` after its deletion at 6.0 s.
fn leaving(scene: &mut Scene, exit: i64, code: i64) {
    new_pod(scene);
    let reason = if code == 0 { "Completed" } else { "Error" };
    let pod = scene
        .pod("old", "h1")
        .deleted(6_000)
        .exit(exit, code, reason);
    pod.add(scene);
    scene.ok_new(100, 3, "old");
    scene.ok_new(5_800, 3, "old");
}

#[test]
fn new_connections_refused_after_sigterm_are_early_close() {
    let mut scene = quiet();
    leaving(&mut scene, 6_900, 0);
    scene.refused(6_120);
    scene.refused(6_420);
    scene.refused(6_800);
    let a = one_burst(&scene, "early_close", Some("refused"), &["old"]);
    let old = a.pods.iter().find(|p| p.name == "old");
    let lag = old
        .and_then(|p| p.propagation_lag_ms)
        .map(|l| l.0 / 1_000_000);
    assert_eq!(
        lag,
        Some(790),
        "from the deletion's receipt to the last refusal"
    );
    let advice = &a.bursts[0].advice[0].text;
    assert!(advice.starts_with("preStop sleep >= 1.3 s"), "{advice}");
    assert!(advice.contains("maximum of 1 pod"), "{advice}");
}

#[test]
fn requests_cut_at_the_signal_are_in_flight_cut() {
    let mut scene = quiet();
    leaving(&mut scene, 6_080, 0);
    let connection = scene.keep(0, 5_600, 200, "old");
    scene.cut(5_700, 382, connection);
    one_burst(&scene, "early_close", Some("in_flight_cut"), &["old"]);
}

#[test]
fn kept_connections_closed_at_the_signal_are_idle_close() {
    let mut scene = quiet();
    leaving(&mut scene, 9_000, 0);
    scene.log(6_030, "old", "SIGTERM, shutting down");
    let connection = scene.keep(0, 5_900, 300, "old");
    scene.cut(6_050, 1, connection);
    one_burst(&scene, "early_close", Some("idle_close"), &["old"]);
}

#[test]
fn a_connect_timeout_to_the_vanished_address_has_the_same_root() {
    let mut scene = quiet();
    leaving(&mut scene, 6_100, 0);
    scene.refused(6_090);
    let r = scene.refused(6_400);
    r.outcome = rollscope_records::Outcome::ConnectTimeout;
    r.ended = Some(rollscope_records::RunOffset::from_millis(36_400));
    let a = one_burst(&scene, "early_close", Some("refused"), &["old"]);
    assert_eq!(a.bursts[0].failed, 2);
}

#[test]
fn bad_gateways_of_a_balancer_while_a_pod_leaves_are_early_close() {
    let mut scene = quiet();
    scene.recording.run.target.front_end = Some("http".to_owned());
    leaving(&mut scene, 6_900, 0);
    scene.status(6_200, 2, 502, None);
    scene.status(6_700, 2, 502, None);
    one_burst(&scene, "early_close", Some("refused"), &["old"]);
}

#[test]
fn refusals_before_the_signal_of_a_pod_in_its_pre_stop_are_not_its_doing() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene
        .pod("old", "h1")
        .pre_stop_sleep(5)
        .deleted(6_000)
        .exit(11_400, 0, "Completed");
    pod.add(&mut scene);
    scene.refused(7_000);
    let a = super::analysed(&scene);
    assert_ne!(a.bursts[0].cause, "early_close");
}

#[test]
fn a_pod_that_answers_new_connections_afterwards_had_not_closed() {
    let mut scene = quiet();
    leaving(&mut scene, 9_000, 0);
    scene.refused(6_200);
    scene.ok_new(6_300, 3, "old");
    let a = super::analysed(&scene);
    assert_ne!(a.bursts[0].cause, "early_close");
}

#[test]
fn refusals_of_one_pod_while_the_next_one_leaves_stay_with_their_cause() {
    let mut scene = quiet();
    leaving(&mut scene, 6_080, 0);
    let next = scene
        .pod("next", "h1")
        .deleted(7_000)
        .exit(7_080, 0, "Completed");
    next.add(&mut scene);
    scene.ok_new(200, 3, "next");
    for at in (6_050..7_900).step_by(50) {
        scene.refused(at);
    }
    one_burst(&scene, "early_close", Some("refused"), &["old", "next"]);
}
