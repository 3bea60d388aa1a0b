//! The shipped manifests: each has the findings that its subject is there to show, and no other.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::{Path, PathBuf};

use rollscope_preflight::{Input, Settings, Source, check};
use rollscope_scenarios::Scenario;

/// What can be seen of each before it runs. What a program does with the signal cannot: `unforwarded-signal` shows only
/// that nothing waits, and the short grace of the two that are killed only that it has no margin.
const SHIPPED: &[(&str, &[&str])] = &[
    ("early-close", &["RS201"]),
    ("graceful", &[]),
    ("keepalive-hang", &["RS204"]),
    ("shell-wrapped", &["RS101"]),
    ("sigkill-overrun", &["RS204"]),
    ("unforwarded-signal", &["RS201"]),
];

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join("scenarios")
}

fn found(name: &str, settings: Settings) -> Vec<&'static str> {
    let file = scenarios()
        .join("manifests")
        .join(name)
        .with_extension("yaml");
    let manifest = Source {
        name: name.to_owned(),
        text: std::fs::read_to_string(file).unwrap(),
    };
    let input = Input {
        manifests: vec![manifest],
        settings,
        ..Input::default()
    };
    check(&input)
        .unwrap()
        .findings
        .iter()
        .map(|f| f.rule.code())
        .collect()
}

#[test]
fn each_shipped_manifest_shows_what_its_subject_is_there_for() {
    for (name, expected) in SHIPPED {
        assert_eq!(found(name, Settings::default()), *expected, "{name}");
        let scenario = Scenario::load(&scenarios().join(format!("{name}.yaml"))).unwrap();
        assert_eq!(
            found(name, Settings::of(&scenario)),
            *expected,
            "{name} with its scenario"
        );
    }
}

#[test]
fn every_other_shipped_manifest_can_be_read() {
    for entry in std::fs::read_dir(scenarios().join("manifests")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "yaml") {
            found(
                path.file_stem().unwrap().to_str().unwrap(),
                Settings::default(),
            );
        }
    }
}
