use super::{analysed, new_pod, one_burst, quiet};
use crate::testing::{PodScript, Scene};

/// An old pod that closes its listener at the signal.
fn closing(scene: &Scene) -> PodScript {
    scene
        .pod("old", "h1")
        .deleted(6_000)
        .exit(8_000, 0, "Completed")
}

fn refusals(scene: &mut Scene) {
    scene.ok_new(5_900, 3, "old");
    for at in [6_200, 6_400, 6_600] {
        scene.refused(at);
    }
}

#[test]
fn refusals_by_an_evicted_pod_are_node_drain() {
    let mut scene = quiet();
    new_pod(&mut scene);
    scene.cordon(5_500);
    closing(&scene).evicted().add(&mut scene);
    refusals(&mut scene);
    let a = one_burst(&scene, "node_drain", None, &["old"]);
    let facts: Vec<_> = a.bursts[0].evidence.iter().map(|e| e.id.as_str()).collect();
    assert!(
        facts.contains(&"evicted") && facts.contains(&"node_cordoned"),
        "{facts:?}"
    );
}

#[test]
fn the_same_refusals_without_an_eviction_are_early_close() {
    let mut scene = quiet();
    new_pod(&mut scene);
    closing(&scene).add(&mut scene);
    refusals(&mut scene);
    one_burst(&scene, "early_close", Some("refused"), &["old"]);
}

#[test]
fn errors_that_were_there_before_an_eviction_are_background() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let old = scene.pod("old", "h1").deleted(6_000).evicted();
    old.exit(9_000, 0, "Completed").add(&mut scene);
    for at in (100..5_000).step_by(700) {
        scene.status(at, 3, 500, Some("old"));
    }
    scene.status(6_400, 3, 500, Some("old"));
    let a = analysed(&scene);
    assert!(
        a.bursts.iter().all(|b| b.cause == "background"),
        "{:#?}",
        a.bursts
    );
}

#[test]
fn requests_cut_at_the_deadline_of_an_evicted_pod_are_node_drain() {
    let mut scene = quiet();
    new_pod(&mut scene);
    let pod = scene
        .pod("old", "h1")
        .grace(8)
        .deleted(6_000)
        .not_ready(7_500);
    pod.evicted().exit(14_040, 137, "Error").add(&mut scene);
    let connection = scene.keep(0, 5_000, 200, "old");
    scene.cut(5_500, 8_545, connection);
    one_burst(&scene, "node_drain", None, &["old"]);
}

#[test]
fn refusals_while_evictions_have_left_no_endpoint_are_no_endpoints() {
    let mut scene = Scene::new();
    let old = scene.pod("old", "h1").deleted(6_000).evicted();
    old.exit(6_500, 0, "Completed").add(&mut scene);
    let new = scene.pod("new", "h1").started(8_000).ready(9_000);
    new.add(&mut scene);
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
