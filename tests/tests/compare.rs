//! `rollscope compare`: two recordings side by side, and an exit code for the pipeline.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;

use rollscope_tests::{Finished, Workdir, golden_recording};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rollscope-under-test");

/// Compares two recordings of the real cluster; each lies in the folder of its run, as `rollscope run` leaves it.
fn compare(workdir: &Workdir, before: &str, after: &str) -> Finished {
    for case in [before, after] {
        let run = workdir.path().join(case);
        if !run.exists() {
            fs::create_dir(&run).unwrap();
            golden_recording(case, &run);
        }
    }
    workdir.rollscope(&["compare", before, after, "--out", "compared"])
}

/// The two cells of a row of the table.
fn cells(run: &Finished, row: &str) -> [String; 2] {
    let line = run.stdout.lines().find(|l| l.contains(row)).unwrap();
    let cells: Vec<_> = line.split('|').map(str::trim).collect();
    [cells[2].to_owned(), cells[3].to_owned()]
}

#[test]
fn a_run_with_more_failures_is_a_regression() {
    let workdir = Workdir::new(PROGRAM);
    let run = compare(&workdir, "a-graceful", "b-early-close");
    run.expect_exit(1);
    assert_eq!(
        cells(&run, "| verdict |"),
        ["Passed (exit 0)", "Gate failed (exit 1)"]
    );
    let [before, after] = cells(&run, "| failed |");
    assert_eq!(before, "0");
    assert_ne!(after, "0");
    assert!(cells(&run, "early&#95;close")[0] == "0");
    assert!(
        run.stdout
            .contains("the gate failed where it passed before")
    );
    for row in ["propagation lag", "margin to the deadline", "latency p99"] {
        cells(&run, row);
    }
    let page = fs::read_to_string(workdir.path().join("compared/comparison.html")).unwrap();
    assert!(page.contains("Two runs compared"));
    assert!(run.stderr.contains("compared/comparison.html"));
}

#[test]
fn a_run_without_the_failures_is_none() {
    let workdir = Workdir::new(PROGRAM);
    let run = compare(&workdir, "b-early-close", "a-graceful");
    run.expect_exit(0);
    assert!(run.stdout.ends_with("**No regression.**\n"));
    let same = compare(&workdir, "b-early-close", "b-early-close");
    same.expect_exit(0);
}

#[test]
fn a_run_that_proves_nothing_is_neither() {
    let workdir = Workdir::new(PROGRAM);
    compare(&workdir, "a-graceful", "a-graceful").expect_exit(0);
    let cut = workdir.path().join("cut/recording.rollscope");
    fs::create_dir_all(&cut).unwrap();
    for entry in fs::read_dir(workdir.path().join("a-graceful/recording.rollscope")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), cut.join(entry.file_name())).unwrap();
        }
    }
    let file = cut.join("run.json");
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    record["end"]["how"] = "interrupted".into();
    fs::write(&file, record.to_string()).unwrap();
    let run = compare(&workdir, "a-graceful", "cut");
    run.expect_exit(3);
    assert!(
        run.stdout
            .contains("**Not comparable:** the second run was interrupted.")
    );
}

#[test]
fn a_folder_without_a_recording_is_a_wrong_command_line() {
    let workdir = Workdir::new(PROGRAM);
    fs::create_dir(workdir.path().join("empty")).unwrap();
    let run = compare(&workdir, "a-graceful", "empty");
    run.expect_exit(2);
    assert!(run.stderr.contains("empty"));
}
