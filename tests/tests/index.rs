//! `rollscope index`: a folder of runs becomes one page.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;
use std::path::Path;

use rollscope_tests::{Finished, Workdir, golden_recording};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rollscope-under-test");

/// A run of the real cluster, analysed by the program into `runs/<name>`.
fn analysed(workdir: &Workdir, case: &str, name: &str) {
    let into = tempfile::tempdir().unwrap();
    let recording = golden_recording(case, into.path());
    let out = workdir.path().join("runs").join(name);
    let (recording, out) = (recording.to_str().unwrap(), out.to_str().unwrap());
    workdir.rollscope(&["analyze", recording, "--out", out]);
}

fn index(workdir: &Workdir) -> Finished {
    workdir.rollscope(&["index", "runs"])
}

fn page(workdir: &Workdir) -> String {
    fs::read_to_string(workdir.path().join("runs/index.html")).unwrap()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn every_run_of_the_folder_is_in_the_index_with_its_failures_and_its_timeline() {
    let workdir = Workdir::new(PROGRAM);
    analysed(&workdir, "a-graceful", "first");
    analysed(&workdir, "b-early-close", "nightly/second run");
    let run = index(&workdir);
    run.expect_exit(0);
    assert_eq!(run.stdout, "2 runs -> runs/index.html\n");
    let page = page(&workdir);
    assert!(page.contains("href=\"./first/timeline.html\""));
    assert!(page.contains("href=\"./nightly/second%20run/timeline.html\""));
    assert!(page.contains("early_close"));
    assert!(page.contains("1 passed, 1 did not."));
}

#[test]
fn a_report_that_cannot_be_read_is_left_out_with_a_note() {
    let workdir = Workdir::new(PROGRAM);
    analysed(&workdir, "a-graceful", "first");
    let runs = workdir.path().join("runs");
    write(&runs.join("broken/report.json"), "{");
    write(
        &runs.join("newer/report.json"),
        r#"{"schema":"rollscope/report/v9"}"#,
    );
    let run = index(&workdir);
    run.expect_exit(0);
    assert_eq!(run.stdout, "1 run -> runs/index.html\n");
    assert!(
        run.stderr.contains("left out runs/broken/report.json"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("rollscope/report/v9"), "{}", run.stderr);
}

#[test]
fn a_folder_without_a_run_is_a_wrong_command_line() {
    let workdir = Workdir::new(PROGRAM);
    fs::create_dir(workdir.path().join("runs")).unwrap();
    let run = index(&workdir);
    run.expect_exit(2);
    assert!(run.stderr.contains("no report.json"), "{}", run.stderr);
    assert!(!workdir.path().join("runs/index.html").exists());
    workdir.rollscope(&["index", "nowhere"]).expect_exit(2);
}
