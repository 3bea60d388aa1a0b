//! Finds fields that a Kubernetes type does not know: deserializing drops them in silence.

use serde_json::Value;

/// The paths of fields in `raw` that are not in `typed`, which was read from it.
pub(super) fn unknown_fields(raw: &Value, typed: &Value) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    compare(raw, typed, &mut Vec::new(), &mut found);
    found
}

fn compare(raw: &Value, typed: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match (raw, typed) {
        (Value::Object(raw), Value::Object(typed)) => {
            for (key, value) in raw {
                path.push(key.clone());
                match typed.get(key) {
                    Some(read) => compare(value, read, path, found),
                    None if is_empty(value) => (),
                    None => found.push(path.clone()),
                }
                path.pop();
            }
        }
        (Value::Array(raw), Value::Array(typed)) => {
            for (index, (value, read)) in raw.iter().zip(typed).enumerate() {
                path.push(index.to_string());
                compare(value, read, path, found);
                path.pop();
            }
        }
        _ => (),
    }
}

/// Null and empty values are the same as no value.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
