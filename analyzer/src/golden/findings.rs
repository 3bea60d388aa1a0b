use super::{analysed, new_pod, quiet, replaced};

#[test]
fn a_pod_that_ended_at_its_signal_without_a_hook_was_lucky() {
    let mut scene = quiet();
    new_pod(&mut scene);
    scene
        .pod("old", "h1")
        .deleted(6_000)
        .exit(6_100, 0, "Completed")
        .add(&mut scene);
    let connection = scene.connection();
    scene.ok(5_990, 60, "old", connection);
    let a = analysed(&scene);
    let causes: Vec<_> = a.findings.iter().map(|f| f.cause.as_str()).collect();
    assert_eq!(causes, ["no_prestop_no_delay"]);
}

#[test]
fn a_run_without_a_request_in_flight_at_a_signal_exercised_no_drain() {
    let mut scene = quiet();
    replaced(&mut scene);
    let a = analysed(&scene);
    let causes: Vec<_> = a.findings.iter().map(|f| f.cause.as_str()).collect();
    assert_eq!(causes, ["drain_not_exercised"]);
}

#[test]
fn an_end_just_before_the_deadline_is_slow() {
    let mut scene = quiet();
    new_pod(&mut scene);
    scene
        .pod("old", "h1")
        .grace(20)
        .deleted(6_000)
        .not_ready(7_500)
        .exit(24_500, 0, "Completed")
        .add(&mut scene);
    let connection = scene.connection();
    scene.ok(5_990, 60, "old", connection);
    let a = analysed(&scene);
    let causes: Vec<_> = a.findings.iter().map(|f| f.cause.as_str()).collect();
    assert_eq!(causes, ["slow_termination"]);
}
