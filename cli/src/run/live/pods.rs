//! One line a pod.

use rollscope_collector::{ClusterState, ContainerState, PodView};

use super::view::tame;

/// A pod as a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::run) struct PodLine {
    /// Its name.
    pub(super) name: String,
    /// Whether it is of the template that the rollout brings.
    pub(super) new: bool,
    /// Its phase, or what says more: that it terminates, or what its container waits for.
    pub(super) phase: String,
    /// Whether its deletion was requested.
    pub(super) terminating: bool,
    /// Whether its condition Ready is true.
    pub(super) ready: bool,
    /// Restarts of its containers so far.
    pub(super) restarts: i64,
}

impl PodLine {
    /// Whether nothing goes on in it: the last to be shown where there is no room for all.
    pub(super) fn settled(&self) -> bool {
        self.ready && !self.terminating
    }
}

/// The workload's pods, by name.
pub(super) fn lines(state: &ClusterState) -> Vec<PodLine> {
    let template = state.deployment.as_ref().map(|d| &d.template);
    let first = state.templates.first().map(|seen| &seen.template);
    // Before the template changes, every pod is one that a rollout would replace.
    let current = (template != first).then(|| state.current_hash()).flatten();
    let mut lines: Vec<_> = state
        .pods
        .values()
        .map(|pod| PodLine {
            name: tame(&pod.name),
            new: current.is_some() && pod.template_hash.as_deref() == current,
            phase: tame(&phase(pod)),
            terminating: pod.terminating,
            ready: pod.ready,
            restarts: pod.containers.iter().map(|c| c.restarts).sum(),
        })
        .collect();
    lines.sort_by(|a, b| a.name.cmp(&b.name));
    lines
}

fn phase(pod: &PodView) -> String {
    if pod.terminating {
        return "Terminating".to_owned();
    }
    if pod.unschedulable.is_some() {
        return "Unschedulable".to_owned();
    }
    let waits = pod.containers.iter().find_map(|c| match &c.state {
        ContainerState::Waiting { reason, .. } if !reason.is_empty() => Some(reason),
        _ => None,
    });
    waits.unwrap_or(&pod.phase).clone()
}
