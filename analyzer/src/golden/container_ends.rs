use super::{analysed, one_burst, quiet};

#[test]
fn requests_cut_and_refused_by_an_oom_killed_container_are_oom_kill() {
    let mut scene = quiet();
    let pod = scene
        .pod("old", "h1")
        .restarts(7_000, 7_600, 137, "OOMKilled");
    pod.add(&mut scene);
    let connection = scene.keep(0, 6_800, 200, "old");
    scene.cut(6_600, 402, connection);
    scene.refused(7_200);
    let a = one_burst(&scene, "oom_kill", None, &["old"]);
    assert_eq!(a.bursts[0].failed, 2);
}

#[test]
fn an_oom_with_exit_code_0_is_still_one() {
    let mut scene = quiet();
    let pod = scene
        .pod("old", "h1")
        .restarts(7_000, 7_600, 0, "OOMKilled");
    pod.add(&mut scene);
    let connection = scene.keep(0, 6_800, 200, "old");
    scene.cut(6_600, 402, connection);
    one_burst(&scene, "oom_kill", None, &["old"]);
}

#[test]
fn a_container_that_ends_by_itself_is_a_crash() {
    let mut scene = quiet();
    let pod = scene.pod("old", "h1").restarts(7_000, 7_600, 1, "Error");
    pod.add(&mut scene);
    let connection = scene.keep(0, 6_800, 200, "old");
    scene.cut(6_600, 402, connection);
    one_burst(&scene, "crash", None, &["old"]);
}

#[test]
fn a_container_that_the_kubelet_kills_without_a_deletion_is_liveness_kill() {
    let mut scene = quiet();
    let pod = scene
        .pod("old", "h1")
        .kubelet_kill(6_900)
        .restarts(7_000, 7_600, 143, "Error");
    pod.add(&mut scene);
    let connection = scene.keep(0, 6_800, 200, "old");
    scene.cut(6_600, 402, connection);
    one_burst(&scene, "liveness_kill", None, &["old"]);
}

#[test]
fn a_container_that_closes_when_it_is_killed_for_its_probe_is_not_excused_by_a_later_deletion() {
    let mut scene = quiet();
    let pod = scene.pod("old", "h1").grace(8).kubelet_kill(3_000);
    pod.deleted(6_000)
        .exit(9_500, 0, "Completed")
        .add(&mut scene);
    scene.ok_new(2_900, 3, "old");
    for i in 0..8 {
        scene.refused(3_200 + i * 100);
    }
    one_burst(&scene, "liveness_kill", None, &["old"]);
}

#[test]
fn a_crash_that_harms_nobody_is_a_finding() {
    let mut scene = quiet();
    scene
        .pod("old", "h1")
        .restarts(7_000, 7_600, 1, "Error")
        .add(&mut scene);
    let a = analysed(&scene);
    assert!(a.bursts.is_empty());
    assert_eq!(
        a.findings
            .iter()
            .map(|f| f.cause.as_str())
            .collect::<Vec<_>>(),
        ["crash"]
    );
}

#[test]
fn a_cut_on_a_first_request_goes_to_the_pod_whose_connections_died_then() {
    let mut scene = quiet();
    let pod = scene.pod("old", "h1").restarts(7_000, 7_600, 1, "Error");
    pod.add(&mut scene);
    let connection = scene.keep(0, 6_800, 200, "old");
    scene.cut(6_600, 402, connection);
    let first = scene.connection();
    scene.cut(6_900, 104, first).reused = false;
    let a = one_burst(&scene, "crash", None, &["old"]);
    assert_eq!(a.bursts[0].failed, 2);
}
