//! Ends of containers, and what they leave.

use rollscope_records::RunOffset;

use super::super::draw::Case;
use super::super::truth::{ContainerRun, PodTruth, Truth};
use super::{Label, MS, SECOND, SLACK, is};

/// A killed process may be gone this much before its end is seen: its container ends with its last process.
const UNSEEN: i64 = 300 * MS;

/// An end by itself at about the deletion, or after it where no log tells it from a forced exit.
pub(super) fn ended_as_it_was_deleted(case: &Case, pod: &PodTruth) -> bool {
    let Some((deleted, _)) = pod.deleted else {
        return false;
    };
    let near = |k: RunOffset| k.nanos_since(deleted).abs() < 1500 * MS;
    let later = |k: RunOffset| k >= deleted && !case.logs;
    let mut ends = pod
        .runs
        .iter()
        .filter_map(|r| r.killed_by_us.or(r.exited.map(|(t, _)| t)));
    ends.any(|end| near(end) || later(end))
}

/// No endpoint at all. Where a crash or a failed probe left none, that is as true.
pub(super) fn no_endpoints(case: &Case, truth: &Truth, at: RunOffset) -> Label {
    let mut label = is("no_endpoints", None);
    let evicted = |pod: &PodTruth| pod.evicted && pod.deleted.is_some_and(|(t, _)| t <= at);
    if truth.pods.values().any(evicted) {
        label.also.push("node_drain");
    }
    for pod in truth.pods.values() {
        for (i, run) in pod.runs.iter().enumerate() {
            let stopped = run.stopping.filter(|_| run.is_restart()).map(|(t, _)| t);
            let ended = stopped.or(run.exited.map(|(t, _)| t));
            let Some(ended) = ended.filter(|t| *t <= at) else {
                continue;
            };
            let again = pod.runs.get(i + 1).and_then(|r| r.ledger.step("listening"));
            let missed = again.is_none_or(|t| t.plus_nanos(15 * SECOND) >= at);
            let cause = by_itself(case, run);
            if let Some(cause) = cause
                && missed
                && at.nanos_since(ended) < 60 * SECOND
                && !label.also.contains(&cause)
            {
                label.also.push(cause);
            }
        }
    }
    label
}

/// The cause of a container's end, where it was not its pod's deletion.
pub(super) fn by_itself(case: &Case, run: &ContainerRun) -> Option<&'static str> {
    if run.killed_by_us.is_some() {
        let memory = case.memory_limit;
        return Some(if memory { "oom_kill" } else { "crash" });
    }
    if run.is_restart() {
        return Some("liveness_kill");
    }
    match (run.exited, run.stopping) {
        (Some(_), None) => Some("crash"),
        (Some((ended, _)), Some((stopping, _)))
            if run.caught().is_none() && run.signal.is_none() && run.sigkill.is_none() =>
        {
            // It died while its preStop hook ran.
            (ended > stopping).then_some("crash")
        }
        (Some(_), Some(_)) if run.ledger.exit.is_some_and(|(_, code)| code == 1) => {
            let by_timer = run.ledger.step("timeout").is_some();
            (!by_timer).then_some("crash")
        }
        _ => None,
    }
}

/// Whether the process is being killed at `t`, so that it may be gone before its end is seen.
pub(super) fn ending(run: &ContainerRun, t: RunOffset) -> bool {
    let killers = [run.signal, run.sigkill, run.killed_by_us];
    let struck = killers.iter().flatten().any(|k| *k <= t.plus_nanos(SLACK));
    struck && run.caught().is_none() && run.is_over(t.plus_nanos(UNSEEN))
}
