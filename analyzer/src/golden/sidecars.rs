use super::{analysed, new_pod, one_burst, quiet};
use crate::testing::Scene;

/// An old pod that drains for 5 s and whose proxy ends at `at`.
fn with_proxy(scene: &mut Scene, at: i64) {
    new_pod(scene);
    scene
        .pod("old", "h1")
        .deleted(6_000)
        .proxy_ends(at, 0)
        .exit(11_500, 0, "Completed")
        .add(scene);
    scene.log(6_030, "old", "SIGTERM, draining");
    scene.ok_new(5_900, 3, "old");
}

#[test]
fn refusals_after_the_proxy_has_ended_are_sidecar_first() {
    let mut scene = quiet();
    with_proxy(&mut scene, 6_300);
    for at in [6_500, 6_700, 6_900] {
        scene.refused(at);
    }
    let a = one_burst(&scene, "sidecar_first", None, &["old"]);
    let summary = &a.bursts[0].summary;
    assert!(summary.contains("istio-proxy ended"), "{summary}");
}

#[test]
fn requests_cut_at_the_end_of_the_proxy_are_sidecar_first() {
    let mut scene = quiet();
    with_proxy(&mut scene, 8_300);
    let connection = scene.keep(0, 6_000, 200, "old");
    scene.cut(6_200, 2_102, connection);
    one_burst(&scene, "sidecar_first", None, &["old"]);
}

#[test]
fn errors_of_an_application_whose_proxy_has_ended_are_sidecar_first() {
    let mut scene = quiet();
    with_proxy(&mut scene, 6_300);
    scene.status(6_700, 1, 500, Some("old"));
    scene.ok_new(6_800, 3, "old");
    scene.status(6_900, 1, 500, Some("old"));
    one_burst(&scene, "sidecar_first", None, &["old"]);
}

#[test]
fn a_listener_that_closes_while_the_proxy_runs_is_early_close() {
    let mut scene = quiet();
    with_proxy(&mut scene, 11_480);
    for at in [6_500, 6_700, 6_900] {
        scene.refused(at);
    }
    one_burst(&scene, "early_close", Some("refused"), &["old"]);
}

#[test]
fn a_proxy_that_ends_first_and_harms_nobody_is_a_finding() {
    let mut scene = quiet();
    with_proxy(&mut scene, 7_300);
    let connection = scene.connection();
    scene.ok(5_990, 60, "old", connection);
    let a = analysed(&scene);
    let causes: Vec<_> = a.findings.iter().map(|f| f.cause.as_str()).collect();
    assert_eq!(causes, ["sidecar_first"]);
}

#[test]
fn a_proxy_that_ends_with_the_application_is_nothing() {
    let mut scene = quiet();
    with_proxy(&mut scene, 11_480);
    let connection = scene.connection();
    scene.ok(5_990, 60, "old", connection);
    let a = analysed(&scene);
    assert!(a.findings.is_empty(), "{:#?}", a.findings);
}
