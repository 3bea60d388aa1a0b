//! Strategic merge patch: maps are merged, and lists of things that have a key are merged by it.

use serde_json::{Map, Value};

const DIRECTIVE: &str = "$patch";
const ORDER: &str = "$setElementOrder/";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const RETAIN: &str = "$retainKeys";

/// Merges a strategic merge patch into an object.
pub(super) fn merge(original: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *original = patch.clone();
        return;
    };
    if patch.get(DIRECTIVE).is_some_and(|d| d == "replace") || !original.is_object() {
        *original = Value::Object(Map::new());
    }
    let Value::Object(fields) = original else {
        return;
    };
    for (name, value) in patch {
        if name == DIRECTIVE || name == RETAIN || name.starts_with(ORDER) {
            continue;
        }
        if let Some(list) = name.strip_prefix(DELETE_FROM) {
            delete_from(fields.get_mut(list), value);
        } else if value.is_null() || value.get(DIRECTIVE).is_some_and(|d| d == "delete") {
            fields.remove(name);
        } else {
            merge_field(fields, name, value);
        }
    }
    for (name, order) in patch {
        if let Some(list) = name.strip_prefix(ORDER) {
            reorder(list, fields.get_mut(list), order);
        }
    }
}

fn merge_field(fields: &mut Map<String, Value>, name: &str, value: &Value) {
    let target = fields.entry(name).or_insert(Value::Null);
    match value {
        Value::Object(_) => merge(target, value),
        Value::Array(items) => merge_list(name, target, items),
        _ => *target = value.clone(),
    }
}

fn merge_list(name: &str, target: &mut Value, patch: &[Value]) {
    if !target.is_array() {
        *target = Value::Array(Vec::new());
    }
    let Value::Array(items) = target else {
        return;
    };
    let replace = patch.iter().any(|p| p[DIRECTIVE] == "replace");
    let items_only = patch.iter().filter(|p| p[DIRECTIVE] != "replace");
    if name == "finalizers" && !replace {
        for item in items_only {
            if !items.contains(item) {
                items.push(item.clone());
            }
        }
        return;
    }
    if replace || merge_key(name, patch).is_none() {
        items.clear();
    }
    for item in items_only {
        merge_item(merge_key(name, patch), items, item);
    }
}

fn merge_item(key: Option<&str>, items: &mut Vec<Value>, item: &Value) {
    let same = |i: &Value| key.is_some_and(|k| !item[k].is_null() && i[k] == item[k]);
    let found = items.iter().position(same);
    match (found, item[DIRECTIVE] == "delete") {
        (Some(index), true) => drop(items.remove(index)),
        (None, true) => (),
        (Some(index), false) => merge(&mut items[index], item),
        (None, false) => {
            let mut new = Value::Null;
            merge(&mut new, item);
            items.push(new);
        }
    }
}

/// The key by which a list's items are told apart; `None` for a list that is replaced as a whole.
fn merge_key(name: &str, patch: &[Value]) -> Option<&'static str> {
    match name {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets" => Some("name"),
        "ports" if patch.iter().any(|p| p.get("containerPort").is_some()) => Some("containerPort"),
        "ports" => Some("port"),
        "volumeMounts" => Some("mountPath"),
        "volumeDevices" => Some("devicePath"),
        "hostAliases" => Some("ip"),
        "topologySpreadConstraints" => Some("topologyKey"),
        "conditions" => Some("type"),
        "ownerReferences" => Some("uid"),
        _ => None,
    }
}

fn delete_from(list: Option<&mut Value>, gone: &Value) {
    if let (Some(Value::Array(items)), Value::Array(gone)) = (list, gone) {
        items.retain(|item| !gone.contains(item));
    }
}

/// Puts the items that `order` names into its order; the others follow as they were.
fn reorder(name: &str, list: Option<&mut Value>, order: &Value) {
    let (Some(Value::Array(items)), Value::Array(order)) = (list, order) else {
        return;
    };
    let key = merge_key(name, order);
    let place = |item: &Value| {
        let same = |o: &Value| match key {
            Some(key) => o[key] == item[key],
            None => o == item,
        };
        order.iter().position(same).unwrap_or(usize::MAX)
    };
    items.sort_by_key(place);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(original: Value, patch: &Value) -> Value {
        let mut object = original;
        merge(&mut object, patch);
        object
    }

    #[test]
    fn maps_are_merged_and_null_deletes() {
        let original = json!({"spec": {"replicas": 3, "paused": true, "template": {"metadata": {"labels": {"app": "web"}}}}});
        let patch = json!({"spec": {"paused": null, "template": {"metadata": {"annotations": {"restartedAt": "now"}}}}});
        let expected = json!({"spec": {"replicas": 3, "template": {"metadata": {"labels": {"app": "web"}, "annotations": {"restartedAt": "now"}}}}});
        assert_eq!(patched(original, &patch), expected);
    }

    #[test]
    fn lists_with_keys_are_merged_by_them() {
        let original = json!({"containers": [
            {"name": "web", "image": "a", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "ports": [{"containerPort": 80, "name": "http"}]},
            {"name": "side", "image": "s"},
        ]});
        let cases = [
            (
                "an item is changed",
                json!({"containers": [{"name": "side", "image": "t"}]}),
                "/containers/1/image",
                json!("t"),
            ),
            (
                "an item is added",
                json!({"containers": [{"name": "new", "image": "n", "command": null}]}),
                "/containers/2",
                json!({"name": "new", "image": "n"}),
            ),
            (
                "an item is deleted",
                json!({"containers": [{"name": "web", "env": [{"name": "A", "$patch": "delete"}]}]}),
                "/containers/0/env",
                json!([{"name": "B", "value": "2"}]),
            ),
            (
                "a variable changes from a value to a source",
                json!({"containers": [{"name": "web", "env": [{"name": "A", "value": null, "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]}]}),
                "/containers/0/env/0",
                json!({"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}),
            ),
            (
                "ports go by containerPort",
                json!({"containers": [{"name": "web", "ports": [{"containerPort": 80, "name": "main"}, {"containerPort": 81}]}]}),
                "/containers/0/ports",
                json!([{"containerPort": 80, "name": "main"}, {"containerPort": 81}]),
            ),
            (
                "a list is replaced on demand",
                json!({"containers": [{"$patch": "replace"}, {"name": "only"}]}),
                "/containers",
                json!([{"name": "only"}]),
            ),
            (
                "order is kept as asked",
                json!({"$setElementOrder/containers": [{"name": "side"}, {"name": "web"}], "containers": [{"name": "web", "image": "b"}]}),
                "/containers/0/name",
                json!("side"),
            ),
            (
                "retained keys are ignored",
                json!({"$retainKeys": ["containers"], "containers": [{"name": "side", "$retainKeys": ["name"], "image": "u"}]}),
                "/containers/1",
                json!({"name": "side", "image": "u"}),
            ),
        ];
        for (fact, patch, pointer, expected) in cases {
            let result = patched(original.clone(), &patch);
            assert_eq!(result.pointer(pointer), Some(&expected), "{fact}: {result}");
        }
    }

    #[test]
    fn lists_without_keys_are_replaced() {
        let original = json!({"command": ["a", "b"], "tolerations": [{"key": "x"}]});
        let patch = json!({"command": ["c"], "tolerations": [{"key": "y"}]});
        assert_eq!(patched(original, &patch), patch);
    }

    #[test]
    fn maps_are_replaced_or_deleted_on_demand() {
        let original = json!({"a": {"x": 1}, "b": {"y": 1}, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}});
        let patch = json!({"a": {"$patch": "replace", "z": 2}, "b": {"$patch": "delete"}, "strategy": {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": null}});
        let expected = json!({"a": {"z": 2}, "strategy": {"type": "Recreate"}});
        assert_eq!(patched(original, &patch), expected);
    }

    #[test]
    fn primitive_lists_lose_and_gain_items() {
        let original = json!({"finalizers": ["a", "b"]});
        let patch = json!({"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]});
        assert_eq!(patched(original, &patch), json!({"finalizers": ["b", "c"]}));
    }
}
