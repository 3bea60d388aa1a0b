//! What could not be observed, in words.

use rollscope_records::{Recording, Shards};

use crate::context::Context;

/// The notes of a run: the recording's own warnings first.
pub(crate) fn notes(recording: &Recording, cx: &Context<'_>) -> Vec<String> {
    let mut notes = recording.run.warnings.clone();
    if recording.run.target.kind == "none" {
        notes.push(
            "target none: pods, endpoints and container logs were not observed. Bursts are tied to the stages; a cause inside a pod cannot be named".to_owned(),
        );
    } else if cx.timeline.pods.is_empty() {
        notes.push("no pod was observed: causes inside pods cannot be named".to_owned());
    } else {
        pod_notes(cx, &mut notes);
    }
    if let Some(shards) = &recording.run.shards {
        notes.extend(clock_notes(shards));
    }
    for mark in &cx.logs.bad_marks {
        notes.push(format!(
            "the log mark {mark} is not a regular expression and was ignored"
        ));
    }
    for loss in &recording.losses {
        notes.push(format!("{}: {}", loss.file, loss.what));
    }
    notes
}

/// How well the clocks of several generators are known against the first one's.
fn clock_notes(shards: &Shards) -> impl Iterator<Item = String> {
    shards.present.iter().skip(1).map(|shard| {
        let generator = shard.index;
        let Some((lo, hi)) = shard.clock_error_nanos else {
            return format!(
                "generator {generator}: its times stand as its wall clock says; no other clock was seen by both generators, so nothing bounds the error"
            );
        };
        let moved = match shard.moved_nanos {
            0 => "its times stand as its wall clock says".to_owned(),
            moved => format!("its wall clock was wrong, its times were moved by {:.1} ms", moved as f64 / 1e6),
        };
        format!(
            "generator {generator}: {moved}; by the clocks that both saw they are off by {:.1} to {:.1} ms",
            lo as f64 / 1e6,
            hi as f64 / 1e6
        )
    })
}

fn pod_notes(cx: &Context<'_>, notes: &mut Vec<String>) {
    if !cx.traffic.pods_named && !cx.traffic.requests.is_empty() {
        notes.push(
            "no response names its pod (load.pod_header): requests are laid to pods by time and address only, and in-flight counts are not known".to_owned(),
        );
    }
    if !cx.traffic.pinned {
        notes.push(
            "requests are routed one by one: the propagation lag is measured on requests, and a closed listener is seen only through the balancer's answers".to_owned(),
        );
    }
    if !cx.timeline.readiness_recorded && cx.timeline.terminating().next().is_some() {
        notes.push(
            "no pod was seen not Ready: a drain that shows in readiness would not have been seen"
                .to_owned(),
        );
    }
    let logged = cx
        .timeline
        .terminating()
        .any(|(ix, ..)| cx.logs.pod(ix).is_some());
    if !logged && cx.timeline.terminating().next().is_some() {
        notes.push("no log of a terminating pod was recorded".to_owned());
    }
}
