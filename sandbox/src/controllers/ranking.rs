//! Which pods of a ReplicaSet go first when it shrinks.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::object::{annotation, is_ready, meta, parse_time, ready_since};

/// Sorts so that the pods to delete first come first: unassigned, not running, not ready, cheap to delete, ready or
/// alive for a shorter time (by powers of two), restarted more often.
///
/// Kubernetes also prefers pods that share a node with others of their kind; with one node that never decides.
pub(super) fn sort_for_deletion(pods: &mut [Arc<Value>], now: Timestamp) {
    pods.sort_by(|a, b| compare(a, b, now));
}

fn compare(a: &Value, b: &Value, now: Timestamp) -> Ordering {
    let assigned = |p: &Value| p["spec"]["nodeName"].is_string();
    assigned(a)
        .cmp(&assigned(b))
        .then_with(|| phase(a).cmp(&phase(b)))
        .then_with(|| is_ready(a).cmp(&is_ready(b)))
        .then_with(|| deletion_cost(a).cmp(&deletion_cost(b)))
        .then_with(|| {
            if is_ready(a) && is_ready(b) {
                by_age(ready_since(a), ready_since(b), a, b, now)
            } else {
                Ordering::Equal
            }
        })
        .then_with(|| restarts(b).cmp(&restarts(a)))
        .then_with(|| by_age(created(a), created(b), a, b, now))
}

fn phase(pod: &Value) -> u8 {
    match pod["status"]["phase"].as_str() {
        Some("Pending") | None => 0,
        Some("Running") => 2,
        Some(_) => 1,
    }
}

fn deletion_cost(pod: &Value) -> i32 {
    annotation(pod, "controller.kubernetes.io/pod-deletion-cost")
        .and_then(|c| c.parse().ok())
        .unwrap_or(0)
}

fn restarts(pod: &Value) -> i64 {
    let statuses = pod["status"]["containerStatuses"].as_array();
    let counts = statuses.into_iter().flatten();
    counts
        .filter_map(|s| s["restartCount"].as_i64())
        .max()
        .unwrap_or(0)
}

fn created(pod: &Value) -> Option<Timestamp> {
    parse_time(&pod["metadata"]["creationTimestamp"])
}

/// The younger first; ages are told apart only by powers of two, and the uid decides within one.
fn by_age(
    since_a: Option<Timestamp>,
    since_b: Option<Timestamp>,
    a: &Value,
    b: &Value,
    now: Timestamp,
) -> Ordering {
    if since_a == since_b {
        return Ordering::Equal;
    }
    let magnitude = |since: Option<Timestamp>| {
        let age = since.map_or(0, |s| now.duration_since(s).as_nanos());
        u128::try_from(age).ok().and_then(u128::checked_ilog2)
    };
    magnitude(since_a)
        .cmp(&magnitude(since_b))
        .then_with(|| meta(a, "uid").cmp(meta(b, "uid")))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(
        name: &str,
        phase: &str,
        ready_since: Option<&str>,
        restarts: i64,
        cost: i64,
    ) -> Arc<Value> {
        Arc::new(json!({
            "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {"controller.kubernetes.io/pod-deletion-cost": cost.to_string()}},
            "spec": {"nodeName": "node1"},
            "status": {"phase": phase, "containerStatuses": [{"restartCount": restarts}],
                "conditions": [{"type": "Ready", "status": if ready_since.is_some() {"True"} else {"False"},
                    "lastTransitionTime": ready_since}]},
        }))
    }

    #[test]
    fn pods_worth_least_are_deleted_first() {
        let mut pods = [
            pod("long-ready", "Running", Some("2026-01-01T00:00:01Z"), 0, 0),
            pod("dear", "Running", Some("2026-01-01T00:09:59Z"), 0, 5),
            pod("just-ready", "Running", Some("2026-01-01T00:09:59Z"), 0, 0),
            pod("not-ready", "Running", None, 0, 0),
            pod("not-ready-restarted", "Running", None, 3, 0),
            pod("pending", "Pending", None, 0, 0),
        ];
        sort_for_deletion(&mut pods, "2026-01-01T00:10:00Z".parse().unwrap());
        let order: Vec<&str> = pods.iter().map(|p| meta(p, "name")).collect();
        assert_eq!(
            order,
            [
                "pending",
                "not-ready-restarted",
                "not-ready",
                "just-ready",
                "long-ready",
                "dear"
            ]
        );
    }
}
