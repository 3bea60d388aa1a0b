use super::{analysed, new_pod, one_burst, quiet};
use crate::testing::Scene;
use rollscope_records::Lane;

/// An old pod with a grace of 3 s whose drain begins and is killed at the deadline.
fn overrunning(scene: &mut Scene) {
    new_pod(scene);
    scene
        .pod("old", "h1")
        .grace(3)
        .deleted(10_000)
        .not_ready(11_200)
        .exit(13_040, 137, "Error")
        .add(scene);
}

/// An old pod that exits at its signal.
fn exiting(scene: &mut Scene) {
    new_pod(scene);
    scene
        .pod("old", "h1")
        .grace(3)
        .deleted(10_000)
        .exit(10_050, 0, "Completed")
        .add(scene);
    scene.log(10_030, "old", "SIGTERM, exit");
}

#[test]
fn a_stream_without_an_end_that_is_cut_at_the_deadline_is_long_stream_cut() {
    let mut scene = quiet();
    overrunning(&mut scene);
    let connection = scene.keep(0, 500, 200, "old");
    scene.cut_stream("events", 600, 12_445, connection);
    let a = one_burst(&scene, "long_stream_cut", None, &["old"]);
    let ruled = |cause: &str| a.bursts[0].ruled_out.iter().any(|r| r.cause == cause);
    assert!(ruled("sigkill_overrun"));
}

#[test]
fn a_response_that_others_of_its_name_finish_in_time_is_a_long_request() {
    let mut scene = quiet();
    overrunning(&mut scene);
    let connection = scene.keep(0, 500, 200, "old");
    scene.cut_stream("export", 8_000, 5_045, connection);
    let other = scene.connection();
    scene.ok(14_000, 5_500, "stays", other).name = "export".to_owned();
    one_burst(&scene, "sigkill_overrun", Some("long_request"), &["old"]);
}

#[test]
fn an_export_that_takes_far_longer_than_any_drain_is_a_stream() {
    let mut scene = quiet();
    overrunning(&mut scene);
    let connection = scene.keep(0, 500, 200, "old");
    scene.cut_stream("export", 4_000, 9_045, connection);
    let other = scene.connection();
    scene.ok(14_000, 20_000, "stays", other).name = "export".to_owned();
    one_burst(&scene, "long_stream_cut", None, &["old"]);
}

#[test]
fn an_early_exit_cuts_its_streams_and_its_requests_for_two_reasons() {
    let mut scene = quiet();
    exiting(&mut scene);
    let stream = scene.keep(0, 500, 200, "old");
    let short = scene.keep(0, 9_800, 200, "old");
    scene.cut_stream("events", 600, 9_452, stream);
    scene.cut(9_950, 102, short);
    let a = analysed(&scene);
    let mut causes: Vec<_> = a
        .bursts
        .iter()
        .map(|b| (b.cause.as_str(), b.detail.as_deref(), b.failed))
        .collect();
    causes.sort_unstable();
    assert_eq!(
        causes,
        [
            ("early_close", Some("in_flight_cut"), 1),
            ("long_stream_cut", None, 1)
        ]
    );
}

#[test]
fn a_young_stream_that_a_drain_waits_for_to_the_deadline_is_long_stream_cut() {
    for (lane, cause) in [
        (Lane::Stream, "long_stream_cut"),
        (Lane::Reused, "sigkill_overrun"),
    ] {
        let mut scene = quiet();
        overrunning(&mut scene);
        let connection = scene.keep(0, 8_000, 200, "old");
        scene.cut_stream("events", 9_500, 3_545, connection).lane = lane;
        let a = analysed(&scene);
        assert_eq!(a.bursts[0].cause, cause);
    }
}

#[test]
fn a_held_stream_that_an_early_exit_cuts_is_early_close() {
    let mut scene = quiet();
    exiting(&mut scene);
    let connection = scene.keep(0, 8_000, 200, "old");
    scene.cut_stream("events", 8_500, 1_552, connection).lane = Lane::Stream;
    one_burst(&scene, "early_close", Some("in_flight_cut"), &["old"]);
}

#[test]
fn a_young_response_that_an_early_exit_cuts_is_early_close() {
    let mut scene = quiet();
    exiting(&mut scene);
    let connection = scene.keep(0, 8_000, 200, "old");
    scene.cut_stream("export", 8_500, 1_552, connection);
    one_burst(&scene, "early_close", Some("in_flight_cut"), &["old"]);
}

#[test]
fn a_stream_that_dies_with_a_crash_is_the_crash() {
    let mut scene = quiet();
    let pod = scene
        .pod("old", "h1")
        .grace(3)
        .restarts(10_000, 10_600, 1, "Error");
    pod.add(&mut scene);
    let connection = scene.keep(0, 500, 200, "old");
    scene.cut_stream("events", 600, 9_402, connection);
    one_burst(&scene, "crash", None, &["old"]);
}
