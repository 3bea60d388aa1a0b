//! Bad input gets a clear error and loses nothing.

use std::net::TcpListener;
use std::process::Command;

use rollscope_tests::{Finished, Workdir};

use super::PROGRAM;

const SHORT: [(&str, &str); 3] = [
    ("warmup: 4s", "warmup: 1s"),
    ("settle: 3s", "settle: 1s"),
    ("complete_within: 1m", "complete_within: 20s"),
];

fn says(run: &Finished, words: &[&str]) {
    for word in words {
        assert!(
            run.stderr.contains(word),
            "{word:?} is not in:\n{}",
            run.stderr
        );
    }
}

/// A run of `graceful-l4` on a manifest with changes made in it.
fn with_manifest(workdir: &Workdir, changes: &[(&str, &str)]) -> Finished {
    let path = workdir.path().join("scenarios/manifests/graceful.yaml");
    let mut text = std::fs::read_to_string(path).unwrap();
    for (from, to) in changes {
        assert!(
            text.contains(from),
            "{from:?} is not in the manifest:\n{text}"
        );
        text = text.replace(from, to);
    }
    workdir.write("scenarios/manifests/changed.yaml", &text);
    let changed = [("manifests/graceful.yaml", "manifests/changed.yaml")];
    workdir.variant("graceful-l4", "changed", &[&SHORT[..], &changed].concat());
    workdir.run("scenarios/changed.yaml")
}

#[test]
fn all_problems_of_a_scenario_are_told_at_once_with_their_lines() {
    let workdir = Workdir::new(PROGRAM);
    let scenario = "name: x\ntarget: { none: {} }\nload:\n  base_url: http://127.0.0.1:1\n  rate: 200\n  reqests:\n    - { name: a, get: / }\nstages:\n  - warmup: 10\n";
    workdir.write("bad.yaml", scenario);
    for args in [&["run", "bad.yaml"][..], &["scenario", "check", "bad.yaml"]] {
        let run = workdir.rollscope(args);
        run.expect_exit(2);
        says(
            &run,
            &[
                "bad.yaml:5:",
                "200/s",
                "bad.yaml:6:",
                "requests",
                "bad.yaml:9:",
                "10s",
            ],
        );
    }
    assert!(
        !workdir.path().join("rollscope-runs").exists(),
        "nothing was begun"
    );
}

#[test]
fn broken_yaml_is_told_with_its_place() {
    let workdir = Workdir::new(PROGRAM);
    workdir.write("broken.yaml", "name: x\ntarget: { none: {}\nload: [\n");
    let run = workdir.rollscope(&["run", "broken.yaml"]);
    run.expect_exit(2);
    says(&run, &["broken.yaml:"]);
}

#[test]
fn a_manifest_without_a_deployment_is_told() {
    let workdir = Workdir::new(PROGRAM);
    let run = with_manifest(&workdir, &[("kind: Deployment", "kind: ConfigMap")]);
    run.expect_exit(2);
    says(&run, &["changed.yaml", "Deployment"]);
}

#[test]
fn a_command_that_does_not_exist_is_told() {
    let workdir = Workdir::new(PROGRAM);
    let change = [(r#"["rollscope", "subject"]"#, r#"["no-such-program"]"#)];
    let run = with_manifest(&workdir, &change);
    run.expect_exit(4);
    says(&run, &["no-such-program"]);
}

#[test]
fn a_port_in_use_is_told_with_the_last_log_lines() {
    let occupied = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = occupied.local_addr().unwrap().port().to_string();
    let workdir = Workdir::new(PROGRAM);
    let env = format!(
        "            - name: PORT\n              value: \"{port}\"\n            - name: SUBJECT\n"
    );
    let run = with_manifest(&workdir, &[("            - name: SUBJECT\n", &env)]);
    run.expect_exit(4);
    says(&run, &["in use"]);
}

#[test]
fn a_subject_that_never_gets_ready_is_told_with_its_last_log_lines() {
    let workdir = Workdir::new(PROGRAM);
    let change = [(
        r#"["rollscope", "subject"]"#,
        r#"["sh", "-c", "echo waiting for the moon; sleep 1000"]"#,
    )];
    let run = with_manifest(&workdir, &change);
    run.expect_exit(4);
    says(&run, &["waiting for the moon", "eady"]);
}

#[test]
fn a_full_disk_is_told_and_what_was_recorded_stays_readable() {
    let workdir = Workdir::new(PROGRAM);
    workdir.variant("graceful-l4", "changed", &SHORT);
    std::fs::create_dir(workdir.path().join("small")).unwrap();
    // A file system of its own, in a mount namespace of its own, that is full after a few seconds.
    let script = format!(
        "mount -t tmpfs -o size=600k none small && {PROGRAM} run scenarios/changed.yaml --out small/out; \
         code=$?; cp -r small/out out; exit $code"
    );
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .current_dir(workdir.path())
        .output()
        .unwrap();
    let run = workdir.finished(output);
    run.expect_exit(4);
    says(&run, &["No space left on device", "recording"]);
    assert!(!run.recording().requests.is_empty());
}

#[test]
fn an_output_folder_with_a_recording_is_not_overwritten() {
    let workdir = Workdir::new(PROGRAM);
    workdir.write("out/recording.rollscope/run.json", "{}");
    let run = workdir.run("scenarios/graceful.yaml");
    run.expect_exit(2);
    says(&run, &["exists already"]);
}

#[test]
fn what_is_not_a_recording_is_told() {
    let workdir = Workdir::new(PROGRAM);
    let run = workdir.rollscope(&["analyze", "scenarios"]);
    run.expect_exit(2);
    says(&run, &["not a recording"]);
}

#[test]
fn hooks_run_also_when_the_scenario_is_given_by_a_relative_path() {
    let workdir = Workdir::new(PROGRAM);
    let hook = "          lifecycle:\n            preStop:\n              exec: { command: [sh, -c, \"test -f changed.yaml\"] }\n          ports:\n";
    let run = with_manifest(&workdir, &[("          ports:\n", hook)]);
    run.expect_exit(0);
    let failed_hook = run.recording().watch.iter().any(|w| {
        matches!(w, rollscope_records::WatchRecord::Event { object, .. } if object["reason"] == "FailedPreStopHook")
    });
    assert!(!failed_hook, "the hook did not find its folder");
}
