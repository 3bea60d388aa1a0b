//! Create, replace and patch.

use std::sync::Arc;

use serde_json::{Value, json};

use super::error::{ApiError, check_kind};
use super::resource::Resource;
use super::route::Target;
use super::validation::validate;
use crate::controllers::{admit, qos_class, random_suffix};
use crate::manifest::defaults;
use crate::{Kind, Store};

/// What the system writes and a client can't change.
const SYSTEM: [&str; 6] = [
    "uid",
    "creationTimestamp",
    "generation",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// Creates an object from a client's.
pub(super) fn create(
    store: &Store,
    resource: &Resource,
    namespace: Option<&str>,
    mut object: Value,
    dry_run: bool,
) -> Result<Arc<Value>, ApiError> {
    check_kind(resource.kind, &object)?;
    if !object.is_object() {
        return Err(ApiError::bad_request("expected an object"));
    }
    name(&mut object)?;
    place(resource, namespace, &mut object)?;
    if let Some(meta) = object["metadata"].as_object_mut() {
        meta.retain(|field, _| !SYSTEM.contains(&field.as_str()));
    }
    defaults::fill(resource.kind, &mut object);
    if resource.kind == Kind::Pod {
        admit(&mut object["spec"]);
        let qos = qos_class(&object["spec"]);
        object["status"] = json!({"phase": "Pending", "qosClass": qos});
    } else if has_status(resource.kind) {
        object["status"] = json!({});
    }
    validate(resource, None, &object)?;
    if dry_run {
        return Ok(Arc::new(object));
    }
    store
        .create(resource.kind, object)
        .map_err(|e| ApiError::from_store(resource, &e))
}

fn name(object: &mut Value) -> Result<(), ApiError> {
    let meta = &object["metadata"];
    if meta["name"].as_str().is_some_and(|n| !n.is_empty()) {
        return Ok(());
    }
    let Some(prefix) = meta["generateName"].as_str() else {
        return Err(ApiError::bad_request(
            "metadata: name or generateName is required",
        ));
    };
    object["metadata"]["name"] = json!(format!("{prefix}{}", random_suffix()));
    Ok(())
}

fn place(resource: &Resource, namespace: Option<&str>, object: &mut Value) -> Result<(), ApiError> {
    if !resource.namespaced {
        return Ok(());
    }
    let named = object["metadata"]["namespace"].as_str();
    match (named.filter(|n| !n.is_empty()), namespace) {
        (Some(named), Some(path)) if named != path => Err(ApiError::bad_request(format!(
            "the namespace of the object ({named}) does not match the namespace on the request ({path})"
        ))),
        (named, path) => {
            let namespace = path.or(named).unwrap_or("default").to_owned();
            object["metadata"]["namespace"] = json!(namespace);
            Ok(())
        }
    }
}

/// Which part of an object a write is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All but the status.
    Main,
    /// The status alone.
    Status,
}

/// Changes an object: `change` makes the wanted object of the present one, under the store's lock.
pub(super) fn update(
    store: &Store,
    target: &Target,
    part: Part,
    dry_run: bool,
    change: impl FnOnce(&Value) -> Result<Value, ApiError>,
) -> Result<Arc<Value>, ApiError> {
    let Target {
        resource,
        namespace,
        name,
        ..
    } = target;
    if dry_run {
        let before = store
            .get(resource.kind, namespace, name)
            .ok_or_else(|| ApiError::not_found(resource, name))?;
        return completed(resource, part, &before, change(&before)?).map(Arc::new);
    }
    let mut refused = None;
    let written = store.update(resource.kind, namespace, name, |object| {
        match change(object).and_then(|wanted| completed(resource, part, object, wanted)) {
            Ok(wanted) => *object = wanted,
            Err(error) => refused = Some(error),
        }
    });
    match refused {
        Some(error) => Err(error),
        None => written.map_err(|e| ApiError::from_store(resource, &e)),
    }
}

/// The wanted object with everything that a client can't change as it was, checked.
fn completed(
    resource: &Resource,
    part: Part,
    before: &Value,
    mut after: Value,
) -> Result<Value, ApiError> {
    check_kind(resource.kind, &after)?;
    check_same(resource, before, &after)?;
    for field in SYSTEM {
        restore(&mut after["metadata"], &before["metadata"], field);
    }
    for field in ["kind", "apiVersion"] {
        restore(&mut after, before, field);
    }
    match part {
        Part::Main if has_status(resource.kind) => restore(&mut after, before, "status"),
        Part::Main => (),
        Part::Status => {
            let status = after["status"].clone();
            after = before.clone();
            after["status"] = status;
        }
    }
    defaults::fill(resource.kind, &mut after);
    validate(resource, Some(before), &after)?;
    let annotated = before["metadata"]["annotations"] != after["metadata"]["annotations"];
    if resource.kind == Kind::Deployment && annotated && before["spec"] == after["spec"] {
        // A Deployment's controller has to look at annotations too.
        let generation = before["metadata"]["generation"].as_i64().unwrap_or(1);
        after["metadata"]["generation"] = json!(generation + 1);
    }
    Ok(after)
}

fn check_same(resource: &Resource, before: &Value, after: &Value) -> Result<(), ApiError> {
    let (was, is) = (&before["metadata"], &after["metadata"]);
    let name = was["name"].as_str().unwrap_or_default();
    for field in ["name", "namespace"] {
        if !is[field].is_null() && is[field] != was[field] {
            return Err(ApiError::bad_request(format!(
                "metadata.{field} {} does not match the request's ({})",
                is[field], was[field]
            )));
        }
    }
    if !is["uid"].is_null() && is["uid"] != was["uid"] {
        return Err(ApiError::conflict(
            resource,
            name,
            "the uid in the precondition is not the object's",
        ));
    }
    let version = is["resourceVersion"].as_str().filter(|v| !v.is_empty());
    if version.is_some_and(|v| was["resourceVersion"] != v) {
        return Err(ApiError::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        ));
    }
    Ok(())
}

fn restore(after: &mut Value, before: &Value, field: &str) {
    match before.get(field) {
        Some(value) => after[field] = value.clone(),
        None => {
            if let Some(fields) = after.as_object_mut() {
                fields.remove(field);
            }
        }
    }
}

/// Whether the status of a kind is written through its own subresource only.
const fn has_status(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Pod | Kind::ReplicaSet | Kind::Deployment | Kind::Service | Kind::Node
    )
}
