//! JSON patch (RFC 6902), as `kubectl rollout undo` and `kubectl patch --type=json` send it.

use serde_json::Value;

/// Applies the operations in order.
///
/// # Errors
/// The operation that can't be applied, in words; the object is then half patched and must not be used.
pub(super) fn apply(object: &mut Value, patch: &Value) -> Result<(), String> {
    let operations = patch.as_array().ok_or("expected a list of operations")?;
    operations.iter().try_for_each(|operation| {
        apply_one(object, operation).map_err(|e| format!("{operation}: {e}"))
    })
}

fn apply_one(object: &mut Value, operation: &Value) -> Result<(), String> {
    let path = text(operation, "path")?;
    let value = || {
        operation
            .get("value")
            .cloned()
            .ok_or("it has no value".to_owned())
    };
    match text(operation, "op")? {
        "add" => add(object, path, value()?),
        "remove" => remove(object, path).map(drop),
        "replace" => {
            *object.pointer_mut(path).ok_or_else(|| missing(path))? = value()?;
            Ok(())
        }
        "move" => {
            let moved = remove(object, text(operation, "from")?)?;
            add(object, path, moved)
        }
        "copy" => {
            let from = text(operation, "from")?;
            let copied = object.pointer(from).cloned().ok_or_else(|| missing(from))?;
            add(object, path, copied)
        }
        "test" if object.pointer(path) == Some(&value()?) => Ok(()),
        "test" => Err("the test failed".to_owned()),
        other => Err(format!("unknown operation {other:?}")),
    }
}

fn text<'a>(operation: &'a Value, field: &str) -> Result<&'a str, String> {
    operation[field]
        .as_str()
        .ok_or_else(|| format!("it has no {field}"))
}

fn missing(path: &str) -> String {
    format!("nothing is at {path:?}")
}

/// The parent of a path and the last token, unescaped.
fn parent<'a>(object: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), String> {
    let (parent, last) = path.rsplit_once('/').ok_or_else(|| missing(path))?;
    let parent = object.pointer_mut(parent).ok_or_else(|| missing(parent))?;
    Ok((parent, last.replace("~1", "/").replace("~0", "~")))
}

fn add(object: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if path.is_empty() {
        *object = value;
        return Ok(());
    }
    let (parent, last) = parent(object, path)?;
    match parent {
        Value::Object(fields) => {
            fields.insert(last, value);
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            let index = last.parse().ok().filter(|i| *i <= items.len());
            items.insert(index.ok_or_else(|| missing(path))?, value);
        }
        _ => return Err(missing(path)),
    }
    Ok(())
}

fn remove(object: &mut Value, path: &str) -> Result<Value, String> {
    let (parent, last) = parent(object, path)?;
    match parent {
        Value::Object(fields) => fields.remove(&last),
        Value::Array(items) => last
            .parse()
            .ok()
            .filter(|i: &usize| *i < items.len())
            .map(|i| items.remove(i)),
        _ => None,
    }
    .ok_or_else(|| missing(path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_are_applied() {
        for (original, operation, expected) in [
            (
                json!({"a": 1}),
                json!({"op": "add", "path": "/b", "value": 2}),
                json!({"a": 1, "b": 2}),
            ),
            (
                json!({"a": [1, 3]}),
                json!({"op": "add", "path": "/a/1", "value": 2}),
                json!({"a": [1, 2, 3]}),
            ),
            (
                json!({"a": [1]}),
                json!({"op": "add", "path": "/a/-", "value": 2}),
                json!({"a": [1, 2]}),
            ),
            (
                json!({"a/b": 1}),
                json!({"op": "replace", "path": "/a~1b", "value": 2}),
                json!({"a/b": 2}),
            ),
            (
                json!({"a": 1, "b": 2}),
                json!({"op": "remove", "path": "/a"}),
                json!({"b": 2}),
            ),
            (
                json!({"a": 1}),
                json!({"op": "move", "from": "/a", "path": "/b"}),
                json!({"b": 1}),
            ),
            (
                json!({"a": 1}),
                json!({"op": "copy", "from": "/a", "path": "/b"}),
                json!({"a": 1, "b": 1}),
            ),
            (
                json!({"a": 1}),
                json!({"op": "test", "path": "/a", "value": 1}),
                json!({"a": 1}),
            ),
        ] {
            let mut object = original;
            assert_eq!(
                apply(&mut object, &json!([operation])),
                Ok(()),
                "{operation}"
            );
            assert_eq!(object, expected, "{operation}");
        }
    }

    #[test]
    fn operations_that_do_not_fit_are_errors() {
        for operation in [
            json!({"op": "replace", "path": "/b", "value": 2}),
            json!({"op": "remove", "path": "/b"}),
            json!({"op": "test", "path": "/a", "value": 2}),
            json!({"op": "add", "path": "/b/c", "value": 2}),
            json!({"op": "jump", "path": "/a"}),
            json!({"path": "/a"}),
        ] {
            assert!(
                apply(&mut json!({"a": 1}), &json!([operation])).is_err(),
                "{operation}"
            );
        }
    }
}
