//! The ready-made pipeline files: they parse, and the step's exit code is what it should be.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn pipelines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .join("pipelines")
}

fn yaml(name: &str) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(pipelines().join(name)).unwrap()).unwrap()
}

/// A folder with a stand-in for the program that writes a timeline and what it was called with, and exits with `code`.
fn folder(code: i32) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("rollscope");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >called\nout=$4\nmkdir -p \"$out\"\necho page >\"$out/timeline.html\"\n\
         echo '# ok' >\"$out/summary.md\"\necho '![x](y.png)' >>\"$out/summary.md\"\nexit {code}\n"
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

fn step(dir: &Path, args: &[&str], env: &[(&str, &str)]) -> Output {
    Command::new(pipelines().join("shell/rollscope-step.sh"))
        .args(args)
        .current_dir(dir)
        .env("ROLLSCOPE", "./rollscope")
        .envs(env.iter().copied())
        .output()
        .unwrap()
}

fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap()
}

#[test]
fn the_shell_step_ends_with_the_programs_exit_code() {
    for (code, result) in [
        (0, "passed"),
        (1, "gate_failed"),
        (2, "usage"),
        (3, "invalid"),
        (4, "environment_failed"),
        (130, "interrupted"),
    ] {
        let dir = folder(code);
        let run = step(dir.path(), &["a scenario.yaml"], &[]);
        assert_eq!(run.status.code(), Some(code));
        let written = read(dir.path(), "rollscope-report/result.env");
        assert_eq!(
            written,
            format!("ROLLSCOPE_EXIT_CODE={code}\nROLLSCOPE_RESULT={result}\n")
        );
        let said = String::from_utf8(run.stdout).unwrap();
        assert_eq!(said.contains("proves nothing"), code == 3, "{said}");
    }
}

#[test]
fn the_shell_step_passes_scenario_folder_formats_and_arguments_on() {
    let dir = folder(0);
    step(
        dir.path(),
        &["s.yaml", "--json"],
        &[("ROLLSCOPE_FORMATS", "html"), ("ROLLSCOPE_OUT", "o")],
    );
    assert_eq!(
        read(dir.path(), "called"),
        "run s.yaml --out o --format html --json\n"
    );
}

#[test]
fn a_run_that_proves_nothing_can_be_let_through_and_a_failed_gate_not() {
    for (code, ends) in [(3, 0), (1, 1)] {
        let dir = folder(code);
        let run = step(dir.path(), &["s.yaml"], &[("ROLLSCOPE_INVALID", "warn")]);
        assert_eq!(run.status.code(), Some(ends));
    }
    let dir = folder(0);
    let run = step(dir.path(), &["s.yaml"], &[("ROLLSCOPE_INVALID", "ignore")]);
    assert_eq!(run.status.code(), Some(2));
    assert!(!dir.path().join("called").exists(), "nothing was run");
}

#[test]
fn the_timeline_is_uploaded_also_when_the_gate_fails_and_a_failed_upload_changes_nothing() {
    let dir = folder(1);
    let upload = [("ROLLSCOPE_UPLOAD", "cp -t .")];
    assert_eq!(
        step(dir.path(), &["s.yaml"], &upload).status.code(),
        Some(1)
    );
    assert_eq!(read(dir.path(), "timeline.html"), "page\n");
    let dir = folder(0);
    let run = step(dir.path(), &["s.yaml"], &[("ROLLSCOPE_UPLOAD", "false")]);
    assert_eq!(run.status.code(), Some(0));
    assert!(
        String::from_utf8(run.stderr)
            .unwrap()
            .contains("could not be uploaded")
    );
}

/// Runs a script of a pipeline file with `bash -e`, as the runner does.
fn bash(dir: &Path, script: &str, env: &[(&str, &str)]) -> Output {
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]);
    command
        .current_dir(dir)
        .envs(env.iter().copied())
        .output()
        .unwrap()
}

#[test]
fn the_github_action_keeps_the_timeline_and_then_fails_with_the_exit_code() {
    let action = yaml("github/action.yml");
    assert_eq!(action["runs"]["using"], "composite");
    let steps = action["runs"]["steps"].as_array().unwrap();
    let upload = &steps[1];
    assert!(
        upload["uses"]
            .as_str()
            .unwrap()
            .starts_with("actions/upload-artifact@")
    );
    assert_eq!(upload["if"], "always()");
    for step in steps {
        let script = step["run"].as_str().unwrap_or_default();
        assert!(
            !script.contains("${{"),
            "an input is pasted into a script:\n{script}"
        );
    }
    for code in [0, 1, 3] {
        let dir = folder(code);
        let path = pipelines().join("github").display().to_string();
        let env = [
            ("GITHUB_ACTION_PATH", path.as_str()),
            ("GITHUB_OUTPUT", "outputs"),
            ("GITHUB_STEP_SUMMARY", "summary"),
            ("ROLLSCOPE", "./rollscope"),
            ("ROLLSCOPE_OUT", "report"),
            ("SCENARIO", "s.yaml"),
            ("ARGUMENTS", "--json --x"),
        ];
        let run = bash(dir.path(), steps[0]["run"].as_str().unwrap(), &env);
        assert_eq!(run.status.code(), Some(0), "the timeline is uploaded first");
        assert!(read(dir.path(), "called").ends_with("--json --x\n"));
        assert_eq!(read(dir.path(), "summary"), "# ok\n", "without the picture");
        let outputs = read(dir.path(), "outputs");
        assert!(
            outputs.contains(&format!("exit-code={code}\n")),
            "{outputs}"
        );
        let result = ["passed", "gate_failed", "", "invalid"][code as usize];
        let code_text = code.to_string();
        let verdict = [("RESULT", result), ("STEP", code_text.as_str())];
        let run = bash(dir.path(), steps[2]["run"].as_str().unwrap(), &verdict);
        assert_eq!(run.status.code(), Some(code));
        assert_eq!(!run.stdout.is_empty(), code == 3, "exit 3 is told apart");
    }
}

#[test]
fn the_gitlab_job_keeps_the_reports_and_fails_with_the_exit_code() {
    let job = &yaml("gitlab/rollscope.gitlab-ci.yml")[".rollscope"];
    assert_eq!(job["artifacts"]["when"], "always");
    assert_eq!(
        job["artifacts"]["reports"]["junit"],
        "rollscope-report/junit.xml"
    );
    let lines = job["script"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l.as_str().unwrap());
    let script = lines.collect::<Vec<_>>().join("\n");
    let defaults: Vec<_> = job["variables"].as_object().unwrap().iter().collect();
    for code in [0, 1, 3, 4] {
        let dir = folder(code);
        let mut env: Vec<_> = defaults
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str().unwrap()))
            .collect();
        env.push(("ROLLSCOPE", "./rollscope"));
        env.push(("ROLLSCOPE_ARGUMENTS", "--json --x"));
        let run = bash(dir.path(), &script, &env);
        assert_eq!(run.status.code(), Some(code));
        let called = read(dir.path(), "called");
        assert_eq!(
            called,
            "run scenario.yaml --out rollscope-report --format html,json,junit,md,png --json --x\n"
        );
        assert!(
            read(dir.path(), "rollscope-report/result.env")
                .contains(&format!("EXIT_CODE={code}\n"))
        );
        assert_eq!(!run.stdout.is_empty(), code == 3, "exit 3 is told apart");
    }
}
