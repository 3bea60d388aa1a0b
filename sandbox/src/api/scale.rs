//! The scale subresource (`autoscaling/v1` Scale).

use serde_json::{Value, json};

use super::error::ApiError;
use super::route::Target;
use super::write::{Part, update};
use crate::Store;

/// The Scale of a Deployment or ReplicaSet.
pub(super) fn scale_of(object: &Value) -> Value {
    let meta = &object["metadata"];
    let labels = object["spec"]["selector"]["matchLabels"].as_object();
    let selector: Vec<String> = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "uid": meta["uid"],
            "resourceVersion": meta["resourceVersion"],
            "creationTimestamp": meta["creationTimestamp"],
        },
        "spec": {"replicas": object["spec"]["replicas"].as_i64().unwrap_or(1)},
        "status": {
            "replicas": object["status"]["replicas"].as_i64().unwrap_or(0),
            "selector": selector.join(","),
        },
    })
}

/// Changes the Scale: `change` makes the wanted Scale of the present one.
pub(super) fn update_scale(
    store: &Store,
    target: &Target,
    dry_run: bool,
    change: impl FnOnce(&Value) -> Result<Value, ApiError>,
) -> Result<Value, ApiError> {
    let resource = target.resource;
    let written = update(store, target, Part::Main, dry_run, |object| {
        let before = scale_of(object);
        let wanted = change(&before)?;
        let version = wanted["metadata"]["resourceVersion"]
            .as_str()
            .filter(|v| !v.is_empty());
        if version.is_some_and(|v| before["metadata"]["resourceVersion"] != v) {
            let why = "the object has been modified; please apply your changes to the latest version and try again";
            return Err(ApiError::conflict(resource, &target.name, why));
        }
        let Some(replicas) = wanted["spec"]["replicas"]
            .as_i64()
            .or_else(|| wanted["spec"]["replicas"].is_null().then_some(0))
        else {
            return Err(ApiError::bad_request("spec.replicas: expected a number"));
        };
        let mut after = object.clone();
        after["spec"]["replicas"] = json!(replicas);
        Ok(after)
    })?;
    Ok(scale_of(&written))
}
