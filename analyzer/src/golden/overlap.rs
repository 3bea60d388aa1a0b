//! Refusals of several pods that overlap in time: each is explained by a pod that can have had it.

use super::{analysed, one_burst};
use crate::testing::Scene;

/// Old pods that close at their deletion and are routed to for 1.5 s more; the next one is deleted as its new pod
/// becomes Ready. Returns the names of the old pods.
fn rolling(scene: &mut Scene, replicas: i64, step: i64) -> Vec<String> {
    let mut names = Vec::new();
    for i in 0..replicas {
        let deleted = 6_000 + i * step;
        let (old, new) = (format!("old{i}"), format!("new{i}"));
        scene
            .pod(&old, "h1")
            .deleted(deleted)
            .exit(deleted + 300, 0, "Completed")
            .add(scene);
        scene
            .pod(&new, "h2")
            .started(deleted - 900)
            .ready(deleted - 20)
            .add(scene);
        scene.log(deleted - 800, &new, "listening on port 8080");
        for at in (0..deleted).step_by(500) {
            scene.ok_new(at + i * 7, 3, &old);
        }
        for at in (deleted + 50..deleted + 1_500).step_by(150) {
            scene.refused(at + i * 11);
        }
        // A new pod's first answer comes late: its log alone proves that it listens.
        for at in (deleted + 2_000..20_000).step_by(400) {
            scene.ok_new(at + i * 3, 3, &new);
        }
        names.push(old);
    }
    names
}

#[test]
fn the_tail_of_one_old_pod_beside_a_new_pod_that_listens_is_early_close_like_the_next() {
    let mut scene = Scene::new();
    let names = rolling(&mut scene, 3, 700);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let a = one_burst(&scene, "early_close", Some("refused"), &names);
    assert!(a.bursts[0].confidence > 0.9, "{}", a.bursts[0].confidence);
}

#[test]
fn many_old_pods_that_close_within_seconds_are_one_early_close() {
    let mut scene = Scene::new();
    let names = rolling(&mut scene, 12, 250);
    let a = analysed(&scene);
    assert_eq!(a.bursts.len(), 1, "{:#?}", a.bursts);
    assert_eq!(a.bursts[0].cause, "early_close");
    assert!(
        a.bursts[0].pods.iter().all(|p| names.contains(p)),
        "{:?}",
        a.bursts[0].pods
    );
}

#[test]
fn a_new_pod_that_does_not_listen_yet_and_an_old_one_that_closed_are_not_told_apart_by_guessing() {
    let mut scene = Scene::new();
    scene.pod("stays", "h1").add(&mut scene);
    for at in (0..20_000).step_by(100) {
        scene.ok_new(at, 3, "stays");
    }
    scene
        .pod("old", "h1")
        .deleted(6_000)
        .exit(6_300, 0, "Completed")
        .add(&mut scene);
    scene
        .pod("new", "h2")
        .no_probe()
        .started(5_990)
        .ready(5_995)
        .add(&mut scene);
    for at in (6_050..7_000).step_by(300) {
        scene.refused(at);
    }
    scene.log(7_050, "new", "listening on port 8080");
    scene.ok_new(7_100, 3, "new");
    let a = analysed(&scene);
    let sure = a
        .bursts
        .iter()
        .any(|b| b.confidence > 0.9 && b.cause != "several");
    assert!(!sure, "{:#?}", a.bursts);
}
