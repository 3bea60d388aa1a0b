//! What the tests share: reading a case, and applying patches as their readers do.
#![allow(dead_code, reason = "not every test needs everything")]

use std::path::Path;
use std::process::Command;

use rollscope_preflight::{Input, Source};
use serde_json::Value;

/// The files of a folder as an input.
pub(crate) fn input(folder: &Path) -> Input {
    let source = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).ok()?;
        Some(Source {
            name: name.to_owned(),
            text,
        })
    };
    Input {
        manifests: source("manifest.yaml").into_iter().collect(),
        dockerfile: source("Dockerfile"),
        package_json: source("package.json"),
        ..Input::default()
    }
}

/// A document as JSON, by a reader of its own.
pub(crate) fn yaml(document: &str) -> Value {
    serde_saphyr::from_str(document).unwrap()
}

/// The document with a strategic merge patch, as kubectl applies it. Without kubectl it cannot be known.
pub(crate) fn kubectl_patched(document: &str, patch: &Value) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("object.yaml");
    std::fs::write(&file, document).unwrap();
    let output = Command::new("kubectl")
        .args([
            "patch",
            "--local",
            "--type",
            "strategic",
            "--output",
            "json",
            "--patch",
        ])
        .arg(patch.to_string())
        .arg("--filename")
        .arg(&file)
        .env("KUBECONFIG", "/dev/null")
        .output()
        .expect("kubectl is needed");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}\n{patch}\n{document}");
    String::from_utf8(output.stdout).unwrap()
}

/// The value with a JSON patch of `add`, `remove` and `replace` (RFC 6902), each of which must fit.
pub(crate) fn json_patched(value: &Value, patch: &Value) -> Value {
    let mut value = value.clone();
    for operation in patch.as_array().unwrap() {
        let path = operation["path"].as_str().unwrap();
        let (parent, last) = path.rsplit_once('/').unwrap();
        let last = last.replace("~1", "/").replace("~0", "~");
        let parent = value.pointer_mut(parent).unwrap();
        match (operation["op"].as_str().unwrap(), parent) {
            ("remove", Value::Object(map)) => drop(map.remove(&last).unwrap()),
            ("remove", Value::Array(items)) => drop(items.remove(last.parse().unwrap())),
            ("add", Value::Object(map)) => drop(map.insert(last, operation["value"].clone())),
            ("add", Value::Array(items)) => {
                assert_eq!(last, "-");
                items.push(operation["value"].clone());
            }
            ("replace", Value::Object(map)) => {
                *map.get_mut(&last).unwrap() = operation["value"].clone()
            }
            ("replace", Value::Array(items)) => {
                items[last.parse::<usize>().unwrap()] = operation["value"].clone()
            }
            other => panic!("{other:?}"),
        }
    }
    value
}
