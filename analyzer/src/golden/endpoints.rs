use super::{analysed, new_pod, one_burst, quiet};
use crate::testing::Scene;

#[test]
fn refusals_by_a_new_pod_until_its_first_answer_are_ready_too_early() {
    let mut scene = quiet();
    scene
        .pod("new", "h2")
        .started(5_500)
        .ready(5_900)
        .add(&mut scene);
    scene
        .pod("old", "h1")
        .deleted(6_300)
        .not_ready(7_500)
        .exit(11_500, 0, "Completed")
        .add(&mut scene);
    scene.ok_new(5_800, 3, "old");
    scene.refused(5_950);
    scene.refused(6_100);
    scene.refused(6_200);
    scene.ok_new(6_600, 3, "new");
    scene.ok_new(6_650, 3, "old");
    one_burst(&scene, "ready_too_early", None, &["new"]);
}

#[test]
fn refusals_while_no_endpoint_is_ready_are_no_endpoints() {
    let mut scene = Scene::new();
    scene
        .pod("old", "h1")
        .deleted(6_000)
        .exit(6_500, 0, "Completed")
        .add(&mut scene);
    scene
        .pod("new", "h2")
        .started(8_000)
        .ready(9_000)
        .add(&mut scene);
    for at in (0..6_000).step_by(100) {
        scene.ok_new(at, 3, "old");
    }
    for at in (7_700..8_900).step_by(100) {
        scene.refused(at);
    }
    for at in (9_100..20_000).step_by(100) {
        scene.ok_new(at, 3, "new");
    }
    one_burst(&scene, "no_endpoints", None, &[]);
}

#[test]
fn refusals_by_a_pod_that_had_stayed_long_enough_are_a_stale_route() {
    let mut scene = quiet();
    new_pod(&mut scene);
    scene
        .pod("old", "h1")
        .deleted(6_000)
        .not_ready(7_500)
        .exit(14_000, 0, "Completed")
        .add(&mut scene);
    scene.ok_new(13_500, 3, "old");
    scene.refused(14_900);
    scene.refused(15_300);
    one_burst(&scene, "stale_route", None, &["old"]);
}

#[test]
fn a_pod_that_nothing_came_to_any_more_is_no_stale_route_beside_a_new_one_that_only_starts() {
    let last_new_connection = |at: i64| {
        let mut scene = quiet();
        for i in 0..8 {
            scene.ok_new(7_000 + i * 850, 3, "stays");
        }
        let pod = scene.pod("old", "h1").deleted(6_000).not_ready(7_500);
        pod.exit(14_000, 0, "Completed").add(&mut scene);
        scene.ok_new(at, 3, "old");
        let pod = scene.pod("fresh", "h2").started(13_800).ready(14_400);
        pod.no_probe().add(&mut scene);
        scene.refused(14_900);
        scene.refused(15_300);
        scene.ok_new(15_400, 3, "fresh");
        analysed(&scene).bursts[0].cause.clone()
    };
    assert_eq!(last_new_connection(6_100), "ready_too_early");
    assert_ne!(last_new_connection(13_900), "ready_too_early");
}

#[test]
fn errors_of_a_draining_application_itself_are_dependency_closed_first() {
    let mut scene = quiet();
    new_pod(&mut scene);
    scene
        .pod("old", "h1")
        .deleted(6_000)
        .not_ready(7_500)
        .exit(9_000, 0, "Completed")
        .add(&mut scene);
    scene.ok_new(5_900, 3, "old");
    scene.status(6_100, 1, 500, Some("old"));
    scene.ok_new(6_200, 3, "old");
    scene.status(6_300, 1, 500, Some("old"));
    one_burst(&scene, "dependency_closed_first", None, &["old"]);
}

#[test]
fn a_slow_new_pod_is_a_cold_start() {
    let mut scene = quiet();
    scene
        .pod("new", "h2")
        .started(5_500)
        .ready(5_900)
        .add(&mut scene);
    let connection = scene.connection();
    scene.ok(6_000, 900, "new", connection);
    let r = scene.cut(7_000, 5_000, connection);
    r.outcome = rollscope_records::Outcome::DeadlineExceeded;
    one_burst(&scene, "cold_start", None, &["new"]);
}

#[test]
fn the_new_pod_belongs_to_the_new_template_and_the_old_one_does_not() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let a = analysed(&scene);
    let old: Vec<_> = a.pods.iter().map(|p| (p.name.as_str(), p.old)).collect();
    assert_eq!(old, [("stays", true), ("new", false)]);
}
