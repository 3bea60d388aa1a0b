use super::{analysed, new_pod, one_burst, quiet};
use crate::testing::Scene;

/// An old pod with a grace of 8 s that dies of SIGKILL at it, answering to the end.
fn swallowing(scene: &mut Scene) -> u64 {
    new_pod(scene);
    let pod = scene
        .pod("old", "h1")
        .grace(8)
        .deleted(6_000)
        .exit(14_040, 137, "Error");
    pod.add(scene);
    scene.keep(0, 13_900, 200, "old")
}

#[test]
fn a_pod_that_serves_on_and_dies_at_its_deadline_never_got_the_signal() {
    let mut scene = quiet();
    let connection = swallowing(&mut scene);
    scene.cut(13_950, 92, connection);
    let a = one_burst(&scene, "unforwarded_signal", Some("swallowed"), &["old"]);
    let b = &a.bursts[0];
    assert!(b.evidence.iter().any(|e| e.id == "stayed_ready"));
    assert!(b.advice[0].text.contains("PID 1"));
    let why = b.ruled_out.iter().find(|r| r.cause == "sigkill_overrun");
    assert!(why.is_some_and(|w| w.why.contains("no sign of a drain")));
}

#[test]
fn the_same_without_a_failed_request_is_a_finding() {
    let mut scene = quiet();
    swallowing(&mut scene);
    let a = analysed(&scene);
    assert!(a.bursts.is_empty());
    let f = &a.findings[0];
    assert_eq!(
        (f.cause.as_str(), f.detail.as_deref()),
        ("unforwarded_signal", Some("swallowed"))
    );
    assert_eq!(f.pods, ["old"]);
}

#[test]
fn without_probe_and_log_a_held_drain_looks_the_same_and_both_are_named() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene
        .pod("old", "h1")
        .no_probe()
        .grace(8)
        .deleted(6_000)
        .exit(14_040, 137, "Error");
    pod.add(&mut scene);
    let connection = scene.keep(0, 13_900, 200, "old");
    scene.cut(13_950, 92, connection);
    let a = analysed(&scene);
    assert_eq!(a.bursts[0].cause, "several");
    let detail = a.bursts[0].detail.as_deref();
    assert_eq!(detail, Some("unforwarded_signal, sigkill_overrun"));
}

#[test]
fn a_wrapper_that_reports_the_end_of_its_child_is_half_forwarded() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene
        .pod("old", "h1")
        .deleted(6_000)
        .exit(6_500, 1, "Error");
    pod.add(&mut scene);
    scene.log(-500, "old", "server up");
    scene.log(6_100, "old", "npm error signal SIGTERM");
    let connection = scene.keep(0, 5_900, 200, "old");
    scene.cut(6_000, 502, connection);
    one_burst(
        &scene,
        "unforwarded_signal",
        Some("half_forwarded"),
        &["old"],
    );
}

#[test]
fn without_its_log_an_end_by_the_signal_itself_has_two_explanations() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene
        .pod("old", "h1")
        .deleted(6_000)
        .exit(6_100, 143, "Error");
    pod.add(&mut scene);
    let connection = scene.keep(0, 5_900, 200, "old");
    scene.cut(6_000, 102, connection);
    let a = analysed(&scene);
    assert_eq!(a.bursts[0].cause, "several");
    let detail = a.bursts[0].detail.as_deref().unwrap_or_default();
    assert!(detail.contains("early_close") && detail.contains("unforwarded_signal"));
}

#[test]
fn a_probe_that_meets_the_death_of_its_pod_is_no_sign_of_a_drain() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene
        .pod("old", "h1")
        .grace(8)
        .deleted(6_000)
        .not_ready(14_050)
        .exit(14_040, 137, "Error");
    pod.add(&mut scene);
    let connection = scene.keep(0, 13_900, 200, "old");
    scene.cut(13_950, 92, connection);
    one_burst(&scene, "unforwarded_signal", Some("swallowed"), &["old"]);
}

/// What it was asked after its death is the same fault's doing where the balancer asks nobody but the pod itself: the
/// endpoints had told of the deletion long before.
#[test]
fn a_health_check_notices_the_death_of_a_pod_that_told_nobody_too_late() {
    let failing = |front_end: &str| {
        let mut scene = quiet();
        swallowing(&mut scene);
        for i in 0..5 {
            scene.status(14_100 + i * 100, 2, 502, None);
        }
        scene.recording.run.target.front_end = Some(front_end.to_owned());
        analysed(&scene).bursts[0].cause.clone()
    };
    assert_eq!(failing("health_checked"), "unforwarded_signal");
    assert_eq!(failing("http"), "stale_route");
}

/// A balancer needs less than a tenth of a second for a refusal, and some requests are no older when they are cut.
#[test]
fn a_young_request_that_is_cut_with_an_old_one_is_no_refusal() {
    let mut scene = quiet();
    swallowing(&mut scene);
    scene.status(13_800, 240, 502, None);
    scene.status(13_990, 51, 502, None);
    scene.recording.run.target.front_end = Some("http".to_owned());
    let a = one_burst(&scene, "unforwarded_signal", Some("swallowed"), &["old"]);
    assert_eq!(a.bursts[0].failed, 2);
}
