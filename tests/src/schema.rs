//! The part of JSON Schema (draft 2020-12) that our schemas and that of SARIF use, and stricter in one point: a field that the schema does
//! not name is an error, so that a new field is not forgotten in the schema.

use serde_json::{Map, Value};

const KEYWORDS: [&str; 24] = [
    // Nothing to check here, but for `format` and `pattern`, which are left to other tests.
    "default",
    "definitions",
    "format",
    "pattern",
    "oneOf",
    "uniqueItems",
    "$schema",
    "$id",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "enum",
    "const",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "minimum",
    "maximum",
    "anyOf",
];

/// What in `value` is not as `schema` says, each with its place; empty when all is well.
///
/// # Panics
///
/// On a schema with a keyword that is not known here: it would go unchecked.
pub fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "$", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let Some(schema) = schema.as_object() else {
        if schema == false {
            found.push(format!("{at}: nothing is allowed here"));
        }
        return;
    };
    for keyword in schema.keys() {
        assert!(
            KEYWORDS.contains(&keyword.as_str()),
            "the keyword {keyword} is not checked"
        );
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let definition = root.pointer(reference.trim_start_matches('#'));
        let definition = definition.unwrap_or_else(|| panic!("no {reference} in the schema"));
        check(root, definition, value, at, found);
    }
    check_value(schema, value, at, found);
    let alternatives = schema.get("anyOf").or(schema.get("oneOf"));
    if let Some(any) = alternatives.and_then(Value::as_array) {
        let tried = any.iter().map(|one| {
            let mut found = Vec::new();
            check(root, one, value, at, &mut found);
            found
        });
        if let Some(least) = tried.min_by_key(Vec::len) {
            found.extend(least);
        }
    }
    check_items(root, schema, value, at, found);
    check_fields(root, schema, value, at, found);
}

fn check_value(schema: &Map<String, Value>, value: &Value, at: &str, found: &mut Vec<String>) {
    if let Some(types) = schema.get("type") {
        let types = types
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![types.clone()]);
        if !types
            .iter()
            .any(|t| is(value, t.as_str().unwrap_or_default()))
        {
            found.push(format!("{at}: {value} is none of {types:?}"));
        }
    }
    if schema.get("const").is_some_and(|c| c != value) {
        found.push(format!("{at}: {value} is not {}", schema["const"]));
    }
    let allowed = schema.get("enum").and_then(Value::as_array);
    if allowed.is_some_and(|allowed| !allowed.contains(value)) {
        found.push(format!("{at}: {value} is none of {}", schema["enum"]));
    }
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    if let Some(n) = value.as_f64() {
        let low = bound("minimum").is_some_and(|least| n < least);
        if low || bound("maximum").is_some_and(|most| n > most) {
            found.push(format!("{at}: {n} is out of bounds"));
        }
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("the type {other} is not known"),
    }
}

fn check_items(
    root: &Value,
    schema: &Map<String, Value>,
    value: &Value,
    at: &str,
    found: &mut Vec<String>,
) {
    let Some(items) = value.as_array() else {
        return;
    };
    let first = schema.get("prefixItems").and_then(Value::as_array);
    let first = first.map(Vec::as_slice).unwrap_or_default();
    let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
    if (items.len() as u64) < least {
        found.push(format!("{at}: fewer than {least} items"));
    }
    if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
        for (n, item) in items.iter().enumerate() {
            if items[..n].contains(item) {
                found.push(format!("{at}[{n}]: is there twice"));
            }
        }
    }
    for (n, item) in items.iter().enumerate() {
        if let Some(of) = first.get(n).or(schema.get("items")) {
            check(root, of, item, &format!("{at}[{n}]"), found);
        }
    }
}

fn check_fields(
    root: &Value,
    schema: &Map<String, Value>,
    value: &Value,
    at: &str,
    found: &mut Vec<String>,
) {
    let Some(fields) = value.as_object() else {
        return;
    };
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            found.push(format!("{at}: {name} is missing"));
        }
    }
    let named = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties");
    if named.is_none() && others.is_none() {
        return;
    }
    for (name, field) in fields {
        match named.and_then(|n| n.get(name)).or(others) {
            Some(of) => check(root, of, field, &format!("{at}.{name}"), found),
            None => found.push(format!("{at}: the schema does not name {name}")),
        }
    }
}
