//! Why a rollout does not get on: the pods that are not ready, with their state, events and log lines.

use crate::logs::LogTail;
use crate::{ClusterState, ContainerState, ContainerView, EventNote, PodView};

/// Pods that a message describes.
const DESCRIBED: usize = 3;

/// Events and log lines that a message quotes for a pod.
const QUOTED: usize = 3;

/// Describes the pods that are not ready and should be, one a line; empty when there are none.
pub(crate) fn describe_unready(state: &ClusterState, tail: &LogTail) -> String {
    describe(state.unready_pods().collect(), state, tail)
}

/// Describes these pods, one a line.
pub(crate) fn describe(pods: Vec<&PodView>, state: &ClusterState, tail: &LogTail) -> String {
    let mut words = String::new();
    for pod in pods.iter().take(DESCRIBED) {
        words.push_str(&format!("\n  pod {}: {}", pod.name, pod_in_words(pod)));
        for event in events_of(pod, state) {
            words.push_str(&format!(
                "\n    event {} (x{}): {}",
                event.reason, event.count, event.message
            ));
        }
        let lines = tail.of(&pod.name);
        for line in &lines[lines.len().saturating_sub(QUOTED)..] {
            words.push_str(&format!("\n    log: {line}"));
        }
    }
    if pods.len() > DESCRIBED {
        words.push_str(&format!("\n  and {} more", pods.len() - DESCRIBED));
    }
    words
}

fn pod_in_words(pod: &PodView) -> String {
    let mut words = vec![match (pod.terminating, pod.phase.as_str()) {
        (true, _) => format!("terminating, grace {} s", pod.grace_seconds),
        (false, "") => "no phase yet".to_owned(),
        (false, phase) => format!("phase {phase}, not ready"),
    }];
    if let Some(why) = &pod.unschedulable {
        words.push(format!("cannot be scheduled: {why}"));
    }
    words.extend(pod.containers.iter().map(container_in_words));
    words.join("; ")
}

fn container_in_words(container: &ContainerView) -> String {
    let state = match &container.state {
        ContainerState::Unknown => "state unknown".to_owned(),
        ContainerState::Running if container.ready => "running and ready".to_owned(),
        ContainerState::Running => "running but not ready".to_owned(),
        ContainerState::Waiting { reason, message } if message.is_empty() => {
            format!("waiting ({reason})")
        }
        ContainerState::Waiting { reason, message } => format!("waiting ({reason}: {message})"),
        ContainerState::Terminated { code, reason } => {
            format!("ended with code {code} ({reason})")
        }
    };
    match container.restarts {
        0 => format!("container {} {state}", container.name),
        n => format!("container {} {state}, restarted {n} times", container.name),
    }
}

/// The last events about a pod, warnings first.
fn events_of<'a>(pod: &PodView, state: &'a ClusterState) -> Vec<&'a EventNote> {
    let about = |e: &&EventNote| e.about_kind == "Pod" && e.about == pod.name;
    let mut events: Vec<&EventNote> = state.events.iter().rev().filter(about).collect();
    events.sort_by_key(|e| e.severity != "Warning");
    events.truncate(QUOTED);
    events
}
