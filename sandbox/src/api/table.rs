//! Objects as `meta.k8s.io/v1` Tables, with the columns that kubectl shows.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::query::Query;
use super::table_pods;
use crate::Kind;

/// A column: its name, its type, and whether only `-o wide` shows it.
type Column = (&'static str, &'static str, bool);

const NAME: Column = ("Name", "string", false);
const AGE: Column = ("Age", "string", false);
const CONTAINERS: Column = ("Containers", "string", true);
const IMAGES: Column = ("Images", "string", true);
const SELECTOR: Column = ("Selector", "string", true);

/// The Table of some objects of a kind.
pub(super) fn table(kind: Kind, objects: &[Arc<Value>], version: &str, query: &Query) -> Value {
    let now = Timestamp::now();
    let columns: Vec<Value> = columns(kind)
        .iter()
        .map(|(name, column_type, wide)| {
            json!({
                "name": name,
                "type": column_type,
                "format": if *name == "Name" { "name" } else { "" },
                "description": "",
                "priority": i32::from(*wide),
            })
        })
        .collect();
    let include = query.get("includeObject").unwrap_or("Metadata");
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| json!({"cells": cells(kind, object, now), "object": included(include, object)}))
        .collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": version},
        "columnDefinitions": columns,
        "rows": rows,
    })
}

fn included(include: &str, object: &Value) -> Value {
    match include {
        "None" => Value::Null,
        "Object" => object.clone(),
        _ => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": object["metadata"],
        }),
    }
}

fn columns(kind: Kind) -> &'static [Column] {
    match kind {
        Kind::Pod => &table_pods::COLUMNS,
        Kind::Deployment => &[
            NAME,
            ("Ready", "string", false),
            ("Up-to-date", "integer", false),
            ("Available", "integer", false),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
        Kind::ReplicaSet => &[
            NAME,
            ("Desired", "integer", false),
            ("Current", "integer", false),
            ("Ready", "integer", false),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
        Kind::EndpointSlice => &[
            NAME,
            ("AddressType", "string", false),
            ("Ports", "string", false),
            ("Endpoints", "string", false),
            AGE,
        ],
        Kind::Service => &[
            NAME,
            ("Type", "string", false),
            ("Cluster-IP", "string", false),
            ("External-IP", "string", false),
            ("Port(s)", "string", false),
            AGE,
            SELECTOR,
        ],
        Kind::Event => &[
            ("Last Seen", "string", false),
            ("Type", "string", false),
            ("Reason", "string", false),
            ("Object", "string", false),
            ("Subobject", "string", true),
            ("Source", "string", true),
            ("Message", "string", false),
            ("First Seen", "string", true),
            ("Count", "string", true),
            ("Name", "string", true),
        ],
        Kind::Node => &[
            NAME,
            ("Status", "string", false),
            ("Roles", "string", false),
            AGE,
            ("Version", "string", false),
            ("Internal-IP", "string", true),
            ("Container-Runtime", "string", true),
        ],
        Kind::Namespace => &[NAME, ("Status", "string", false), AGE],
    }
}

fn cells(kind: Kind, object: &Value, now: Timestamp) -> Value {
    let name = &object["metadata"]["name"];
    let age = age(&object["metadata"]["creationTimestamp"], now);
    let (spec, status) = (&object["spec"], &object["status"]);
    let count = |of: &Value| of.as_i64().unwrap_or(0);
    let template = &spec["template"]["spec"];
    match kind {
        Kind::Pod => table_pods::cells(object, now),
        Kind::Deployment => json!([
            name,
            format!(
                "{}/{}",
                count(&status["readyReplicas"]),
                count(&spec["replicas"])
            ),
            count(&status["updatedReplicas"]),
            count(&status["availableReplicas"]),
            age,
            joined(&template["containers"], "name"),
            joined(&template["containers"], "image"),
            pairs(&spec["selector"]["matchLabels"]),
        ]),
        Kind::ReplicaSet => json!([
            name,
            count(&spec["replicas"]),
            count(&status["replicas"]),
            count(&status["readyReplicas"]),
            age,
            joined(&template["containers"], "name"),
            joined(&template["containers"], "image"),
            pairs(&spec["selector"]["matchLabels"]),
        ]),
        Kind::EndpointSlice => json!([
            name,
            object["addressType"],
            slice_ports(object),
            addresses(object),
            age
        ]),
        Kind::Service => json!([
            name,
            spec["type"],
            spec["clusterIP"].as_str().unwrap_or("<none>"),
            "<none>",
            service_ports(spec),
            age,
            pairs(&spec["selector"]),
        ]),
        Kind::Event => event(object, now),
        Kind::Node => node(object, &age),
        Kind::Namespace => json!([name, status["phase"].as_str().unwrap_or("Active"), age]),
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn or_none(parts: Vec<String>) -> String {
    if parts.is_empty() {
        "<none>".to_owned()
    } else {
        parts.join(",")
    }
}

fn joined(list: &Value, field: &str) -> String {
    or_none(
        items(list)
            .filter_map(|i| i[field].as_str().map(str::to_owned))
            .collect(),
    )
}

fn pairs(labels: &Value) -> String {
    let labels = labels.as_object().into_iter().flatten();
    or_none(
        labels
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
            .collect(),
    )
}

/// At most three, and how many more there are.
fn shortened(mut parts: Vec<String>) -> String {
    if parts.is_empty() {
        return "<unset>".to_owned();
    }
    let more = parts.len().saturating_sub(3);
    parts.truncate(3);
    let text = parts.join(",");
    if more == 0 {
        text
    } else {
        format!("{text} + {more} more...")
    }
}

fn slice_ports(slice: &Value) -> String {
    shortened(
        items(&slice["ports"])
            .map(|p| p["port"].to_string())
            .collect(),
    )
}

fn addresses(slice: &Value) -> String {
    let addresses = items(&slice["endpoints"]).flat_map(|e| items(&e["addresses"]));
    shortened(
        addresses
            .filter_map(|a| a.as_str().map(str::to_owned))
            .collect(),
    )
}

fn service_ports(spec: &Value) -> String {
    or_none(
        items(&spec["ports"])
            .map(|p| format!("{}/{}", p["port"], p["protocol"].as_str().unwrap_or("TCP")))
            .collect(),
    )
}

fn event(event: &Value, now: Timestamp) -> Value {
    let first = if event["firstTimestamp"].is_null() {
        &event["eventTime"]
    } else {
        &event["firstTimestamp"]
    };
    let last = if event["lastTimestamp"].is_null() {
        first
    } else {
        &event["lastTimestamp"]
    };
    let involved = &event["involvedObject"];
    let kind = involved["kind"].as_str().unwrap_or_default().to_lowercase();
    let count = event["count"].as_i64().unwrap_or(1);
    let last_seen = if count > 1 {
        format!("{} (x{count} over {})", age(last, now), age(first, now))
    } else {
        age(last, now)
    };
    let source = event["source"]["component"]
        .as_str()
        .or(event["reportingComponent"].as_str());
    let source = match (source, event["source"]["host"].as_str()) {
        (Some(component), Some(host)) => format!("{component}, {host}"),
        (component, _) => component.unwrap_or_default().to_owned(),
    };
    json!([
        last_seen,
        event["type"],
        event["reason"],
        format!("{kind}/{}", involved["name"].as_str().unwrap_or_default()),
        involved["fieldPath"].as_str().unwrap_or_default(),
        source,
        event["message"].as_str().unwrap_or_default().trim(),
        age(first, now),
        count.to_string(),
        event["metadata"]["name"],
    ])
}

fn node(node: &Value, age: &str) -> Value {
    let ready =
        items(&node["status"]["conditions"]).any(|c| c["type"] == "Ready" && c["status"] == "True");
    let internal = items(&node["status"]["addresses"]).find(|a| a["type"] == "InternalIP");
    json!([
        node["metadata"]["name"],
        if ready { "Ready" } else { "NotReady" },
        "<none>",
        age,
        node["status"]["nodeInfo"]["kubeletVersion"],
        internal.map_or(&Value::Null, |a| &a["address"]),
        node["status"]["nodeInfo"]["containerRuntimeVersion"],
    ])
}
