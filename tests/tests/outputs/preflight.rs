//! `rollscope preflight` as its readers see it: exit codes, JSON, SARIF, stdin, a cluster.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use rollscope_preflight::REPORT_SCHEMA;
use rollscope_tests::violations;
use serde_json::{Value, json};

use super::PROGRAM;

fn rules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join("preflight/tests/rules")
}

fn preflight(dir: &Path, args: &[&str]) -> Output {
    Command::new(PROGRAM)
        .arg("preflight")
        .args(args)
        .current_dir(dir)
        .env_remove("GITHUB_ACTIONS")
        .env("KUBECONFIG", "/dev/null")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_exit_code_follows_the_worst_finding_and_the_level() {
    let warning = rules().join("RS203/bad");
    for (folder, args, code) in [
        (&warning, vec!["manifest.yaml"], 1),
        (&warning, vec!["manifest.yaml", "--fail-on", "error"], 0),
        (&warning, vec!["manifest.yaml", "--allow", "RS203"], 0),
        (&warning, vec!["manifest.yaml", "--lag", "400ms"], 0),
        (&rules().join("RS202/bad"), vec!["manifest.yaml"], 0),
        (
            &rules().join("RS202/bad"),
            vec!["manifest.yaml", "--fail-on", "note"],
            1,
        ),
        (
            &rules().join("RS101/bad"),
            vec!["manifest.yaml", "--fail-on", "error"],
            1,
        ),
        (&rules().join("RS101/good"), vec!["manifest.yaml"], 0),
        (&warning, vec!["manifest.yaml", "--allow", "RS999"], 2),
        (&warning, vec!["missing.yaml"], 2),
        (&warning, vec!["deployment/web"], 2),
        (&warning, vec!["manifest.yaml", "--json", "--sarif", "-"], 2),
    ] {
        let output = preflight(folder, &args);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{args:?}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn bad_input_has_line_and_column_and_nothing_on_stdout() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("m.yaml"),
        "kind: Deployment\nspec:\n  replicas: [1\n",
    )
    .unwrap();
    let output = preflight(dir.path(), &["m.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("m.yaml:3:13: "),
        "{}",
        text(&output.stderr)
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn stdin_is_a_file_among_others() {
    let manifest = fs::read_to_string(rules().join("RS404/bad/manifest.yaml")).unwrap();
    let (first, rest) = manifest.split_once("\n---\n").unwrap();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("web.yaml"), first).unwrap();
    let mut child = Command::new(PROGRAM)
        .args(["preflight", "web.yaml", "-", "--json"])
        .current_dir(dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(rest.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(report["findings"][0]["rule"], "RS404");
    assert_eq!(report["findings"][0]["place"]["file"], "-");
}

#[test]
fn a_scenario_and_an_annotation_accept_findings() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = fs::read_to_string(rules().join("RS203/bad/manifest.yaml")).unwrap();
    fs::write(dir.path().join("m.yaml"), &manifest).unwrap();
    let scenario = "name: a\ntarget: { none: {} }\nload:\n  base_url: http://127.0.0.1:1\n  rate: 1/s\n  requests: [{ name: a, get: / }]\nstages:\n  - exec: 'true'\npreflight: { allow: [RS203] }\n";
    fs::write(dir.path().join("s.yaml"), scenario).unwrap();
    let output = preflight(dir.path(), &["m.yaml", "--scenario", "s.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("allowed by the scenario"),
        "{}",
        text(&output.stdout)
    );

    let annotated = manifest.replacen(
        "  name: web\n",
        "  name: web\n  annotations: { rollscope.dev/allow: RS203 }\n",
        1,
    );
    fs::write(dir.path().join("m.yaml"), annotated).unwrap();
    let output = preflight(dir.path(), &["m.yaml", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["findings"][0]["allowed_by"], "annotation");

    fs::write(dir.path().join("s.yaml"), scenario.replace("RS203", "RS23")).unwrap();
    let output = preflight(dir.path(), &["m.yaml", "--scenario", "s.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(
        error.contains("s.yaml:9:22: preflight.allow[0]: found the text `RS23`"),
        "{error}"
    );
}

/// JSON and SARIF of every bad case.
fn reports() -> Vec<(String, Value, Value)> {
    let mut reports = Vec::new();
    for entry in fs::read_dir(rules()).unwrap() {
        let folder = entry.unwrap().path().join("bad");
        let mut args = vec!["manifest.yaml", "--json", "--sarif", "/dev/stderr"];
        for (file, flag) in [
            ("Dockerfile", "--dockerfile"),
            ("package.json", "--package-json"),
        ] {
            if folder.join(file).exists() {
                args.extend([flag, file]);
            }
        }
        let output = preflight(&folder, &args);
        let json = serde_json::from_slice(&output.stdout).unwrap();
        let sarif = serde_json::from_slice(&output.stderr).unwrap();
        reports.push((folder.display().to_string(), json, sarif));
    }
    reports
}

/// The official schema of SARIF 2.1.0, from a published package that holds it.
fn sarif_schema() -> Value {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("sarif/Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--locked",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(manifest)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let package = packages.find(|p| p["name"] == "serde-sarif").unwrap();
    let folder = Path::new(package["manifest_path"].as_str().unwrap())
        .parent()
        .unwrap();
    let schema: Value =
        serde_json::from_slice(&fs::read(folder.join("src/schema.json")).unwrap()).unwrap();
    assert!(
        schema["title"]
            .as_str()
            .unwrap()
            .contains("SARIF) Version 2.1.0")
    );
    schema
}

#[test]
fn every_report_is_as_its_schema_and_that_of_sarif_say() {
    let (own, official) = (
        serde_json::from_str::<Value>(REPORT_SCHEMA).unwrap(),
        sarif_schema(),
    );
    for (case, json, sarif) in reports() {
        assert_eq!(violations(&own, &json), Vec::<String>::new(), "{case}");
        assert_eq!(
            violations(&official, &sarif),
            Vec::<String>::new(),
            "{case}"
        );
        let result = &sarif["runs"][0]["results"][0];
        assert_eq!(result["ruleId"], json["findings"][0]["rule"], "{case}");
        let rules = sarif["runs"][0]["tool"]["driver"]["rules"]
            .as_array()
            .unwrap();
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"], "{case}");
        let region = &result["locations"][0]["physicalLocation"]["region"];
        assert_eq!(
            region["startLine"], json["findings"][0]["place"]["line"],
            "{case}"
        );
    }
    let broken = json!({ "version": "2.1.0", "runs": [{ "tool": {} }] });
    assert!(!violations(&official, &broken).is_empty());
}

#[test]
fn the_schema_is_printed() {
    let output = preflight(Path::new("."), &["--schema"]);
    assert_eq!(text(&output.stdout), REPORT_SCHEMA);
}

/// An API server with the objects of a manifest, which keeps what it was asked.
fn api_server(objects: Vec<Value>) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            while lines.next().is_some_and(|l| !l.unwrap().is_empty()) {}
            let path = first
                .split(' ')
                .nth(1)
                .unwrap()
                .split('?')
                .next()
                .unwrap()
                .to_owned();
            log.lock().unwrap().push(first);
            let of = |kind: &str| {
                objects
                    .iter()
                    .filter(|o| o["kind"] == kind)
                    .cloned()
                    .collect::<Vec<_>>()
            };
            // The items of a list do not say their kind.
            let list = |kind: &str| {
                let items = of(kind).into_iter().map(|mut o| {
                    o.as_object_mut().unwrap().remove("kind");
                    o
                });
                (
                    200,
                    json!({ "kind": format!("{kind}List"), "items": items.collect::<Vec<_>>() }),
                )
            };
            let (status, body) = match path.rsplit_once("/namespaces/shop/").map(|(_, rest)| rest) {
                Some("deployments/web") => (200, of("Deployment").remove(0)),
                Some("services") => list("Service"),
                Some("poddisruptionbudgets") => list("PodDisruptionBudget"),
                Some("ingresses") => (
                    403,
                    json!({ "kind": "Status", "reason": "Forbidden", "message": "no" }),
                ),
                _ => (
                    404,
                    json!({ "kind": "Status", "reason": "NotFound", "message": "not here" }),
                ),
            };
            let body = body.to_string();
            let head = format!(
                "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all((head + &body).as_bytes()).unwrap();
        }
    });
    (port, asked)
}

fn kubeconfig(dir: &Path, port: u16) {
    let config = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: other\nclusters:\n- name: c\n  cluster: {{ server: 'http://127.0.0.1:{port}' }}\ncontexts:\n- name: staging\n  context: {{ cluster: c, user: u, namespace: shop }}\n- name: other\n  context: {{ cluster: c, user: u }}\nusers:\n- name: u\n  user: {{}}\n"
    );
    fs::write(dir.join("config"), config).unwrap();
}

#[test]
fn a_live_workload_is_read_with_what_goes_with_it_and_nothing_is_written() {
    let manifest = fs::read_to_string(rules().join("RS404/bad/manifest.yaml")).unwrap();
    let objects = manifest
        .split("\n---\n")
        .map(|d| serde_saphyr::from_str(d).unwrap());
    let (port, asked) = api_server(objects.collect());
    let dir = tempfile::tempdir().unwrap();
    kubeconfig(dir.path(), port);
    let args = [
        "deployment/web",
        "--kubeconfig",
        "config",
        "--context",
        "staging",
        "--json",
    ];
    let output = preflight(dir.path(), &args);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        violations(&serde_json::from_str(REPORT_SCHEMA).unwrap(), &report),
        Vec::<String>::new()
    );
    let found: Vec<&Value> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| &f["rule"])
        .collect();
    assert_eq!(found, ["RS404"]);
    assert_eq!(report["findings"][0]["place"]["line"], Value::Null);
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("ingresses") && notes.contains("horizontalpodautoscalers"),
        "{notes}"
    );
    let asked = asked.lock().unwrap();
    assert!(
        asked.iter().all(|line| line.starts_with("GET ")),
        "{asked:?}"
    );
    assert!(
        asked[0].starts_with("GET /apis/apps/v1/namespaces/shop/deployments/web"),
        "{asked:?}"
    );

    let missing = preflight(
        dir.path(),
        &["deployment/none", "--kubeconfig", "config", "-n", "shop"],
    );
    assert_eq!(missing.status.code(), Some(4));
    let unknown = preflight(
        dir.path(),
        &[
            "deployment/web",
            "--kubeconfig",
            "config",
            "--context",
            "nowhere",
        ],
    );
    assert_eq!(unknown.status.code(), Some(2), "{}", text(&unknown.stderr));
}

#[test]
fn a_cluster_that_does_not_answer_is_the_environment() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let dir = tempfile::tempdir().unwrap();
    kubeconfig(dir.path(), port);
    let output = preflight(dir.path(), &["sts/web", "--kubeconfig", "config"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
}
