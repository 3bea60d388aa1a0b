//! The JSON Schema of a scenario, for editors; made from the same tables as the checker.

use serde_json::{Map, Value, json};

use crate::keys::{Shape, Table};
use crate::tables::{HEADER, SCENARIO};

/// The JSON Schema (draft 2020-12) of a scenario file. `scenarios/scenario.schema.json` is this, written down.
pub fn schema() -> Value {
    let mut schema = table(&SCENARIO);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Rollscope scenario");
    schema
}

fn table(table: &Table) -> Value {
    let properties: Map<String, Value> = table
        .keys
        .iter()
        .map(|key| {
            let mut value = shape(&key.shape);
            value["description"] = json!(key.doc);
            if let Some(default) = key.default {
                value["default"] = default_value(&key.shape, default);
            }
            (key.name.to_owned(), value)
        })
        .collect();
    let required: Vec<&str> = table
        .keys
        .iter()
        .filter(|k| k.required)
        .map(|k| k.name)
        .collect();
    let mut schema = json!({
        "type": "object",
        "description": table.doc,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    if !table.one_of.is_empty() {
        let one = |key: &&str| json!({ "required": [key] });
        schema["oneOf"] = table.one_of.iter().map(one).collect();
    }
    schema
}

fn default_value(shape: &Shape, default: &str) -> Value {
    match shape {
        Shape::Whole(..) => default.parse::<u64>().map_or(Value::Null, |n| json!(n)),
        Shape::Flag => json!(default == "true"),
        _ => json!(default),
    }
}

const DURATION: &str = r"([0-9]+(\.[0-9]*)?(h|m|s|ms|us|µs|ns))+";

fn shape(shape: &Shape) -> Value {
    let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    match shape {
        Shape::Text => json!({ "type": "string", "minLength": 1 }),
        Shape::DnsLabel => text("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"),
        Shape::Workload => text("^deployment/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"),
        Shape::BaseUrl => text("^https?://[^/?#@ ]+/?$"),
        Shape::Path => text("^/[A-Za-z0-9._~:/?@!$&'()*+,;=%\\[\\]-]*$"),
        Shape::HeaderName => text("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"),
        Shape::Rate => text(r"^[0-9]+(\.[0-9]*)?/(s|m|h)$"),
        Shape::RateOrSection(section) => {
            json!({ "anyOf": [self::shape(&Shape::Rate), table(section)] })
        }
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Scalar => json!({ "type": ["string", "number", "boolean", "null"] }),
        Shape::File | Shape::Host => json!({ "type": "string", "minLength": 1 }),
        Shape::JsonPointer => text("^(/.*)?$"),
        Shape::RedisUrl => text("^redis://[^/@? ]+/?$"),
        Shape::JobUrl => text("^(/|https?://[^@ ]+$)"),
        Shape::PostgresqlUrl => {
            text("^postgres(ql)?://[^/@:? ]+@[^/@? ]+/[^/@? ]+(\\?sslmode=(require|disable))?$")
        }
        Shape::JobPattern => text("\\(\\?P?<job>"),
        Shape::Resolves => json!({
            "type": "array",
            "minItems": 1,
            "items": { "type": "string", "pattern": r"^[^:\s]+:[0-9]+:[^\s]+$" },
        }),
        Shape::Duration | Shape::Deadline => text(&format!("^{DURATION}$")),
        Shape::DurationRange => text(&format!(r"^{DURATION}(\.\.{DURATION})?$")),
        Shape::Whole(min, u64::MAX) => json!({ "type": "integer", "minimum": min }),
        Shape::Whole(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Shape::Choice(words) => json!({ "enum": words }),
        Shape::Section(section) => table(section),
        Shape::Sections(section) => {
            json!({ "type": "array", "minItems": 1, "items": table(section) })
        }
        Shape::Texts { may_be_empty } => json!({
            "type": "array",
            "minItems": u8::from(!may_be_empty),
            "items": { "type": "string", "minLength": 1 },
        }),
        Shape::Words(words) => json!({ "type": "array", "items": { "enum": words } }),
        Shape::Nothing => json!({ "type": ["object", "null"], "maxProperties": 0 }),
        Shape::Command => json!({
            "type": ["string", "array"],
            "minLength": 1,
            "minItems": 1,
            "items": { "type": "string" },
        }),
        Shape::Statuses => json!({
            "type": "array",
            "minItems": 1,
            "items": {
                "type": ["integer", "string"],
                "minimum": 100,
                "maximum": 599,
                "pattern": "^([1-5]xx|[1-5][0-9][0-9])$",
            },
        }),
        Shape::Headers => json!({
            "type": "object",
            "additionalProperties": { "anyOf": [{ "type": "string" }, table(&HEADER)] },
        }),
        Shape::Patterns => json!({
            "type": "object",
            "additionalProperties": { "type": "string", "format": "regex" },
        }),
    }
}
