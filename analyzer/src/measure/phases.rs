//! The phases of a pod's life, for its lane of the timeline.

use rollscope_records::RunOffset;

use crate::analysis::{Ms, PodPhase};
use crate::timeline::Pod;

/// `pending`, `starting`, `ready`, `not_ready`, `terminating`, `ended`, each until the next.
pub(super) fn phases(pod: &Pod) -> Vec<PodPhase> {
    let mut changes: Vec<(RunOffset, &'static str)> = vec![(pod.first_seen, "pending")];
    let leaving = pod.deletion_seen().unwrap_or(RunOffset(i64::MAX));
    let over = pod
        .end
        .as_ref()
        .map(|e| e.point().max(pod.first_seen))
        .or(pod.over);
    if let Some(at) = pod.running.filter(|at| *at < leaving) {
        changes.push((at, "starting"));
    }
    let mut was_ready = false;
    for (at, ready) in pod.ready.iter().filter(|(at, _)| *at < leaving) {
        was_ready |= *ready;
        match (ready, was_ready) {
            (true, _) => changes.push((*at, "ready")),
            (false, true) => changes.push((*at, "not_ready")),
            (false, false) => {}
        }
    }
    if pod.deletion.is_some() {
        changes.push((leaving, "terminating"));
    }
    if let Some(at) = over {
        changes.retain(|(t, _)| *t <= at);
        changes.push((at, "ended"));
    }
    changes.sort_by_key(|(at, _)| *at);
    close(&changes)
}

fn close(changes: &[(RunOffset, &'static str)]) -> Vec<PodPhase> {
    let mut phases: Vec<PodPhase> = Vec::new();
    for (i, (from, phase)) in changes.iter().enumerate() {
        let to = changes.get(i + 1).map(|(at, _)| *at);
        if to == Some(*from) {
            continue;
        }
        if let Some(last) = phases.last_mut()
            && last.phase == *phase
        {
            last.to_ms = to.map(Ms);
            continue;
        }
        phases.push(PodPhase {
            phase,
            from_ms: Ms(*from),
            to_ms: to.map(Ms),
        });
    }
    phases
}
