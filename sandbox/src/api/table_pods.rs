//! The columns of pods.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use crate::controllers::{condition, parse_time};

/// Name, type, and whether only `-o wide` shows it.
pub(super) const COLUMNS: [(&str, &str, bool); 9] = [
    ("Name", "string", false),
    ("Ready", "string", false),
    ("Status", "string", false),
    ("Restarts", "string", false),
    ("Age", "string", false),
    ("IP", "string", true),
    ("Node", "string", true),
    ("Nominated Node", "string", true),
    ("Readiness Gates", "string", true),
];

/// A pod's cells.
pub(super) fn cells(pod: &Value, now: Timestamp) -> Value {
    let containers = statuses(pod, "containerStatuses");
    let ready = containers
        .iter()
        .filter(|c| is_ready_and_running(c))
        .count();
    let total = pod["spec"]["containers"].as_array().map_or(0, Vec::len);
    json!([
        pod["metadata"]["name"],
        format!("{ready}/{total}"),
        reason(pod),
        restarts(containers, now),
        age(&pod["metadata"]["creationTimestamp"], now),
        pod["status"]["podIP"].as_str().unwrap_or("<none>"),
        pod["spec"]["nodeName"].as_str().unwrap_or("<none>"),
        "<none>",
        "<none>",
    ])
}

fn statuses<'a>(pod: &'a Value, field: &str) -> &'a [Value] {
    pod["status"][field].as_array().map_or(&[], Vec::as_slice)
}

fn is_ready_and_running(container: &Value) -> bool {
    container["ready"] == true && container["state"]["running"].is_object()
}

fn restarts(containers: &[Value], now: Timestamp) -> String {
    let count: i64 = containers
        .iter()
        .filter_map(|c| c["restartCount"].as_i64())
        .sum();
    let last = containers
        .iter()
        .map(|c| &c["lastState"]["terminated"]["finishedAt"])
        .max_by_key(|finished| parse_time(finished));
    match last.filter(|l| count > 0 && !l.is_null()) {
        Some(last) => format!("{count} ({} ago)", age(last, now)),
        None => count.to_string(),
    }
}

/// The STATUS column: the phase, unless a container or a deletion says something nearer.
fn reason(pod: &Value) -> String {
    let status = &pod["status"];
    let phase = status["phase"].as_str().unwrap_or("Unknown");
    let mut reason = status["reason"].as_str().unwrap_or(phase).to_owned();
    let total = pod["spec"]["initContainers"].as_array().map_or(0, Vec::len);
    let initializing = initializing(statuses(pod, "initContainerStatuses"), total);
    if let Some(init) = &initializing {
        reason.clone_from(init);
    }
    if initializing.is_none()
        || condition(pod, "Initialized").is_some_and(|c| c["status"] == "True")
    {
        let containers = statuses(pod, "containerStatuses");
        for container in containers.iter().rev() {
            if let Some(nearer) = container_reason(&container["state"]) {
                reason = nearer;
            }
        }
        let running = containers.iter().any(is_ready_and_running);
        if reason == "Completed" && running {
            let ready = condition(pod, "Ready").is_some_and(|c| c["status"] == "True");
            reason = if ready { "Running" } else { "NotReady" }.to_owned();
        }
    }
    let deleting = pod["metadata"]["deletionTimestamp"].is_string();
    if deleting && !matches!(phase, "Succeeded" | "Failed") {
        reason = "Terminating".to_owned();
    }
    reason
}

fn container_reason(state: &Value) -> Option<String> {
    if let Some(waiting) = state["waiting"]["reason"].as_str() {
        return Some(waiting.to_owned());
    }
    let terminated = state["terminated"].as_object()?;
    if let Some(reason) = terminated
        .get("reason")
        .and_then(Value::as_str)
        .filter(|r| !r.is_empty())
    {
        return Some(reason.to_owned());
    }
    let number = |field: &str| terminated.get(field).and_then(Value::as_i64).unwrap_or(0);
    Some(match number("signal") {
        0 => format!("ExitCode:{}", number("exitCode")),
        signal => format!("Signal:{signal}"),
    })
}

fn initializing(statuses: &[Value], total: usize) -> Option<String> {
    for (index, container) in statuses.iter().enumerate() {
        let state = &container["state"];
        let sidecar_started = container["started"] == true && state["running"].is_object();
        if state["terminated"]["exitCode"] == 0 || sidecar_started {
            continue;
        }
        return Some(match container_reason(state) {
            Some(reason) if reason != "PodInitializing" => format!("Init:{reason}"),
            _ => format!("Init:{index}/{total}"),
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(phase: &str, state: Value, ready: bool) -> Value {
        json!({
            "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "web"}]},
            "status": {"phase": phase, "containerStatuses": [{"state": state, "ready": ready, "restartCount": 0}]},
        })
    }

    #[test]
    fn status_is_what_kubectl_shows() {
        let mut terminating = pod("Running", json!({"running": {}}), true);
        terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let mut ended = pod(
            "Failed",
            json!({"terminated": {"reason": "Error", "exitCode": 143}}),
            false,
        );
        ended["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        for (pod, expected) in [
            (pod("Running", json!({"running": {}}), true), "Running"),
            (
                pod(
                    "Pending",
                    json!({"waiting": {"reason": "ContainerCreating"}}),
                    false,
                ),
                "ContainerCreating",
            ),
            (
                pod(
                    "Running",
                    json!({"waiting": {"reason": "CrashLoopBackOff"}}),
                    false,
                ),
                "CrashLoopBackOff",
            ),
            (
                pod(
                    "Succeeded",
                    json!({"terminated": {"reason": "Completed", "exitCode": 0}}),
                    false,
                ),
                "Completed",
            ),
            (
                pod("Failed", json!({"terminated": {"exitCode": 3}}), false),
                "ExitCode:3",
            ),
            (terminating, "Terminating"),
            (ended, "Error"),
            (json!({"status": {"phase": "Pending"}}), "Pending"),
        ] {
            assert_eq!(reason(&pod), expected, "{pod}");
        }
    }

    #[test]
    fn restarts_tell_when_the_last_one_was() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap_or_default();
        let container = json!({"restartCount": 2, "lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:30Z"}}});
        assert_eq!(restarts(&[container], now), "2 (30s ago)");
        assert_eq!(restarts(&[], now), "0");
    }
}
