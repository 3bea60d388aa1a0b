//! Who may depend on whom is part of the design; the manifests are held against it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn direct_dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root)
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let normal = |package: &Value| -> BTreeSet<String> {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        dependencies
            .filter(|d| d["kind"].is_null())
            .map(|d| d["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|p| (p["name"].as_str().unwrap().to_owned(), normal(p)))
        .collect()
}

#[test]
fn crates_depend_only_on_what_the_design_allows() {
    let allowed: &[(&str, &[&str])] = &[
        ("records", &[]),
        ("accesslogs", &["records"]),
        ("scenarios", &["records"]),
        ("loadgen", &["records", "scenarios"]),
        ("collector", &["records", "scenarios"]),
        ("sandbox", &["records", "scenarios"]),
        ("analyzer", &["accesslogs", "records"]),
        ("reports", &["analyzer", "records"]),
        ("preflight", &["records", "scenarios"]),
        ("imports", &["accesslogs", "collector", "records"]),
    ];
    let dependencies = direct_dependencies();
    for (folder, may) in allowed {
        let own = &dependencies[&format!("rollscope-{folder}")];
        let ours = own.iter().filter_map(|d| d.strip_prefix("rollscope-"));
        let beyond: Vec<_> = ours.filter(|d| !may.contains(d)).collect();
        assert_eq!(
            beyond,
            Vec::<&str>::new(),
            "{folder} may not depend on these"
        );
    }
}

#[test]
fn only_the_edges_know_their_libraries() {
    let owners: &[(&str, &[&str])] = &[
        ("kube", &["collector"]),
        ("k8s-openapi", &["collector", "sandbox"]),
        ("polars", &["records"]),
        ("polars-arrow", &["records"]),
        ("hyper", &["loadgen", "sandbox", "scenarios", "collector"]),
        (
            "tokio",
            &["loadgen", "collector", "sandbox", "scenarios", "cli"],
        ),
        ("goose", &["loadgen"]),
        ("reqwest", &["loadgen"]),
        (
            "serde-saphyr",
            &["scenarios", "sandbox", "preflight", "tests"],
        ),
        ("clap", &["cli", "tests"]),
        ("plotters", &["reports"]),
        ("quick-junit", &["reports"]),
    ];
    let dependencies = direct_dependencies();
    for (library, may) in owners {
        for (package, own) in &dependencies {
            let folder = package.strip_prefix("rollscope-").unwrap();
            let knows = own.contains(*library);
            assert!(
                !knows || may.contains(&folder),
                "{folder} may not depend on {library}"
            );
        }
    }
}
