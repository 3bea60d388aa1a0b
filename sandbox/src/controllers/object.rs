//! Reading Kubernetes objects that are kept as JSON.

use jiff::Timestamp;
use serde_json::{Value, json};

/// `metadata.<field>` as text; empty when missing.
pub(crate) fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// `metadata.annotations.<name>`.
pub(crate) fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][name].as_str()
}

/// Writes `metadata.annotations.<name>`.
pub(crate) fn annotate(object: &mut Value, name: &str, value: &str) {
    object["metadata"]["annotations"][name] = json!(value);
}

/// Whether a deletion was requested.
pub(crate) fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Whether the object's controller is the owner with this uid.
pub(crate) fn is_controlled_by(object: &Value, uid: &str) -> bool {
    controller_of(object).is_some_and(|owner| owner["uid"] == uid)
}

/// The owner reference of the object's controller.
pub(crate) fn controller_of(object: &Value) -> Option<&Value> {
    let mut owners = object["metadata"]["ownerReferences"].as_array()?.iter();
    owners.find(|owner| owner["controller"] == true)
}

/// A reference that makes `owner` the controller of another object.
pub(crate) fn owner_reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// The condition of a type in `status.conditions`.
pub(crate) fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let mut conditions = object["status"]["conditions"].as_array()?.iter();
    conditions.find(|c| c["type"] == name)
}

/// Whether a pod's Ready condition is True.
pub(crate) fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready").is_some_and(|c| c["status"] == "True")
}

/// Whether a pod has ended for good (Succeeded or Failed).
pub(crate) fn is_terminal(pod: &Value) -> bool {
    matches!(
        pod["status"]["phase"].as_str(),
        Some("Succeeded" | "Failed")
    )
}

/// Whether a pod counts as a replica: neither ended nor being deleted.
pub(crate) fn is_active(pod: &Value) -> bool {
    !is_terminal(pod) && !is_terminating(pod)
}

/// A time as Kubernetes writes it.
pub(crate) fn parse_time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// When a pod's Ready condition turned to what it is.
pub(crate) fn ready_since(pod: &Value) -> Option<Timestamp> {
    condition(pod, "Ready").and_then(|c| parse_time(&c["lastTransitionTime"]))
}
