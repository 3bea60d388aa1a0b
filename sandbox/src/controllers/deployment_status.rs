//! A Deployment's status: counts and conditions.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::object::{condition, meta, parse_time};
use super::replica_sets::{ReplicaSet, ReplicaSets};
use super::rolling::Bounds;
use crate::timestamp::seconds_now;

/// The counts of `status` that follow from the ReplicaSets, with the conditions as they were but for Available.
pub(super) fn status_of(deployment: &Value, sets: &ReplicaSets) -> Value {
    let sum = |field: &str| sets.all().map(|rs| rs.status(field)).sum::<i64>();
    let desired = desired(deployment);
    let available = sum("availableReplicas");
    let updated = sets.new.as_ref().map_or(0, |rs| rs.status("replicas"));
    let mut status = json!({
        "observedGeneration": deployment["metadata"]["generation"],
        "terminatingReplicas": sum("terminatingReplicas"),
    });
    let counts = [
        ("replicas", sum("replicas")),
        ("updatedReplicas", updated),
        ("readyReplicas", sum("readyReplicas")),
        ("availableReplicas", available),
        ("unavailableReplicas", (sets.total() - available).max(0)),
        (
            "collisionCount",
            deployment["status"]["collisionCount"].as_i64().unwrap_or(0),
        ),
    ];
    for (field, count) in counts {
        // Kubernetes leaves out counts of 0.
        if count > 0 {
            status[field] = json!(count);
        }
    }
    status["conditions"] = match &deployment["status"]["conditions"] {
        Value::Array(conditions) => json!(conditions),
        _ => json!([]),
    };
    let bounds = Bounds::of(&deployment["spec"]["strategy"], desired);
    let (value, reason, message) = if available >= desired - bounds.unavailable {
        (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
    } else {
        (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    };
    set_condition(&mut status, "Available", value, reason, message);
    status
}

/// `spec.replicas`.
pub(super) fn desired(deployment: &Value) -> i64 {
    deployment["spec"]["replicas"].as_i64().unwrap_or(1)
}

/// Sets a condition as the Deployment controller does: one with the same status and reason stays as it is, and the
/// transition's time changes with the status only.
pub(super) fn set_condition(
    status: &mut Value,
    name: &str,
    value: &str,
    reason: &str,
    message: &str,
) {
    let now = seconds_now();
    let mut since = now.clone();
    if let Value::Array(conditions) = &mut status["conditions"] {
        if let Some(index) = conditions.iter().position(|c| c["type"] == name) {
            let current = &conditions[index];
            if current["status"] == value {
                if current["reason"] == reason {
                    return;
                }
                since = current["lastTransitionTime"]
                    .as_str()
                    .unwrap_or(&now)
                    .to_owned();
            }
            conditions.remove(index);
        }
    } else {
        status["conditions"] = json!([]);
    }
    if let Value::Array(conditions) = &mut status["conditions"] {
        conditions.push(json!({
            "type": name,
            "status": value,
            "lastUpdateTime": now,
            "lastTransitionTime": since,
            "reason": reason,
            "message": message,
        }));
    }
}

/// Removes a condition.
fn remove_condition(status: &mut Value, name: &str) {
    if let Value::Array(conditions) = &mut status["conditions"] {
        conditions.retain(|c| c["type"] != name);
    }
}

/// Writes the Progressing condition into the next status, and says when to look again for the deadline.
pub(super) fn progress(
    deployment: &Value,
    status: &mut Value,
    new: Option<&ReplicaSet>,
) -> Option<Duration> {
    let limit = deployment["spec"]["progressDeadlineSeconds"]
        .as_i64()
        .unwrap_or(600);
    let wrapped = json!({ "status": status });
    let reason = condition(&wrapped, "Progressing").and_then(|c| c["reason"].as_str());
    let had_completed = reason == Some("NewReplicaSetAvailable");
    if had_completed && count(status, "replicas") == count(status, "updatedReplicas") {
        return None;
    }
    let subject = match new {
        Some(rs) => format!("ReplicaSet {:?}", rs.name()),
        None => format!("Deployment {:?}", meta(deployment, "name")),
    };
    if is_complete(deployment, status) {
        let message = format!("{subject} has successfully progressed.");
        set_condition(
            status,
            "Progressing",
            "True",
            "NewReplicaSetAvailable",
            &message,
        );
        return None;
    }
    if has_progressed(&deployment["status"], status) {
        renew_progressing(status, &format!("{subject} is progressing."));
    } else if reason == Some("ProgressDeadlineExceeded") {
        return None;
    } else if !had_completed
        && let Some(last) =
            condition(&wrapped, "Progressing").and_then(|c| parse_time(&c["lastUpdateTime"]))
    {
        let left = (last + SignedDuration::from_secs(limit)).duration_since(Timestamp::now());
        if left.is_negative() || left.is_zero() {
            let message = format!("{subject} has timed out progressing.");
            set_condition(
                status,
                "Progressing",
                "False",
                "ProgressDeadlineExceeded",
                &message,
            );
            return None;
        }
        return Duration::try_from(left).ok();
    }
    u64::try_from(limit).ok().map(Duration::from_secs)
}

/// Progress sets the condition anew, so that its update time moves, but keeps the transition's time.
fn renew_progressing(status: &mut Value, message: &str) {
    let wrapped = json!({ "status": status });
    let before = condition(&wrapped, "Progressing")
        .filter(|c| c["status"] == "True")
        .map(|c| c["lastTransitionTime"].clone());
    remove_condition(status, "Progressing");
    set_condition(status, "Progressing", "True", "ReplicaSetUpdated", message);
    if let (Some(since), Value::Array(conditions)) = (before, &mut status["conditions"])
        && let Some(last) = conditions.last_mut()
    {
        last["lastTransitionTime"] = since;
    }
}

fn count(status: &Value, field: &str) -> i64 {
    status[field].as_i64().unwrap_or(0)
}

/// Whether the rollout is done: every replica is of the new template and available, and no old one is left.
pub(super) fn is_complete(deployment: &Value, status: &Value) -> bool {
    let desired = desired(deployment);
    count(status, "updatedReplicas") == desired
        && count(status, "replicas") == desired
        && count(status, "availableReplicas") == desired
        && status["observedGeneration"].as_i64() >= deployment["metadata"]["generation"].as_i64()
}

fn has_progressed(before: &Value, after: &Value) -> bool {
    let old = |s: &Value| count(s, "replicas") - count(s, "updatedReplicas");
    let grew = |field: &str| count(after, field) > count(before, field);
    grew("updatedReplicas")
        || grew("readyReplicas")
        || grew("availableReplicas")
        || old(after) < old(before)
}
