//! What an object must be before it is stored.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Event, Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::ApiError;
use super::resource::Resource;
use crate::Kind;
use crate::controllers::{Bounds, label_selector_matches};

/// Checks an object that shall replace `before` (or be new).
pub(super) fn validate(
    resource: &Resource,
    before: Option<&Value>,
    after: &Value,
) -> Result<(), ApiError> {
    let name = after["metadata"]["name"].as_str().unwrap_or_default();
    let invalid = |why: String| ApiError::invalid(resource, name, why);
    typed(resource.kind, after).map_err(|e| invalid(e.to_string()))?;
    let spec = &after["spec"];
    match resource.kind {
        Kind::Deployment | Kind::ReplicaSet => {
            workload(spec).map_err(invalid)?;
            if before.is_some_and(|b| b["spec"]["selector"] != spec["selector"]) {
                return Err(invalid("spec.selector: field is immutable".to_owned()));
            }
        }
        Kind::Pod if before.is_some_and(|b| fixed(&b["spec"]) != fixed(spec)) => {
            return Err(invalid(
                "spec: pod updates may not change fields other than `spec.containers[*].image`"
                    .to_owned(),
            ));
        }
        _ => (),
    }
    Ok(())
}

fn typed(kind: Kind, object: &Value) -> Result<(), serde_json::Error> {
    fn check<T: DeserializeOwned>(object: &Value) -> Result<(), serde_json::Error> {
        T::deserialize(object).map(drop)
    }
    match kind {
        Kind::Pod => check::<Pod>(object),
        Kind::ReplicaSet => check::<ReplicaSet>(object),
        Kind::Deployment => check::<Deployment>(object),
        Kind::EndpointSlice => check::<EndpointSlice>(object),
        Kind::Service => check::<Service>(object),
        Kind::Event => check::<Event>(object),
        Kind::Node => check::<Node>(object),
        Kind::Namespace => check::<Namespace>(object),
    }
}

fn workload(spec: &Value) -> Result<(), String> {
    if spec["replicas"].as_i64().is_some_and(|r| r < 0) {
        return Err("spec.replicas: must be greater than or equal to 0".to_owned());
    }
    Bounds::check(&spec["strategy"]).map_err(|e| format!("spec.{e}"))?;
    let template = &spec["template"];
    if !label_selector_matches(&spec["selector"], &template["metadata"]["labels"]) {
        return Err(
            "spec.template.metadata.labels: `selector` does not match template `labels`".to_owned(),
        );
    }
    let containers = template["spec"]["containers"].as_array();
    if containers.is_none_or(Vec::is_empty) {
        return Err("spec.template.spec.containers: Required value".to_owned());
    }
    Ok(())
}

/// What can't be changed of a pod's spec.
fn fixed(spec: &Value) -> Value {
    let mut fixed = spec.clone();
    if let Some(containers) = fixed["containers"].as_array_mut() {
        for container in containers {
            container["image"] = Value::Null;
        }
    }
    fixed
}
