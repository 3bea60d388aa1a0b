//! Golden cases: for each signature and face, a recording made by hand that is small enough to read.

mod balancers;
mod container_ends;
mod early_close;
mod endpoints;
mod evictions;
mod findings;
mod healthy;
mod overlap;
mod overrun;
mod rivals;
mod sidecars;
mod signals;
mod stages;
mod streams;
mod undecided;
mod unforwarded;
mod verdicts;

use crate::testing::Scene;
use crate::{Analysis, analyze};

/// Two pods that stay, with traffic on new connections over `[0, 40 s)` that is answered.
fn quiet() -> Scene {
    let mut scene = Scene::new();
    scene.pod("stays", "h1").add(&mut scene);
    let mut at = 0;
    while at < 40_000 {
        scene.ok_new(at, 3, "stays");
        at += 100;
    }
    scene
}

/// Adds a new pod that is ready at 5.9 s and answers from then on.
fn new_pod(scene: &mut Scene) {
    let pod = scene.pod("new", "h2").started(5_500).ready(5_900);
    pod.add(scene);
    scene.ok_new(5_950, 3, "new");
    scene.ok_new(6_500, 3, "new");
    scene.ok_new(9_000, 3, "new");
}

/// An old pod that is deleted at 6 s, not ready from 7.5 s on, and ends by itself with 0 at 11.5 s; a new one is there.
fn replaced(scene: &mut Scene) {
    new_pod(scene);
    scene
        .pod("old", "h1")
        .deleted(6_000)
        .not_ready(7_500)
        .exit(11_500, 0, "Completed")
        .add(scene);
}

/// Analyses and checks that every failure is in exactly one burst.
fn analysed(scene: &Scene) -> Analysis {
    let analysis = analyze(&scene.recorded());
    let in_bursts: u64 = analysis.bursts.iter().map(|b| b.failed).sum();
    assert_eq!(in_bursts + analysis.unattributed, analysis.requests.failed);
    analysis
}

/// Asserts one burst with this verdict and nothing else.
#[track_caller]
fn one_burst(scene: &Scene, cause: &str, detail: Option<&str>, pods: &[&str]) -> Analysis {
    let analysis = analysed(scene);
    let seen: Vec<_> = analysis
        .bursts
        .iter()
        .map(|b| (b.cause.as_str(), b.detail.as_deref(), &b.pods))
        .collect();
    let pods: Vec<String> = pods.iter().map(|p| (*p).to_owned()).collect();
    assert_eq!(seen, [(cause, detail, &pods)], "{:#?}", analysis.bursts);
    let burst = &analysis.bursts[0];
    assert!(burst.confidence > 0.5 && burst.confidence <= 0.99);
    assert!(!burst.evidence.is_empty(), "a verdict without its evidence");
    assert!(!burst.summary.is_empty());
    analysis
}
