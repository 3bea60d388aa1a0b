use super::{analysed, one_burst, quiet, replaced};
use crate::Analysis;
use crate::testing::Scene;

/// An old pod that ends by itself at 11.5 s and whose log has these lines.
fn logged(lines: &[(i64, &str)]) -> Scene {
    let mut scene = quiet();
    replaced(&mut scene);
    let connection = scene.connection();
    scene.ok(5_990, 60, "old", connection);
    for (at, line) in lines {
        scene.log(*at, "old", line);
    }
    scene
}

fn stages(a: &Analysis) -> Vec<(&'static str, f64, u64)> {
    let old = a.pods.iter().find(|p| p.name == "old");
    let shutdown = old.and_then(|p| p.shutdown.as_ref());
    let all = shutdown.map_or(&[][..], |s| &s.stages);
    all.iter()
        .map(|s| (s.stage, s.took_ms.0 as f64 / 1e6, s.run))
        .collect()
}

fn findings(a: &Analysis) -> Vec<&str> {
    a.findings.iter().map(|f| f.cause.as_str()).collect()
}

fn held(a: &Analysis, id: &str) -> Option<bool> {
    a.assertions.iter().find(|x| x.id == id)?.held
}

const RIGHT: [(i64, &str); 6] = [
    (6_020, r#"{"t":1,"ev":"sigterm","inflight":2}"#),
    (6_021, r#"{"t":2,"ev":"readiness_off","inflight":2}"#),
    (11_021, r#"{"t":3,"ev":"listener_closed","inflight":1}"#),
    (11_300, r#"{"t":4,"ev":"drained","inflight":0,"cut":0}"#),
    (11_310, r#"{"t":5,"ev":"worker_stopped","returned":1}"#),
    (11_330, r#"{"t":6,"ev":"pool_closed"}"#),
];

#[test]
fn a_shutdown_that_logs_its_stages_is_told_with_their_durations_and_its_order_held() {
    let a = analysed(&logged(&RIGHT));
    let told = stages(&a);
    let names: Vec<_> = told.iter().map(|(s, ..)| *s).collect();
    assert_eq!(
        names,
        [
            "signal",
            "readiness_off",
            "listener_closed",
            "drained",
            "jobs_returned",
            "pool_closed",
            "exit"
        ]
    );
    let took: Vec<_> = told[1..6].iter().map(|(_, took, _)| *took).collect();
    assert_eq!(took, [1.0, 5_000.0, 279.0, 10.0, 20.0]);
    assert_eq!(held(&a, "stages_in_order"), Some(true));
    assert!(a.findings.is_empty(), "{:#?}", a.findings);
}

#[test]
fn a_pool_that_is_closed_before_the_drain_is_out_of_order() {
    let a = analysed(&logged(&[
        (6_020, r#"{"ev":"sigterm"}"#),
        (6_030, r#"{"ev":"pool_closed"}"#),
        (6_040, r#"{"ev":"readiness_off"}"#),
        (11_040, r#"{"ev":"listener_closed"}"#),
        (11_300, r#"{"ev":"drained"}"#),
    ]));
    let old = a.pods.iter().find(|p| p.name == "old");
    let shutdown = old.and_then(|p| p.shutdown.as_ref());
    assert_eq!(
        shutdown.map(|s| (s.in_order, s.owners)),
        Some((Some(false), 1))
    );
    let why = shutdown.map(|s| s.out_of_order.join(";"));
    assert_eq!(
        why.as_deref(),
        Some("a dependency was closed 5.27 s before the requests in flight were drained")
    );
    assert_eq!(held(&a, "stages_in_order"), Some(false));
}

#[test]
fn marks_of_the_scenario_are_stages_with_their_values() {
    let mut scene = logged(&[(6_020, "Terminating"), (11_300, "ok, 3 left open")]);
    let marks = &mut scene.recording.run.log_marks;
    marks.insert("drain_started".to_owned(), "Terminating".to_owned());
    marks.insert("drained".to_owned(), r"(?P<cut>\d+) left".to_owned());
    let a = analysed(&scene);
    let names: Vec<_> = stages(&a).iter().map(|(s, ..)| *s).collect();
    assert_eq!(names, ["signal", "drained", "exit"]);
    let old = a.pods.iter().find(|p| p.name == "old");
    let drained = old.and_then(|p| p.shutdown.as_ref()).map(|s| &s.stages[1]);
    assert_eq!(
        drained
            .and_then(|s| s.values.get("cut"))
            .map(String::as_str),
        Some("3")
    );
}

#[test]
fn a_shutdown_without_lines_has_no_stages() {
    let a = analysed(&logged(&[]));
    assert!(a.pods.iter().all(|p| p.shutdown.is_none()));
    assert_eq!(held(&a, "stages_in_order"), None);
}

/// A framework's hooks at once, a drain beside them, and the hooks again.
const TWO_OWNERS: [(i64, &str); 6] = [
    (6_020, r#"{"t":1,"ev":"sigterm"}"#),
    (6_030, r#"{"t":2,"ev":"pool_closed","inflight":2}"#),
    (6_031, r#"{"t":3,"ev":"readiness_off","inflight":2}"#),
    (11_031, r#"{"t":4,"ev":"listener_closed","inflight":1}"#),
    (11_300, r#"{"t":5,"ev":"drained","inflight":0}"#),
    (11_301, r#"{"t":6,"ev":"pool_closed","inflight":0}"#),
];

fn errors_of_the_draining_pod(scene: &mut Scene) {
    scene.ok_new(5_900, 3, "old");
    scene.status(6_100, 1, 500, Some("old"));
    scene.ok_new(6_200, 3, "old");
    scene.status(6_300, 1, 500, Some("old"));
}

#[test]
fn errors_after_one_of_two_owners_has_closed_the_pool_are_double_shutdown() {
    let mut scene = logged(&TWO_OWNERS);
    errors_of_the_draining_pod(&mut scene);
    let a = one_burst(&scene, "double_shutdown", None, &["old"]);
    assert!(!findings(&a).contains(&"double_shutdown"));
    let advice = &a.bursts[0].advice[0].text;
    assert!(
        advice.contains("now: a dependency was closed 5.27 s before"),
        "{advice}"
    );
}

#[test]
fn errors_after_the_only_owner_has_closed_the_pool_first_are_dependency_closed_first() {
    let mut scene = logged(&TWO_OWNERS[..5]);
    errors_of_the_draining_pod(&mut scene);
    let a = one_burst(&scene, "dependency_closed_first", None, &["old"]);
    let ruled = a.bursts[0]
        .ruled_out
        .iter()
        .find(|r| r.cause == "double_shutdown");
    assert!(ruled.is_some_and(|r| r.why.contains("each stage once")));
}

#[test]
fn two_owners_that_harm_nobody_are_a_finding() {
    for lines in [
        &TWO_OWNERS[..],
        &[
            (
                6_020,
                "2026-11-30T11:00:00.020Z SIGTERM received, shutting down",
            ),
            (
                6_021,
                "2026-11-30T11:00:00.021Z SIGTERM received, shutting down",
            ),
        ],
    ] {
        let a = analysed(&logged(lines));
        assert_eq!(findings(&a), ["double_shutdown"], "{lines:?}");
        let old = a.pods.iter().find(|p| p.name == "old");
        let owners = old.and_then(|p| p.shutdown.as_ref()).map(|s| s.owners);
        assert_eq!(owners, Some(2));
    }
}

#[test]
fn lines_that_repeat_by_their_nature_show_no_second_owner() {
    for lines in [
        // Two servers, one owner.
        &[(6_020, "server closed"), (6_021, "server closed")][..],
        // Progress.
        &[
            (6_020, "shutting down: waiting for 3 requests"),
            (7_020, "shutting down: waiting for 1 requests"),
        ],
        // Answers to probes.
        &[
            (6_900, "GET /ready 503 shutting down"),
            (7_900, "GET /ready 503 shutting down"),
        ],
        // Workers of one program.
        &[
            (6_020, "[pid 11] SIGTERM received"),
            (6_020, "[pid 12] SIGTERM received"),
        ],
    ] {
        let a = analysed(&logged(lines));
        assert!(a.findings.is_empty(), "{lines:?}: {:#?}", a.findings);
    }
}

#[test]
fn a_program_that_says_it_left_the_graceful_path_exercised_no_drain() {
    let a = analysed(&logged(&[(
        6_020,
        "SIGTERM in development mode: exiting immediately",
    )]));
    assert_eq!(findings(&a), ["drain_not_exercised"]);
}

#[test]
fn marks_for_lost_jobs_make_an_assertion() {
    for (line, kept) in [("job 7 lost", false), ("job 7 done", true)] {
        let mut scene = logged(&[(11_400, line)]);
        let marks = &mut scene.recording.run.log_marks;
        marks.insert("job_lost".to_owned(), "job .* lost".to_owned());
        assert_eq!(held(&analysed(&scene), "jobs_kept"), Some(kept));
    }
    assert_eq!(held(&analysed(&logged(&[])), "jobs_kept"), None);
}
