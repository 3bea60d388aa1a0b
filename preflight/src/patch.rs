//! From changes of fields to a patch: a strategic merge for Kubernetes' own kinds, a JSON patch for everything else.

use serde_json::{Map, Value as Json, json};

use crate::at::{At, Step};

/// A change of one field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edit {
    path: Vec<Step>,
    /// The new value; `None` removes the field.
    value: Option<Json>,
}

impl Edit {
    /// Gives the field a value.
    pub(crate) fn set(at: &At<'_>, value: impl Into<Json>) -> Self {
        Self {
            path: at.path.clone(),
            value: Some(value.into()),
        }
    }

    /// Takes the field away.
    pub(crate) fn remove(at: &At<'_>) -> Self {
        Self {
            path: at.path.clone(),
            value: None,
        }
    }
}

/// The field by which the items of a list are told apart in a strategic merge.
fn merge_key(list: &str) -> Option<&'static str> {
    match list {
        "containers" | "initContainers" | "env" | "volumes" => Some("name"),
        "ports" => Some("containerPort"),
        _ => None,
    }
}

/// The edits as a strategic merge patch of `object`.
pub(crate) fn strategic(object: &Json, edits: &[Edit]) -> Json {
    let mut patch = json!({});
    for edit in edits {
        merge(&mut patch, object, &edit.path, "", edit.value.as_ref());
    }
    patch
}

fn merge(patch: &mut Json, object: &Json, path: &[Step], list: &str, value: Option<&Json>) {
    let Some((step, rest)) = path.split_first() else {
        match value {
            Some(value) => *patch = value.clone(),
            None if patch.is_object() && !list.is_empty() => patch["$patch"] = json!("delete"),
            None => *patch = Json::Null,
        }
        return;
    };
    match step {
        Step::Key(key) => {
            if !patch.is_object() {
                *patch = json!({});
            }
            let below = object.get(key).unwrap_or(&Json::Null);
            let inner = if rest.is_empty() { "" } else { key.as_str() };
            merge(&mut patch[key.as_str()], below, rest, inner, value);
        }
        Step::Item(index) => {
            let below = object.get(*index).unwrap_or(&Json::Null);
            let Some(key) = merge_key(list) else {
                return;
            };
            let item = item(patch, key, &below[key]);
            merge(item, below, rest, list, value);
        }
        Step::New(key, name) => {
            let item = item(patch, key, name);
            merge(item, &Json::Null, rest, list, value);
        }
    }
}

/// The item of a patch's list that is told by `key`, added where it is not there.
fn item<'p>(patch: &'p mut Json, key: &str, name: &Json) -> &'p mut Json {
    if !patch.is_array() {
        *patch = json!([]);
    }
    let Json::Array(items) = patch else {
        return patch;
    };
    let index = match items.iter().position(|i| &i[key] == name) {
        Some(index) => index,
        None => {
            items.push(Json::Object(Map::from_iter([(
                key.to_owned(),
                name.clone(),
            )])));
            items.len() - 1
        }
    };
    &mut items[index]
}

/// The edits as a JSON patch of `object`. Each is applied to a copy, so that the next one meets what it will meet.
pub(crate) fn json_patch(object: &Json, edits: &[Edit]) -> Json {
    let mut object = object.clone();
    let operations: Vec<Json> = edits
        .iter()
        .filter_map(|edit| operation(&mut object, &edit.path, "", edit.value.as_ref()))
        .collect();
    Json::Array(operations)
}

fn operation(place: &mut Json, path: &[Step], pointer: &str, value: Option<&Json>) -> Option<Json> {
    let Some((step, rest)) = path.split_first() else {
        return Some(replaced(place, pointer, value?.clone()));
    };
    let removes = rest.is_empty() && value.is_none();
    match (step, &mut *place) {
        (Step::Key(key), Json::Object(map)) => {
            let pointer = format!("{pointer}/{}", escaped(key));
            if removes {
                map.remove(key)?;
                return Some(json!({ "op": "remove", "path": pointer }));
            }
            match map.get_mut(key) {
                Some(below) => operation(below, rest, &pointer, value),
                None => {
                    let value = nested(rest, value?.clone());
                    map.insert(key.clone(), value.clone());
                    Some(json!({ "op": "add", "path": pointer, "value": value }))
                }
            }
        }
        (Step::Item(index), Json::Array(items)) => {
            let pointer = format!("{pointer}/{index}");
            let below = items.get_mut(*index)?;
            if removes {
                items.remove(*index);
                return Some(json!({ "op": "remove", "path": pointer }));
            }
            operation(below, rest, &pointer, value)
        }
        (Step::New(key, name), Json::Array(items)) => {
            let value = new_item(key, name, rest, value?.clone());
            items.push(value.clone());
            Some(json!({ "op": "add", "path": format!("{pointer}/-"), "value": value }))
        }
        _ => Some(replaced(place, pointer, nested(path, value?.clone()))),
    }
}

fn replaced(place: &mut Json, pointer: &str, value: Json) -> Json {
    *place = value.clone();
    json!({ "op": "replace", "path": pointer, "value": value })
}

/// `value` with the fields around it that are not there yet.
fn nested(path: &[Step], value: Json) -> Json {
    match path.split_first() {
        None => value,
        Some((Step::Key(key), rest)) => json!({ key.as_str(): nested(rest, value) }),
        Some((Step::Item(_), rest)) => json!([nested(rest, value)]),
        Some((Step::New(key, name), rest)) => json!([new_item(key, name, rest, value)]),
    }
}

fn new_item(key: &str, name: &Json, rest: &[Step], value: Json) -> Json {
    let mut item = nested(rest, value);
    if !item.is_object() {
        item = json!({});
    }
    item[key] = name.clone();
    item
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::at::Document;
    use crate::node::Node;

    fn document() -> Document {
        let json = json!({"spec": {"containers": [
            {"name": "side", "image": "s"},
            {"name": "web", "image": "w", "env": [{"name": "A", "value": "1"}]},
        ]}});
        Document {
            file: "x".to_owned(),
            root: Node::of_json(&json),
            problems: RefCell::default(),
        }
    }

    #[test]
    fn a_strategic_patch_names_the_items_that_it_changes() {
        let document = document();
        let web = At::root(&document)
            .keys(&["spec", "containers"])
            .item("name", "web");
        let env = web.key("env");
        let edits = [
            Edit::set(&web.keys(&["lifecycle", "preStop", "sleep", "seconds"]), 2),
            Edit::set(&env.item("name", "B").key("value"), "2"),
            Edit::remove(&env.item("name", "A")),
            Edit::remove(&web.key("image")),
        ];
        let expected = json!({"spec": {"containers": [{
            "name": "web",
            "lifecycle": {"preStop": {"sleep": {"seconds": 2}}},
            "env": [{"name": "B", "value": "2"}, {"name": "A", "$patch": "delete"}],
            "image": null,
        }]}});
        assert_eq!(strategic(&document.root.to_json(), &edits), expected);
    }

    #[test]
    fn a_json_patch_adds_what_is_around_a_new_field() {
        let document = document();
        let web = At::root(&document)
            .keys(&["spec", "containers"])
            .item("name", "web");
        let edits = [
            Edit::set(&web.keys(&["lifecycle", "preStop", "sleep", "seconds"]), 2),
            Edit::set(&web.keys(&["lifecycle", "stopSignal"]), "SIGTERM"),
            Edit::set(&web.key("env").item("name", "B").key("value"), "2"),
            Edit::set(&web.key("image"), "v"),
            Edit::remove(&web.key("env").item("name", "A")),
        ];
        let expected = json!([
            {"op": "add", "path": "/spec/containers/1/lifecycle", "value": {"preStop": {"sleep": {"seconds": 2}}}},
            {"op": "add", "path": "/spec/containers/1/lifecycle/stopSignal", "value": "SIGTERM"},
            {"op": "add", "path": "/spec/containers/1/env/-", "value": {"name": "B", "value": "2"}},
            {"op": "replace", "path": "/spec/containers/1/image", "value": "v"},
            {"op": "remove", "path": "/spec/containers/1/env/0"},
        ]);
        assert_eq!(json_patch(&document.root.to_json(), &edits), expected);
    }
}
