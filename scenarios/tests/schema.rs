//! The JSON Schema agrees with the checker.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::{Path, PathBuf};

use regex::Regex;
use rollscope_scenarios::{parse, schema};
use serde_json::Value;

fn yaml_files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .collect();
    files.sort();
    files
}

/// The part of JSON Schema that the schema uses.
fn validate(schema: &Value, value: &Value) -> bool {
    schema
        .as_object()
        .unwrap()
        .iter()
        .all(|(keyword, rule)| match keyword.as_str() {
            "type" => match rule {
                Value::Array(types) => types.iter().any(|t| is_a(t, value)),
                one => is_a(one, value),
            },
            "enum" => rule.as_array().unwrap().contains(value),
            "properties" => value.as_object().is_none_or(|fields| {
                fields
                    .iter()
                    .all(|(k, v)| rule.get(k).is_none_or(|s| validate(s, v)))
            }),
            "required" => value.as_object().is_none_or(|fields| {
                rule.as_array()
                    .unwrap()
                    .iter()
                    .all(|k| fields.contains_key(k.as_str().unwrap()))
            }),
            "additionalProperties" => value.as_object().is_none_or(|fields| {
                let known = |k: &String| schema["properties"].get(k).is_some();
                fields
                    .iter()
                    .filter(|(k, _)| !known(k))
                    .all(|(_, v)| rule.as_bool().unwrap_or_else(|| validate(rule, v)))
            }),
            "maxProperties" => value
                .as_object()
                .is_none_or(|f| f.len() as u64 <= rule.as_u64().unwrap()),
            "oneOf" => {
                rule.as_array()
                    .unwrap()
                    .iter()
                    .filter(|s| validate(s, value))
                    .count()
                    == 1
            }
            "anyOf" => rule.as_array().unwrap().iter().any(|s| validate(s, value)),
            "items" => value
                .as_array()
                .is_none_or(|items| items.iter().all(|i| validate(rule, i))),
            "minItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
            "minLength" => value
                .as_str()
                .is_none_or(|t| t.chars().count() as u64 >= rule.as_u64().unwrap()),
            "minimum" => value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap()),
            "pattern" => value
                .as_str()
                .is_none_or(|t| Regex::new(rule.as_str().unwrap()).unwrap().is_match(t)),
            "$schema" | "title" | "description" | "default" | "format" => true,
            other => panic!("the keyword {other} is not validated"),
        })
}

fn is_a(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the type {other} is not validated"),
    }
}

#[test]
fn the_committed_schema_is_the_generated_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenario.schema.json");
    let generated = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(
        committed == generated,
        "run this test with UPDATE_EXPECTED=1"
    );
}

#[test]
fn every_shipped_scenario_is_valid_by_the_schema() {
    let schema = schema();
    for file in yaml_files(".") {
        let text = std::fs::read_to_string(&file).unwrap();
        let value: Value = serde_saphyr::from_str(&text).unwrap();
        assert!(validate(&schema, &value), "{}", file.display());
    }
}

/// Bad files that a schema has nothing against: what must fit between parts, on disk, or inside a value.
const BEYOND_A_SCHEMA: &[&str] = &[
    "abort_after_zero",
    "balancer_names_twice",
    "body_from_a_missing_file",
    "complete_within_beside_warmup",
    "complete_within_zero",
    "duration_too_long",
    "exec_blank",
    "expect_body_equals_alone",
    "expect_body_of_nothing",
    "fewer_users_than_journeys",
    "jobs_of_an_unknown_request",
    "journeys_without_users",
    "manifest_does_not_exist",
    "manifest_is_a_directory",
    "mark_that_does_not_compile",
    "no_rollout",
    "none_without_base_url",
    "rate_of_zero",
    "rate_steps_without_an_end",
    "rate_too_high",
    "request_names_twice",
    "restart_with_target_none",
    "sandbox_with_base_url",
    "settle_before_the_rollout",
    "tags",
    "template_placeholder",
    "tls_for_plain_http",
    "users_without_journeys",
];

#[test]
fn the_schema_refuses_every_bad_file_that_a_schema_can_refuse() {
    let schema = schema();
    let mut accepted = Vec::new();
    for file in yaml_files("tests/bad") {
        let text = std::fs::read_to_string(&file).unwrap();
        if serde_saphyr::from_str(&text).is_ok_and(|value: Value| validate(&schema, &value)) {
            accepted.push(file.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    assert_eq!(accepted, BEYOND_A_SCHEMA);
}

#[test]
fn a_key_that_only_the_schema_knows_is_refused_by_the_checker_and_the_reverse() {
    // Every property of the schema, put at the place where it belongs, is no unknown key for the checker.
    fn walk(schema: &Value, found: &mut Vec<String>) {
        if let Some(properties) = schema["properties"].as_object() {
            for (key, inner) in properties {
                found.push(key.clone());
                walk(inner, found);
            }
        }
        if schema["items"].is_object() {
            walk(&schema["items"], found);
        }
        for one in schema["anyOf"].as_array().into_iter().flatten() {
            walk(one, found);
        }
    }
    let mut keys = Vec::new();
    walk(&schema(), &mut keys);
    assert!(keys.len() > 40, "{keys:?}");
    let text = "name: a\ntarget:\n  sandbox: { manifest: 1, front_end: 1, endpoint_lag: 1, seed: a, retries: a, health_check: { period: 1, unhealthy_after: a, healthy_after: a } }\n  kubernetes: { allow_contexts: 1, namespace: 1, workload: 1, services: 1 }\n  none: 1\nload:\n  base_url: 1\n  rate: { steps: [{ rate: 1, for: 1 }], ramp: { from: 1, to: 1, over: 1 } }\n  arrivals: 1\n  seed: a\n  pacing: { precision: 1, tolerance: 1, catch_up: a, threads: a }\n  limits: { in_time: 1, min_in_time: a, max_dropped: a }\n  max_in_flight: a\n  deadline: 1\n  abort_after: 1\n  pod_header: 1\n  pool: { size: a, max_age: 1, max_requests: a, max_idle: 1 }\n  resolve: 1\n  tls: { ca: 1, client_cert: 1, client_key: 1, server_name: 1, insecure: 1 }\n  requests:\n    - { name: 1, get: 1, post: 1, put: 1, patch: 1, delete: 1, head: 1, options: 1, weight: a, connections: 1, expect: 1, expect_body: { contains: 1, json_pointer: 1, equals: [] }, headers: { a: { env: 1, file: 1 } }, body: { inline: 1, file: 1, template: 1 }, deadline: 1, abort_after: 1 }\n  streams:\n    - { name: 1, sse: 1, chunked: 1, websocket: 1, count: a, cadence: 1, max_silence: 1, retry: 1, expect: 1, headers: 1, deadline: 1 }\n  users: a\n  journeys:\n    - { name: 1, weight: a, think: 1, steps: [{ name: 1, request: 1, get: 1, post: 1, put: 1, patch: 1, delete: 1, head: 1, expect: 1, expect_body: { contains: 1 }, headers: { a: { env: 1 } }, body: { inline: 1 }, deadline: 1, abort_after: 1 }] }\nstages:\n  - { warmup: 1, restart: 1, exec: 1, settle: 1, complete_within: 1 }\njobs: { submit: 1, rate: 1, key_header: 1, redis: { url: 1, list: 1 }, http: { url: 1, headers: { a: { env: 1, file: 1 } }, list: 1, job: 1, event: 1, pod: 1, t: 1 }, postgresql: { url: 1, password: { env: 1, file: 1 }, ca: 1, query: [] }, logs: 1, lease: 1, poll: 1, complete_within: 1, max_repeats: a }\nbalancers:\n  - { name: 1, file: 1, format: 1 }\ngate: { max_failed: a, assertions: 1 }\nlogs: { marks: 1 }\npreflight: { allow: 1, lag: 1, delay: 1, drain: 1, balancer_idle: 1 }\n";
    let errors = parse(text, "x", Path::new("/")).unwrap_err();
    for key in keys {
        assert!(
            text.contains(&format!("{key}:")),
            "{key} is in the schema, not in this test"
        );
    }
    for problem in errors.problems() {
        assert!(!problem.found.contains("unknown key"), "{problem}");
    }
}
