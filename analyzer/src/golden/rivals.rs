//! Two causes that look alike, and what tells them apart.

use rollscope_records::{RunEnd, RunOffset};

use super::{analysed, new_pod, one_burst, quiet};
use crate::testing::Scene;

/// The causes of the bursts, with their faces.
fn causes(scene: &Scene) -> Vec<(String, Option<String>)> {
    let bursts = analysed(scene).bursts;
    bursts.into_iter().map(|b| (b.cause, b.detail)).collect()
}

/// An old pod that is deleted at 6 s and answered new connections until then.
fn leaving(scene: &mut Scene, grace: i64, exit: i64, code: i64) {
    new_pod(scene);
    let reason = if code == 0 { "Completed" } else { "Error" };
    let pod = scene.pod("old", "h1").grace(grace).deleted(6_000);
    pod.exit(exit, code, reason).add(scene);
    scene.ok_new(100, 3, "old");
    scene.ok_new(5_800, 3, "old");
}

#[test]
fn an_error_in_the_log_of_a_draining_pod_is_a_crash_and_no_forced_exit() {
    let mut scene = quiet();
    leaving(&mut scene, 30, 9_000, 1);
    scene.log(6_030, "old", "SIGTERM, shutting down");
    scene.log(8_995, "old", r#"{"ev":"uncaught_exception"}"#);
    let connection = scene.keep(0, 5_900, 200, "old");
    scene.cut(5_950, 3_052, connection);
    one_burst(&scene, "crash", None, &["old"]);
}

#[test]
fn without_its_log_a_drain_that_ends_as_others_crashed_is_likelier_a_crash() {
    let mut scene = quiet();
    leaving(&mut scene, 30, 9_000, 1);
    let other = scene.pod("other", "h1").restarts(3_000, 3_600, 1, "Error");
    other.add(&mut scene);
    let connection = scene.keep(0, 5_900, 200, "old");
    scene.cut(5_950, 3_052, connection);
    let (cause, detail) = causes(&scene).remove(0);
    let named = detail.unwrap_or_default();
    assert!(
        cause == "crash" || named.starts_with("crash"),
        "{cause} ({named})"
    );
}

#[test]
fn a_container_that_ended_while_its_hook_ran_did_not_close_at_the_signal() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene.pod("old", "h1").pre_stop_sleep(5).deleted(6_000);
    pod.exit(7_000, 1, "Error").add(&mut scene);
    scene.ok_new(6_900, 3, "old");
    for at in [7_100, 7_300, 7_500] {
        scene.refused(at);
    }
    one_burst(&scene, "crash", None, &["old"]);
}

#[test]
fn a_route_over_which_nothing_was_refused_for_long_does_not_come_back() {
    let mut scene = quiet();
    leaving(&mut scene, 30, 6_200, 0);
    scene.refused(6_300);
    let pod = scene.pod("broken", "h1").restarts(9_000, 9_900, 1, "Error");
    pod.add(&mut scene);
    scene.ok_new(8_900, 3, "broken");
    for at in (9_200..9_900).step_by(100) {
        scene.refused(at);
    }
    let seen = causes(&scene);
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(seen[0].0, "early_close");
    assert_eq!(seen[1].0, "crash");
}

#[test]
fn a_balancers_slow_error_while_nothing_ends_is_a_refusal() {
    let mut scene = quiet();
    scene.recording.run.target.front_end = Some("http".to_owned());
    leaving(&mut scene, 30, 12_000, 0);
    scene.status(6_300, 2, 502, None);
    scene.status(6_500, 300, 502, None);
    let a = one_burst(&scene, "early_close", Some("refused"), &["old"]);
    assert_eq!(a.bursts[0].failed, 2);
}

#[test]
fn a_listener_that_the_log_says_was_closed_early_is_no_stale_route_after_the_kill() {
    let mut scene = quiet();
    leaving(&mut scene, 2, 8_010, 137);
    scene.log(6_030, "old", "SIGTERM, shutting down");
    scene.log(6_200, "old", "listener closed");
    for at in (6_400..8_800).step_by(200) {
        scene.refused(at);
    }
    one_burst(&scene, "early_close", Some("refused"), &["old"]);
}

#[test]
fn a_listener_that_the_log_says_was_open_did_not_refuse() {
    let mut scene = quiet();
    let pod = scene.pod("new", "h2").started(5_500).ready(5_900);
    pod.add(&mut scene);
    let pod = scene.pod("old", "h1").deleted(6_000);
    pod.exit(12_100, 0, "Completed").add(&mut scene);
    scene.log(6_030, "old", "SIGTERM, shutting down");
    scene.log(12_000, "old", "listener closed");
    for at in [6_200, 6_500, 6_900] {
        scene.refused(at);
    }
    scene.log(7_000, "new", "listening on 8080");
    scene.ok_new(7_100, 3, "new");
    one_burst(&scene, "ready_too_early", None, &["new"]);
}

#[test]
fn errors_that_take_as_long_and_come_as_often_as_before_stay_background() {
    let mut scene = quiet();
    scene.recording.run.target.front_end = Some("http".to_owned());
    leaving(&mut scene, 30, 6_400, 0);
    for at in (50..12_000).step_by(500) {
        scene.status(at, 23, 502, None);
    }
    scene.status(6_620, 1, 502, None);
    scene.status(6_820, 1, 502, None);
    let a = analysed(&scene);
    let of = |cause: &str| {
        let bursts = a.bursts.iter().filter(|b| b.cause == cause);
        bursts.map(|b| b.failed).sum::<u64>()
    };
    assert_eq!((of("background"), of("early_close")), (24, 2));
}

#[test]
fn a_hook_that_used_the_grace_up_is_not_to_blame_where_the_server_ended_by_itself() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene.pod("old", "h1").pre_stop_exec().grace(8);
    pod.deleted(6_000)
        .exit(15_500, 0, "Completed")
        .add(&mut scene);
    let connection = scene.keep(0, 15_000, 200, "old");
    scene.cut(15_050, 452, connection);
    one_burst(&scene, "app_deadline", None, &["old"]);
}

#[test]
fn what_is_refused_before_a_hook_was_cut_short_is_not_the_servers_closing() {
    let mut scene = Scene::new();
    let pod = scene
        .pod("old", "h1")
        .pre_stop_exec()
        .grace(4)
        .deleted(6_000);
    pod.exit(11_000, 0, "Completed").add(&mut scene);
    let pod = scene
        .pod("new", "h2")
        .started(5_900)
        .ready(6_100)
        .no_probe();
    pod.add(&mut scene);
    for at in (0..7_900).step_by(100) {
        scene.ok_new(at, 3, "old");
    }
    for at in (8_000..12_000).step_by(100) {
        scene.refused(at);
    }
    for at in (12_000..20_000).step_by(100) {
        scene.ok_new(at, 3, "new");
    }
    one_burst(&scene, "ready_too_early", None, &["new"]);
}

#[test]
fn a_workload_that_refused_when_it_had_started_is_ready_before_it_listens() {
    let mut scene = Scene::new();
    let pod = scene.pod("old", "h1").deleted(6_000);
    pod.exit(6_700, 0, "Completed").add(&mut scene);
    let pod = scene.pod("new", "h2").started(5_500).ready(5_900);
    pod.add(&mut scene);
    for at in (0..3_000).step_by(100) {
        scene.refused(at);
    }
    for at in (3_000..6_000).step_by(100) {
        scene.ok_new(at, 3, "old");
    }
    for at in (6_050..9_000).step_by(100) {
        scene.refused(at);
    }
    for at in (9_000..20_000).step_by(100) {
        scene.ok_new(at, 3, "new");
    }
    let seen = causes(&scene);
    let (cause, detail) = seen.last().cloned().unwrap_or_default();
    let named = detail.unwrap_or_default();
    assert!(
        cause == "ready_too_early" || named.starts_with("ready_too_early"),
        "{cause} ({named})"
    );
}

#[test]
fn an_outage_goes_on_until_something_is_answered() {
    let mut scene = Scene::new();
    let pod = scene.pod("old", "h1").deleted(6_000);
    pod.exit(6_100, 0, "Completed").add(&mut scene);
    let pod = scene.pod("new", "h2").started(7_500).ready(8_000);
    pod.add(&mut scene);
    for at in (0..6_000).step_by(100) {
        scene.ok_new(at, 3, "old");
    }
    for at in (6_150..10_000).step_by(100) {
        scene.refused(at);
    }
    for at in (10_000..20_000).step_by(100) {
        scene.ok_new(at, 3, "new");
    }
    for (cause, detail) in causes(&scene) {
        let named = detail.unwrap_or_default();
        assert!(
            cause == "no_endpoints" || named.contains("no_endpoints"),
            "{cause} ({named})"
        );
    }
}

#[test]
fn an_end_too_late_to_be_told_of_is_what_ended_others() {
    let mut scene = quiet();
    let pod = scene.pod("old", "h1").restarts(7_000, 7_600, 1, "Error");
    pod.add(&mut scene);
    let connection = scene.keep(8_000, 19_800, 200, "old");
    scene.cut(18_000, 1_900, connection);
    scene.recording.run.end = Some(RunEnd {
        at: RunOffset::from_millis(20_000),
        how: rollscope_records::EndKind::Completed,
        reason: None,
    });
    one_burst(&scene, "crash", None, &["old"]);
}

#[test]
fn several_is_as_certain_as_the_likeliest_of_its_causes() {
    let mut scene = quiet();
    scene.recording.run.target.front_end = Some("l4".to_owned());
    let pod = scene.pod("old", "h1").deleted(6_000).not_ready(7_200);
    pod.exit(11_500, 0, "Completed").add(&mut scene);
    let pod = scene.pod("new", "h2").started(5_500).ready(5_900);
    pod.add(&mut scene);
    for at in [6_200, 6_500, 6_900] {
        scene.refused(at);
    }
    scene.ok_new(7_100, 3, "new");
    for b in analysed(&scene)
        .bursts
        .iter()
        .filter(|b| b.cause == "several")
    {
        assert!(b.confidence < 0.75, "{}", b.confidence);
    }
}
