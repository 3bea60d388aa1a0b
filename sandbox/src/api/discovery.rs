//! What the API serves, as clients ask for it before anything else.

use serde_json::{Value, json};

use super::resource::{GROUPS, RESOURCES, Resource};
use crate::controllers::KUBELET_VERSION;

const VERBS: &[&str] = &[
    "create", "delete", "get", "list", "patch", "update", "watch",
];

/// `/version`.
pub(super) fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "gitVersion": KUBELET_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("linux/{}", std::env::consts::ARCH),
    })
}

/// `/api`.
pub(super) fn core_versions() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
}

/// `/apis`.
pub(super) fn groups() -> Value {
    let groups: Vec<Value> = GROUPS.iter().map(|g| group(g)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/<group>`.
pub(super) fn group(name: &str) -> Value {
    let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
    json!({
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": name,
        "versions": [version],
        "preferredVersion": version,
    })
}

/// `/api/v1`, `/apis/<group>/v1`.
pub(super) fn resources(group: &str) -> Value {
    let version = if group.is_empty() {
        "v1".to_owned()
    } else {
        format!("{group}/v1")
    };
    let resources: Vec<Value> = RESOURCES
        .iter()
        .filter(|r| r.group == group)
        .flat_map(|r| std::iter::once(resource(r)).chain(subresources(r)))
        .collect();
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources})
}

fn resource(resource: &Resource) -> Value {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind.as_str(),
        "verbs": VERBS,
        "shortNames": resource.short,
    });
    if resource.in_all {
        entry["categories"] = json!(["all"]);
    }
    entry
}

fn subresources(resource: &Resource) -> impl Iterator<Item = Value> {
    resource.subresources.iter().map(|sub| {
        json!({
            "name": format!("{}/{}", resource.plural, sub.name),
            "singularName": "",
            "namespaced": resource.namespaced,
            "group": sub.group,
            "version": sub.version,
            "kind": sub.kind,
            "verbs": sub.verbs,
        })
    })
}

/// The answer to a SelfSubjectAccessReview: everything is allowed.
pub(super) fn access_review(mut review: Value) -> Value {
    if !review.is_object() {
        review = json!({});
    }
    review["kind"] = json!("SelfSubjectAccessReview");
    review["apiVersion"] = json!("authorization.k8s.io/v1");
    review["status"] = json!({"allowed": true, "reason": "the sandbox allows everything"});
    review
}
