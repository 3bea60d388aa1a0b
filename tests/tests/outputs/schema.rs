//! `report.json` against its published schema.

use std::collections::BTreeSet;

use rollscope_analyzer::{SCHEMA, analyze};
use rollscope_records::{
    GeneratorRecord, JobPlan, JobRecord, JourneyStep, JourneysRecord, Recording, RunOffset,
    WatchRecord,
};
use rollscope_reports::{REPORT_SCHEMA, report_json};
use rollscope_tests::{golden_cases, golden_recording, violations};
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::from_str(REPORT_SCHEMA).unwrap()
}

fn report(recording: &Recording) -> Value {
    serde_json::from_str(&report_json(&analyze(recording))).unwrap()
}

/// Journeys of which goose counted a step.
fn walked() -> JourneysRecord {
    let step = JourneyStep {
        name: "buyer/list".to_owned(),
        count: 1,
        ..JourneyStep::default()
    };
    JourneysRecord {
        users: 1,
        steps: vec![step],
        ..JourneysRecord::default()
    }
}

/// Jobs that the requests of one name submitted; the first of them was done twice.
fn submitted(recording: &Recording) -> Vec<JobRecord> {
    let first = recording.requests.iter().next().unwrap();
    let plan = JobPlan {
        submit: first.name.to_string(),
        key_prefix: "job-".to_owned(),
        source: "redis".to_owned(),
        log_pattern: None,
        complete_within_nanos: 1,
        max_repeats: 0,
        lease_nanos: None,
    };
    let event = |event: &str| JobRecord::Event {
        at: first.scheduled,
        line: format!(
            r#"{{"job":"{}","event":"{event}","pod":"w"}}"#,
            plan.key(first.seq)
        ),
    };
    let at = RunOffset::from_millis(3_600_000);
    let events = ["reserved", "done", "done"].map(event);
    let mut all = vec![JobRecord::Plan(plan.clone())];
    all.extend(events);
    all.push(JobRecord::Read { at });
    all
}

/// The recordings of a real cluster, and each cut down to what it is without its pods, and without its load.
fn reports() -> Vec<(String, Value)> {
    let mut reports = Vec::new();
    for case in golden_cases() {
        let dir = tempfile::tempdir().unwrap();
        let mut recording = Recording::open(&golden_recording(&case, dir.path())).unwrap();
        recording.generator = Some(GeneratorRecord {
            journeys: Some(walked()),
            ..GeneratorRecord::default()
        });
        recording.jobs = submitted(&recording);
        reports.push((case.clone(), report(&recording)));
        recording.jobs.clear();
        recording.requests.clear();
        recording.generator = None;
        reports.push((format!("{case} without load"), report(&recording)));
        let full = Recording::open(&dir.path().join("recording.rollscope")).unwrap();
        recording.requests = full.requests;
        recording.watch.retain(|w| matches!(w, WatchRecord::Gap(_)));
        reports.push((format!("{case} without pods"), report(&recording)));
    }
    reports
}

#[test]
fn every_report_is_as_the_schema_says_and_has_no_field_that_it_does_not_name() {
    for (name, report) in reports() {
        assert_eq!(
            violations(&schema(), &report),
            Vec::<String>::new(),
            "{name}"
        );
    }
}

/// Paths of the objects' fields that occur in a value.
fn fields(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (name, field) in map {
                let at = format!("{at}.{name}");
                fields(field, &at, found);
                found.insert(at);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(item, at, found)),
        _ => {}
    }
}

/// Paths of the fields that a schema names.
fn named(root: &Value, schema: &Value, at: &str, found: &mut BTreeSet<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        named(root, root.pointer(&reference[1..]).unwrap(), at, found);
    }
    for one in schema["anyOf"].as_array().into_iter().flatten() {
        named(root, one, at, found);
    }
    named_items(root, schema, at, found);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        named(root, field, &at, found);
        found.insert(at);
    }
}

fn named_items(root: &Value, schema: &Value, at: &str, found: &mut BTreeSet<String>) {
    if schema["items"].is_object() {
        named(root, &schema["items"], at, found);
    }
}

#[test]
fn every_field_that_the_schema_names_occurs() {
    let mut occurring = BTreeSet::new();
    for (_, report) in reports() {
        fields(&report, "$", &mut occurring);
    }
    let mut known = BTreeSet::new();
    named(&schema(), &schema(), "$", &mut known);
    // Runs of another kind have these; the tests of front ends and of `signal` hold them against the schema.
    let elsewhere = ["$.balancers.", "$.signal."];
    known.retain(|path| !elsewhere.iter().any(|e| path.starts_with(e)));
    // Nothing of these happened on that cluster.
    let rare = [
        "$.gaps.",
        "$.streams.",
        "$.pods.log_marks.",
        "$.pods.earlier_exits.",
        "$.findings.",
        "$.bursts.against.",
    ];
    let missing: Vec<_> = known.difference(&occurring).collect();
    let unexpected: Vec<_> = missing
        .iter()
        .filter(|path| !rare.iter().any(|r| path.starts_with(r)))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
    assert!(missing.len() < known.len() / 5, "{missing:?}");
}

#[test]
fn the_schema_is_of_the_version_that_reports_have() {
    assert_eq!(schema()["properties"]["schema"]["const"], SCHEMA);
}

#[test]
fn every_field_of_the_schema_is_described() {
    fn described(schema: &Value, at: &str) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let known = field["description"].is_string()
                || field.get("$ref").is_some()
                || field.get("anyOf").is_some();
            assert!(known, "{at}.{name} is not described");
            described(field, &format!("{at}.{name}"));
            described(&field["items"], &format!("{at}.{name}[]"));
        }
    }
    described(&schema(), "$");
    for definition in schema()["$defs"].as_object().unwrap().values() {
        assert!(definition["description"].is_string(), "{definition}");
    }
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let schema = schema();
    let (_, good) = reports().swap_remove(0);
    let wrong = |change: fn(&mut Value), expected: &str| {
        let mut report = good.clone();
        change(&mut report);
        let found = violations(&schema, &report).join("\n");
        assert!(found.contains(expected), "{expected:?} is not in {found:?}");
    };
    wrong(
        |r| r["requests"]["failed"] = json!(-1),
        "$.requests.failed: -1 is out of bounds",
    );
    wrong(
        |r| r["verdict"]["outcome"] = json!("ok"),
        "$.verdict.outcome",
    );
    wrong(
        |r| r["pods"][0]["signal_ms"] = json!([1.0]),
        "$.pods[0].signal_ms",
    );
    wrong(|r| r["new"] = json!(1), "the schema does not name new");
    wrong(
        |r| drop(r.as_object_mut().unwrap().remove("gaps")),
        "gaps is missing",
    );
    wrong(|r| r["schema"] = json!("rollscope/report/v2"), "$.schema");
}
