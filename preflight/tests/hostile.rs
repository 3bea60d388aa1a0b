//! Whatever stands in the files, the check ends with a report or with problems that have places, never with a panic.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod support;

use std::fmt::Write as _;

use proptest::prelude::*;
use rollscope_preflight::{Input, Source, check, json, sarif, text};

fn of(manifest: &str) -> Input {
    Input {
        manifests: vec![Source {
            name: "m.yaml".to_owned(),
            text: manifest.to_owned(),
        }],
        ..Input::default()
    }
}

fn told(input: &Input) -> String {
    match check(input) {
        Ok(report) => {
            serde_json::from_str::<serde_json::Value>(&json(&report)).unwrap();
            serde_json::from_str::<serde_json::Value>(&sarif(&report, "0")).unwrap();
            text(&report)
        }
        Err(bad) => {
            assert!(!bad.problems().is_empty());
            bad.to_string()
        }
    }
}

const WEB: &str = include_str!("rules/RS103/bad/manifest.yaml");
const DOCKERFILE: &str = include_str!("rules/RS101-dockerfile/bad/Dockerfile");
const PACKAGE: &str = include_str!("rules/RS104/bad/package.json");

#[test]
fn bad_input_says_where() {
    for (change, expected) in [
        (
            ("replicas: 3", "replicas: three"),
            "m.yaml:6:3: spec.replicas: found the text `three`, expected a whole number from 0 to 2147483647",
        ),
        (
            ("replicas: 3", "replicas: -1"),
            "m.yaml:6:3: spec.replicas: found the number `-1`, expected a whole number from 0 to 2147483647",
        ),
        (
            ("replicas: 3", "replicas: 99999999999999999999"),
            "m.yaml:6:3: spec.replicas: found the number `99999999999999999999`, expected a whole number from 0 to 2147483647",
        ),
        (
            ("replicas: 3", "replicas: 3\n  replicas: 4"),
            "m.yaml:7:3: found the key `replicas` a second time, expected each key once",
        ),
        (
            ("  replicas: 3", "\treplicas: 3"),
            "m.yaml:6:2: found a tab, expected spaces (YAML is not indented with tabs)",
        ),
        (
            ("maxSurge: 1", "maxSurge: many"),
            "m.yaml:10:7: spec.strategy.rollingUpdate.maxSurge: found the text `many`, expected a number of pods such as 1, or a share such as 25%",
        ),
        (
            ("kind: Deployment", "kind: ConfigMap"),
            "m.yaml: found no workload, expected a Deployment, StatefulSet, DaemonSet, Pod, Job, CronJob or Argo Rollout",
        ),
        (
            (
                "name: web\nspec",
                "name: web\n  annotations: { rollscope.dev/allow: 'RS103, RS999' }\nspec",
            ),
            "m.yaml:5:18: metadata.annotations[\"rollscope.dev/allow\"]: found the unknown rule `RS999`, expected ids of pre-flight rules such as `RS101`, separated by commas",
        ),
    ] {
        let changed = WEB.replacen(change.0, change.1, 1);
        assert_ne!(changed, WEB, "{change:?}");
        assert_eq!(check(&of(&changed)).unwrap_err().to_string(), expected);
    }
    let chart = told(&of("kind: Deployment\nspec: {{ .Values.spec }}\n: x"));
    assert!(chart.contains("helm template CHART"), "{chart}");
}

#[test]
fn anchors_are_written_out_within_bounds() {
    let merged = WEB.replace(
        "          env:",
        "          x-defaults: &d { periodSeconds: 1 }\n          env:",
    );
    let merged = merged.replace(
        "            periodSeconds: 1\n            failureThreshold: 2",
        "            <<: *d\n            failureThreshold: 2",
    );
    let report = check(&of(&merged)).unwrap();
    assert_eq!(report.findings.len(), 1);

    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for i in 1..12 {
        let names = vec![format!("*a{}", i - 1); 10].join(",");
        let _ = writeln!(bomb, "a{i}: &a{i} [{names}]");
    }
    assert!(told(&of(&bomb)).contains("more than a million values"));
    let mut chain = "a0: &a0 [x]\n".to_owned();
    for i in 1..400 {
        let _ = writeln!(chain, "a{i}: &a{i} [*a{}]", i - 1);
    }
    assert!(told(&of(&chain)).contains("nested too deeply"));
    assert!(told(&of("a: &a [*a]")).contains("found"));
}

#[test]
fn depth_and_width_end_in_a_message() {
    for hostile in [
        "[".repeat(100_000),
        "{a: ".repeat(5_000),
        "- ".repeat(5_000),
        "? ".repeat(5_000),
    ] {
        told(&of(&hostile));
    }
    let mut wide = String::new();
    for i in 0..50_000 {
        let _ = writeln!(wide, "k{i}: 1");
    }
    assert!(told(&of(&wide)).contains("expected the kind of the object"));
}

#[test]
fn what_a_manifest_says_commands_no_terminal() {
    let evil = WEB.replace(
        "NODE_ENV\n              value: \"development\"",
        "NODE_ENV\n              value: \"dev\"",
    );
    let evil = evil.replace(
        "[\"node\", \"server.js\"]",
        "[\"sh\", \"-c\", \"node \\e[2J; true\"]",
    );
    let told = told(&of(&evil));
    assert!(
        told.contains("RS101") && !told.contains('\u{1b}'),
        "{told:?}"
    );
}

#[test]
fn secrets_of_a_command_line_are_not_repeated() {
    let secret = WEB.replace(
        "[\"node\", \"server.js\"]",
        "[\"sh\", \"-c\", \"node x.js --password hunter2secret\"]",
    );
    let report = check(&of(&secret)).unwrap();
    for told in [text(&report), json(&report), sarif(&report, "0")] {
        assert!(
            told.contains("RS101") && !told.contains("hunter2secret"),
            "{told}"
        );
    }
}

fn change() -> impl Strategy<Value = (usize, usize, String)> {
    let yaml = prop_oneof![
        "[-:{}\\[\\],#&*!|>'\"%@`?~<\\t\\r\\n 0-9a-z.\u{feff}\u{85}\\\\]{0,6}",
        any::<String>(),
        Just("\n---\n".to_owned()),
        Just("&a".to_owned()),
        Just("*a".to_owned()),
        Just("<<: *a".to_owned()),
        Just("99999999999999999999999999999999".to_owned()),
        Just("100%".to_owned()),
    ];
    (0..1600_usize, 0..40_usize, yaml)
}

fn changed(text: &str, changes: &[(usize, usize, String)]) -> String {
    changes
        .iter()
        .fold(text.to_owned(), |text, (from, length, with)| {
            let chars: Vec<char> = text.chars().collect();
            let from = (*from).min(chars.len());
            let to = (from + length).min(chars.len());
            let part = |c: &[char]| c.iter().collect::<String>();
            part(&chars[..from]) + with + &part(&chars[to..])
        })
}

fn values() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[a-z0-9%:./ ;&|'$-]{0,12}".prop_map(Into::into),
        Just("25%".into()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Into::into),
            prop::collection::btree_map("name|seconds|exec|command|path|value|sleep", inner, 0..3)
                .prop_map(|m| serde_json::Value::Object(m.into_iter().collect())),
        ]
    })
}

/// Places of the manifest in which anything may stand.
const POINTERS: &[&str] = &[
    "/spec",
    "/spec/replicas",
    "/spec/strategy/rollingUpdate/maxSurge",
    "/spec/strategy",
    "/spec/template",
    "/spec/template/metadata/labels/app",
    "/spec/template/spec/containers",
    "/spec/template/spec/containers/0",
    "/spec/template/spec/containers/0/name",
    "/spec/template/spec/containers/0/command",
    "/spec/template/spec/containers/0/env",
    "/spec/template/spec/containers/0/env/0/value",
    "/spec/template/spec/containers/0/ports/0",
    "/spec/template/spec/containers/0/readinessProbe",
    "/spec/template/spec/containers/0/lifecycle/preStop",
    "/spec/template/spec/terminationGracePeriodSeconds",
    "/metadata",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_changed_text_never_panics(changes in prop::collection::vec(change(), 1..4)) {
        let mut input = of(&changed(WEB, &changes));
        told(&input);
        input.dockerfile = Some(Source { name: "Dockerfile".to_owned(), text: changed(DOCKERFILE, &changes) });
        input.package_json = Some(Source { name: "package.json".to_owned(), text: changed(PACKAGE, &changes) });
        told(&input);
    }

    #[test]
    fn a_value_of_another_type_never_panics(index in 0..POINTERS.len(), value in values()) {
        let document = WEB.split("\n---\n").next().unwrap();
        let mut object = support::yaml(document);
        if let Some(place) = object.pointer_mut(POINTERS[index]) {
            *place = value;
        }
        told(&of(&object.to_string()));
        let mut live = Input::default();
        live.objects.push(("deployment/web".to_owned(), object));
        told(&live);
    }

    #[test]
    fn any_command_line_has_a_fix_that_is_one(script in "[a-z ;&|'\"$(){}<>\\\\=\n-]{0,30}") {
        let command = format!("[\"sh\", \"-c\", {}]", serde_json::Value::from(script.as_str()));
        let input = of(&WEB.replace("[\"node\", \"server.js\"]", &command));
        if let Ok(report) = check(&input) {
            for finding in report.findings.iter().filter(|f| f.name == "shell-form-pid1") {
                let patched = finding.fix.patch.body.pointer("/spec/template/spec/containers/0/command").unwrap();
                let again = of(&WEB.replace("[\"node\", \"server.js\"]", &patched.to_string()));
                let again = check(&again).unwrap();
                prop_assert!(again.findings.iter().all(|f| f.name != "shell-form-pid1"), "{script:?} -> {patched}");
            }
        }
    }
}
