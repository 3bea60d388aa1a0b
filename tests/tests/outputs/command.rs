//! The command line of reports: formats, stdout, exit codes, GitHub.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use rollscope_tests::golden_recording;
use serde_json::Value;

use super::PROGRAM;

const ALL: &str = "html,json,junit,md,trace,svg,png,hlog,parquet";

fn rollscope(dir: &Path, args: &[&str], github: bool) -> Output {
    let mut command = Command::new(PROGRAM);
    command
        .args(args)
        .current_dir(dir)
        .env_remove("GITHUB_ACTIONS");
    if github {
        command.env("GITHUB_ACTIONS", "true");
    }
    command.output().unwrap()
}

/// The bytes of every file below a folder, by path.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let below = files(&path)
                .into_iter()
                .map(|(k, v)| (format!("{name}/{k}"), v));
            found.extend(below);
        } else {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_format_is_the_same_to_the_byte_each_time() {
    let dir = tempfile::tempdir().unwrap();
    golden_recording("b-early-close", dir.path());
    for (command, out, code) in [("report", "one", 0), ("analyze", "two", 1)] {
        let args = [
            command,
            "recording.rollscope",
            "--out",
            out,
            "--format",
            ALL,
        ];
        assert_eq!(
            rollscope(dir.path(), &args, false).status.code(),
            Some(code)
        );
    }
    let (one, two) = (
        files(&dir.path().join("one")),
        files(&dir.path().join("two")),
    );
    let names: Vec<_> = one.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "figures/latency.png",
            "figures/latency.svg",
            "figures/outcomes.png",
            "figures/outcomes.svg",
            "figures/propagation.png",
            "figures/propagation.svg",
            "figures/shutdown.png",
            "figures/shutdown.svg",
            "figures/timeline.png",
            "figures/timeline.svg",
            "junit.xml",
            "latency.hlog",
            "report.json",
            "requests.parquet",
            "summary.md",
            "timeline.html",
            "trace.json",
        ]
    );
    for (name, bytes) in &one {
        assert!(two[name] == *bytes, "{name} differs");
    }
}

#[test]
fn json_alone_is_on_stdout_and_the_rest_on_stderr() {
    let dir = tempfile::tempdir().unwrap();
    golden_recording("b-early-close", dir.path());
    for github in [false, true] {
        let args = ["analyze", "recording.rollscope", "--out", "out", "--json"];
        let run = rollscope(dir.path(), &args, github);
        assert_eq!(run.status.code(), Some(1));
        let report: Value = serde_json::from_slice(&run.stdout).unwrap();
        assert_eq!(report["schema"], "rollscope/report/v1");
        assert!(
            text(&run.stderr).contains("GATE FAILED"),
            "{}",
            text(&run.stderr)
        );
        assert_eq!(
            run.stdout,
            fs::read(dir.path().join("out/report.json")).unwrap()
        );
    }
}

#[test]
fn a_job_on_github_is_annotated_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    golden_recording("b-early-close", dir.path());
    let args = ["analyze", "recording.rollscope", "--out", "out"];
    let annotated = |run: &Output| {
        let commands = |bytes: &[u8]| text(bytes).lines().filter(|l| l.starts_with("::")).count();
        (commands(&run.stdout), commands(&run.stderr))
    };
    let on_github = rollscope(dir.path(), &args, true);
    assert!(annotated(&on_github).1 >= 2, "{}", text(&on_github.stderr));
    assert_eq!(annotated(&on_github).0, 0);
    assert!(text(&on_github.stderr).contains("::error title=Rollscope%3A Gate failed::"));
    assert_eq!(annotated(&rollscope(dir.path(), &args, false)), (0, 0));
}

#[test]
fn what_a_recording_says_commands_nothing_on_github() {
    let dir = tempfile::tempdir().unwrap();
    let recording = golden_recording("b-early-close", dir.path());
    let run = fs::read_to_string(recording.join("run.json")).unwrap();
    let mut run: Value = serde_json::from_str(&run).unwrap();
    run["name"] = "x\n::add-mask::y ##[error]z".into();
    fs::write(recording.join("run.json"), run.to_string()).unwrap();
    for args in [
        &["report", "recording.rollscope"][..],
        &["report", "recording.rollscope", "--json"],
    ] {
        let run = rollscope(dir.path(), args, true);
        let all = text(&run.stdout) + &text(&run.stderr);
        assert!(all.contains("add-mask"), "{all}");
        for line in all.lines() {
            assert!(
                !line.trim_start().starts_with("::") && !line.contains("##["),
                "{line}"
            );
        }
    }
}

#[test]
fn only_the_formats_that_were_asked_for_are_written() {
    let dir = tempfile::tempdir().unwrap();
    golden_recording("a-graceful", dir.path());
    let written = |args: &[&str]| {
        let out = dir.path().join("out");
        let _ = fs::remove_dir_all(&out);
        let mut all = vec!["report", "recording.rollscope", "--out", "out"];
        all.extend(args);
        assert_eq!(rollscope(dir.path(), &all, false).status.code(), Some(0));
        files(&out).into_keys().collect::<Vec<_>>()
    };
    assert_eq!(written(&[]), ["report.json", "timeline.html"]);
    assert_eq!(
        written(&["--format", "junit,md"]),
        ["junit.xml", "summary.md"]
    );
    let summary = fs::read_to_string(dir.path().join("out/summary.md")).unwrap();
    assert!(
        !summary.contains("!["),
        "no picture was written:\n{summary}"
    );
    assert_eq!(written(&["--format", "md,png"]).len(), 6);
    let summary = fs::read_to_string(dir.path().join("out/summary.md")).unwrap();
    assert!(summary.contains("](figures/timeline.png)"), "{summary}");
}

#[test]
fn a_wrong_command_line_is_told_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    golden_recording("a-graceful", dir.path());
    let says = |args: &[&str], words: &str| {
        let run = rollscope(dir.path(), args, false);
        assert_eq!(run.status.code(), Some(2), "{args:?}");
        assert!(text(&run.stderr).contains(words), "{}", text(&run.stderr));
        assert!(run.stdout.is_empty());
    };
    says(
        &["report", "recording.rollscope", "--format", "pdf"],
        "html, json, junit, md",
    );
    says(&["report"], "<RECORDING>");
    says(&["report", "streams"], "run.json");
    says(
        &["run", "x.yaml", "--record-only", "--json"],
        "--record-only",
    );
    assert!(!dir.path().join("report.json").exists());
}

#[test]
fn the_schema_of_reports_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    let run = rollscope(dir.path(), &["report", "--schema"], false);
    assert_eq!(run.status.code(), Some(0));
    assert_eq!(text(&run.stdout), rollscope_reports::REPORT_SCHEMA);
}

/// The address of a server that answers every request, for as long as the test lives.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut out = stream.try_clone().unwrap();
                let ends = BufReader::new(stream).lines().map_while(Result::ok);
                for _ in ends.filter(String::is_empty) {
                    if out
                        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
                        .is_err()
                    {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn a_run_writes_the_formats_and_keeps_stdout_for_its_report() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("http://{}/", server());
    let args = [
        "run",
        "--url",
        &url,
        "--rate",
        "50/s",
        "--exec",
        "echo deployed",
        "--warmup",
        "1s",
        "--settle",
        "1s",
        "--out",
        "out",
        "--json",
        "--format",
        "junit,md,svg",
    ];
    let run = rollscope(dir.path(), &args, false);
    let report: Value = serde_json::from_slice(&run.stdout).unwrap();
    // On a busy machine the rate may not be held, and the run is invalid.
    let code = report["verdict"]["exit_code"].as_i64();
    assert_eq!(
        run.status.code().map(i64::from),
        code,
        "{}",
        text(&run.stderr)
    );
    assert_eq!(report["requests"]["failed"], 0);
    let out = dir.path().join("out");
    for name in [
        "junit.xml",
        "summary.md",
        "figures/timeline.svg",
        "recording.rollscope/run.json",
    ] {
        assert!(out.join(name).exists(), "{name}");
    }
    assert!(!out.join("timeline.html").exists() && !out.join("report.json").exists());
}
