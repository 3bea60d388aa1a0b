//! Delete and evict.

use serde_json::{Value, json};

use super::error::{ApiError, success};
use super::query::Query;
use super::route::Target;
use crate::controllers::delete_pod;
use crate::timestamp::seconds_now;
use crate::{Kind, Store};

/// Deletes an object: pods gracefully, all others at once; what they own follows unless it shall be orphaned.
pub(super) fn delete(
    store: &Store,
    target: &Target,
    query: &Query,
    options: &Value,
) -> Result<Value, ApiError> {
    let object = checked(store, target, options)?;
    let Target {
        resource,
        namespace,
        name,
        ..
    } = target;
    if query.is_dry_run() || options["dryRun"].as_array().is_some_and(|d| !d.is_empty()) {
        return Ok(Value::clone(&object));
    }
    if resource.kind == Kind::Pod {
        let grace = grace(query, options)?;
        let deletion = delete_pod(store, namespace, name, grace)
            .map_err(|e| ApiError::from_store(resource, &e))?;
        return Ok(Value::clone(&deletion.into_pod()));
    }
    let policy = query
        .get("propagationPolicy")
        .or(options["propagationPolicy"].as_str());
    if policy == Some("Orphan") || query.flag("orphanDependents") {
        orphan(store, &object);
    }
    store
        .remove(resource.kind, namespace, name)
        .map_err(|e| ApiError::from_store(resource, &e))?;
    Ok(success(resource, name, &object["metadata"]["uid"]))
}

/// Evicts a pod: a graceful deletion that says why in the pod's conditions.
pub(super) fn evict(
    store: &Store,
    target: &Target,
    eviction: &Value,
    dry_run: bool,
) -> Result<Value, ApiError> {
    let options = &eviction["deleteOptions"];
    let pod = checked(store, target, options)?;
    let Target {
        resource,
        namespace,
        name,
        ..
    } = target;
    if !dry_run {
        let _ = store.update(Kind::Pod, namespace, name, |pod| {
            let condition = json!({
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
                "lastProbeTime": null,
                "lastTransitionTime": seconds_now(),
            });
            if let Some(conditions) = pod["status"]["conditions"].as_array_mut() {
                conditions.retain(|c| c["type"] != "DisruptionTarget");
                conditions.push(condition);
            }
        });
        delete_pod(store, namespace, name, grace(&Query::default(), options)?)
            .map_err(|e| ApiError::from_store(resource, &e))?;
    }
    Ok(success(resource, name, &pod["metadata"]["uid"]))
}

fn checked(
    store: &Store,
    target: &Target,
    options: &Value,
) -> Result<std::sync::Arc<Value>, ApiError> {
    let resource = target.resource;
    let object = store
        .get(resource.kind, &target.namespace, &target.name)
        .ok_or_else(|| ApiError::not_found(resource, &target.name))?;
    for field in ["uid", "resourceVersion"] {
        let wanted = &options["preconditions"][field];
        if !wanted.is_null() && *wanted != object["metadata"][field] {
            let why = format!("the {field} in the precondition is not the object's");
            return Err(ApiError::conflict(resource, &target.name, &why));
        }
    }
    Ok(object)
}

fn grace(query: &Query, options: &Value) -> Result<Option<i64>, ApiError> {
    let grace = match query.get("gracePeriodSeconds") {
        Some(text) => Some(text.parse().map_err(|_| {
            ApiError::bad_request(format!(
                "gracePeriodSeconds {text:?}: expected whole seconds"
            ))
        })?),
        None => options["gracePeriodSeconds"].as_i64(),
    };
    match grace {
        Some(seconds) if seconds < 0 => Err(ApiError::bad_request(
            "gracePeriodSeconds must be greater than or equal to 0",
        )),
        grace => Ok(grace),
    }
}

/// Takes an owner's reference from everything that it owns.
fn orphan(store: &Store, owner: &Value) {
    let uid = &owner["metadata"]["uid"];
    for kind in [Kind::ReplicaSet, Kind::Pod, Kind::EndpointSlice] {
        let (objects, _) = store.list(kind, owner["metadata"]["namespace"].as_str());
        for object in objects {
            let (namespace, name) = (
                &object["metadata"]["namespace"],
                &object["metadata"]["name"],
            );
            let (Some(namespace), Some(name)) = (namespace.as_str(), name.as_str()) else {
                continue;
            };
            let _ = store.update(kind, namespace, name, |object| {
                if let Some(owners) = object["metadata"]["ownerReferences"].as_array_mut() {
                    owners.retain(|o| o["uid"] != *uid);
                }
            });
        }
    }
}
