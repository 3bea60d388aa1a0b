//! JSON Merge Patch (RFC 7396): an object as its difference to another, so that a pod's many states take little room.

use serde_json::{Map, Value};

/// The patch that makes `to` of `from`; `None` where no patch can (`null` in a patch means "not there", so an object
/// that has `null` in it cannot be told by one).
pub(super) fn diff(from: &Value, to: &Value) -> Option<Value> {
    if has_null(to) {
        return None;
    }
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => Some(Value::Object(fields(from, to)?)),
        _ => None,
    }
}

fn fields(from: &Map<String, Value>, to: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut patch = Map::new();
    for name in from.keys().filter(|name| !to.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in to {
        match (from.get(name), value) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                patch.insert(name.clone(), Value::Object(fields(old, new)?));
            }
            (_, new) => {
                patch.insert(name.clone(), new.clone());
            }
        }
    }
    Some(patch)
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        _ => false,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    /// The standard's own algorithm.
    fn apply(target: &Value, patch: &Value) -> Value {
        let Value::Object(patch) = patch else {
            return patch.clone();
        };
        let mut out = target.as_object().cloned().unwrap_or_default();
        for (name, value) in patch {
            if value.is_null() {
                out.remove(name);
            } else {
                let applied = apply(out.get(name).unwrap_or(&Value::Null), value);
                out.insert(name.clone(), applied);
            }
        }
        Value::Object(out)
    }

    #[test]
    fn a_patch_makes_the_second_of_the_first() {
        let states = [
            json!({ "a": 1, "b": { "c": [1, 2], "d": "x" } }),
            json!({ "a": 1, "b": { "c": [1, 3] }, "e": {} }),
            json!({ "b": "text", "e": { "f": true } }),
            json!({}),
        ];
        for from in &states {
            for to in &states {
                let patch = diff(from, to).unwrap();
                assert_eq!(apply(from, &patch), *to, "{patch}");
            }
        }
        assert_eq!(diff(&states[0], &states[0]).unwrap(), json!({}));
    }

    #[test]
    fn an_object_with_null_in_it_has_no_patch() {
        assert_eq!(diff(&json!({}), &json!({ "a": [{ "b": null }] })), None);
    }
}
