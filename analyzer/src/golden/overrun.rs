use super::{analysed, new_pod, one_burst, quiet};
use crate::testing::{PodScript, Scene};

/// An old pod with a grace of 8 s that began to drain and died of SIGKILL at it.
fn overrunning(scene: &Scene) -> PodScript {
    scene
        .pod("old", "h1")
        .grace(8)
        .deleted(6_000)
        .not_ready(7_500)
        .exit(14_040, 137, "Error")
}

#[test]
fn a_request_older_than_the_drain_is_long_request() {
    let mut scene = quiet();
    new_pod(&mut scene);
    overrunning(&scene).add(&mut scene);
    let connection = scene.keep(0, 5_000, 200, "old");
    scene.cut(5_500, 8_545, connection);
    let a = one_burst(&scene, "sigkill_overrun", Some("long_request"), &["old"]);
    let advice = &a.bursts[0].advice[0];
    assert_eq!(
        advice.field,
        "spec.template.spec.terminationGracePeriodSeconds"
    );
    assert!(advice.text.contains("= 14 s; now: 8 s"), "{}", advice.text);
}

#[test]
fn a_young_request_on_a_held_connection_is_keep_alive_held() {
    let mut scene = quiet();
    new_pod(&mut scene);
    overrunning(&scene).add(&mut scene);
    let connection = scene.keep(0, 13_900, 200, "old");
    scene.cut(13_950, 92, connection);
    one_burst(&scene, "sigkill_overrun", Some("keep_alive_held"), &["old"]);
}

#[test]
fn a_drain_that_hangs_with_nothing_in_flight_is_stuck_and_a_finding() {
    let mut scene = quiet();
    new_pod(&mut scene);
    overrunning(&scene).add(&mut scene);
    scene.keep(0, 6_000, 200, "old");
    let a = analysed(&scene);
    assert!(a.bursts.is_empty());
    let f = &a.findings[0];
    assert_eq!(
        (f.cause.as_str(), f.detail.as_deref()),
        ("sigkill_overrun", Some("stuck"))
    );
}

#[test]
fn an_unasked_connection_close_is_a_sign_of_a_drain() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene
        .pod("old", "h1")
        .no_probe()
        .grace(8)
        .deleted(6_000)
        .exit(14_040, 137, "Error");
    pod.add(&mut scene);
    let connection = scene.keep(0, 5_000, 200, "old");
    let closing = scene.connection();
    scene.ok(6_500, 3, "old", closing).close_received = true;
    scene.cut(5_500, 8_545, connection);
    one_burst(&scene, "sigkill_overrun", Some("long_request"), &["old"]);
}

#[test]
fn one_pod_can_refuse_first_and_be_killed_later_in_two_bursts() {
    let mut scene = quiet();
    new_pod(&mut scene);
    overrunning(&scene).add(&mut scene);
    let connection = scene.keep(0, 13_900, 200, "old");
    scene.refused(6_200);
    scene.refused(6_600);
    scene.cut(13_950, 92, connection);
    let a = analysed(&scene);
    let causes: Vec<_> = a
        .bursts
        .iter()
        .map(|b| (b.cause.as_str(), b.detail.as_deref()))
        .collect();
    assert_eq!(
        causes,
        [
            ("early_close", Some("refused")),
            ("sigkill_overrun", Some("keep_alive_held"))
        ]
    );
}

#[test]
fn an_end_two_seconds_after_the_deadline_is_pre_stop_overrun() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene
        .pod("old", "h1")
        .pre_stop_exec()
        .grace(8)
        .deleted(6_000)
        .exit(16_030, 137, "Error");
    pod.add(&mut scene);
    scene.log(-500, "old", "server up");
    scene.log(14_050, "old", "SIGTERM, shutting down");
    let connection = scene.keep(0, 15_900, 200, "old");
    scene.cut(15_950, 82, connection);
    one_burst(&scene, "prestop_overrun", None, &["old"]);
}

#[test]
fn a_pre_stop_of_known_length_moves_the_signal_and_not_the_deadline() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene
        .pod("old", "h1")
        .pre_stop_sleep(5)
        .grace(20)
        .deleted(6_000)
        .exit(12_000, 0, "Completed");
    pod.add(&mut scene);
    let a = analysed(&scene);
    let old = a.pods.iter().find(|p| p.name == "old");
    let signal = old.and_then(|p| p.signal_ms).map(|s| s.0);
    let deadline = old.and_then(|p| p.deadline_ms).map(|d| d.0);
    let at = rollscope_records::RunOffset::from_millis;
    assert!(signal.is_some_and(|s| s.contains(at(11_010))), "{signal:?}");
    assert!(
        deadline.is_some_and(|d| d.contains(at(26_000))),
        "{deadline:?}"
    );
}

#[test]
fn an_exit_by_a_safety_timer_is_forced_exit() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene
        .pod("old", "h1")
        .deleted(6_000)
        .not_ready(7_500)
        .exit(16_000, 1, "Error");
    pod.add(&mut scene);
    let connection = scene.keep(0, 5_000, 200, "old");
    scene.cut(5_500, 10_502, connection);
    one_burst(&scene, "forced_exit", None, &["old"]);
}

#[test]
fn a_drain_cut_short_by_its_own_deadline_is_app_deadline() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene
        .pod("old", "h1")
        .deleted(6_000)
        .not_ready(7_500)
        .exit(16_000, 0, "Completed");
    pod.add(&mut scene);
    let connection = scene.keep(0, 5_000, 200, "old");
    scene.cut(5_500, 10_502, connection);
    one_burst(&scene, "app_deadline", None, &["old"]);
}

#[test]
fn a_137_by_its_own_hand_away_from_the_deadline_is_no_sigkill() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene
        .pod("old", "h1")
        .deleted(6_000)
        .not_ready(7_200)
        .exit(8_000, 137, "Error");
    pod.add(&mut scene);
    let connection = scene.keep(0, 5_900, 200, "old");
    scene.cut(6_000, 2_002, connection);
    one_burst(&scene, "forced_exit", None, &["old"]);
}
