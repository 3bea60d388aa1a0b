//! `--docker`: what Docker's program is asked, by a stand-in for it that runs a process instead of a container.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rollscope_tests::Workdir;

use super::program::{nothing_is_left, signal, start, workdir};

/// Writes down what it is asked; a container is a process of the command after the image.
const STAND_IN: &str = r#"#!/bin/sh
echo "$*" >> "$STATE/asked"
case "$1" in
  version) echo 27.0 ;;
  image)
    test -f "$STATE/pulled" || { echo "Error: No such image" >&2; exit 1; }
    cat "$STATE/stopsignal" ;;
  pull) : > "$STATE/pulled" ;;
  create)
    shift
    while [ $# -gt 0 ]; do
      case "$1" in
        --name) echo "$2" > "$STATE/name"; shift 2 ;;
        --network|--env|--stop-signal) shift 2 ;;
        *) break ;;
      esac
    done
    echo "$1" > "$STATE/image"; shift
    : > "$STATE/command"
    for word in "$@"; do echo "$word" >> "$STATE/command"; done
    echo 0123456789ab ;;
  start)
    set --
    while read -r word; do set -- "$@" "$word"; done < "$STATE/command"
    "$@" &
    echo $! > "$STATE/pid"
    wait $! ;;
  stop)
    pid=$(cat "$STATE/pid")
    signal=$(cat "$STATE/stopsignal")
    signal=${signal:-TERM}
    kill -"${signal#SIG}" "$pid"
    tries=$(($3 * 10))
    while kill -0 "$pid" 2>/dev/null && [ "$tries" -gt 0 ]; do sleep 0.1; tries=$((tries - 1)); done
    kill -KILL "$pid" 2>/dev/null || true ;;
  rm) ;;
  *) echo "unknown: $*" >&2; exit 1 ;;
esac
"#;

fn stand_in(workdir: &Workdir) -> (String, PathBuf) {
    let (bin, state) = (workdir.path().join("bin"), workdir.path().join("state"));
    fs::create_dir(&state).unwrap();
    fs::write(state.join("stopsignal"), "").unwrap();
    let docker = workdir.write("bin/docker", STAND_IN);
    fs::set_permissions(&docker, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    (path, state)
}

fn docker(
    workdir: &Workdir,
    flags: &[&str],
    command: &[&str],
) -> (rollscope_tests::Finished, Vec<String>) {
    docker_of("", workdir, flags, command)
}

/// The same with an image that has that STOPSIGNAL.
fn docker_of(
    stop_signal: &str,
    workdir: &Workdir,
    flags: &[&str],
    command: &[&str],
) -> (rollscope_tests::Finished, Vec<String>) {
    let (path, state) = stand_in(workdir);
    fs::write(state.join("stopsignal"), stop_signal).unwrap();
    let flags = [&["--docker", "shop/web:7"], flags].concat();
    let mut started = start(workdir, &flags, command);
    let output = started
        .env("PATH", path)
        .env("STATE", &state)
        .output()
        .unwrap();
    let run = workdir.finished(output);
    let asked = fs::read_to_string(state.join("asked")).unwrap();
    (run, asked.lines().map(str::to_owned).collect())
}

#[test]
fn a_container_is_created_started_stopped_with_its_grace_and_removed() {
    let workdir = workdir();
    let flags = ["--grace", "12s", "--pre-stop", "2s", "--env", "DELAY=1500"];
    let (run, asked) = docker(&workdir, &flags, &["node", "server.js"]);
    run.expect_exit(0);
    let words: Vec<&str> = asked
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(
        words,
        [
            "version", "image", "pull", "image", "rm", "create", "start", "stop", "rm", "rm"
        ],
        "{asked:#?}"
    );
    let create = &asked[5];
    for part in [
        "--network host",
        "--env PORT",
        "--env DELAY",
        "shop/web:7 node server.js",
    ] {
        assert!(create.contains(part), "{part} in {create}");
    }
    assert!(
        asked[7].starts_with("stop --time 10 rollscope-signal-"),
        "{}",
        asked[7]
    );
    let report = run.report();
    assert_eq!(report["signal"]["exit_code"], 0, "{:#}", report["signal"]);
    assert_eq!(report["signal"]["effect"], "handled");
    assert_eq!(report["requests"]["failed"], 0);
    nothing_is_left(&workdir);
}

#[test]
fn the_stop_signal_of_an_image_is_the_one_that_is_sent_and_reported() {
    let server = "trap 'echo got USR1; kill $pid; exit 0' USR1; node deaf.js & pid=$!; while :; do wait; done";
    for told in ["SIGUSR1", "10"] {
        let workdir = workdir();
        let command = ["sh", "-c", server];
        let (run, asked) = docker_of(told, &workdir, &["--max-failed", "1000"], &command);
        let report = run.report();
        assert_eq!(report["signal"]["signal"], "SIGUSR1", "{asked:#?}");
        assert_eq!(report["signal"]["exit_code"], 0, "{:#}", report["signal"]);
        let log = super::program::log(&run.recording_dir());
        assert!(log.contains("got USR1"), "{log}");
    }
}

#[test]
fn a_stop_signal_that_asks_for_nothing_is_refused() {
    let workdir = workdir();
    let (run, asked) = docker_of("SIGKILL", &workdir, &[], &["node", "server.js"]);
    run.expect_exit(2);
    assert!(
        run.stderr.contains("SIGKILL (STOPSIGNAL)"),
        "{}",
        run.stderr
    );
    assert!(
        !asked.iter().any(|line| line.starts_with("create")),
        "{asked:#?}"
    );
}

#[test]
fn a_container_that_has_to_be_killed_fails_the_gate() {
    let workdir = workdir();
    let (run, asked) = docker(
        &workdir,
        &["--grace", "3s", "--max-failed", "1000"],
        &["node", "deaf.js"],
    );
    // Outside of a container the server's default action is to die: here the stand-in is the container.
    run.expect_exit(1);
    assert!(
        asked.iter().any(|line| line.starts_with("stop --time 3")),
        "{asked:#?}"
    );
    assert_ne!(run.report()["signal"]["exit_code"], 0);
}

#[test]
fn without_an_engine_the_message_says_what_is_missing() {
    let workdir = workdir();
    let run = signal(&workdir, &["--docker", "shop/web:7"], &[]);
    run.expect_exit(4);
    assert!(
        run.stderr.contains("--docker needs a Docker engine"),
        "{}",
        run.stderr
    );
    let mut started = start(&workdir, &["--docker", "shop/web:7"], &[]);
    let nowhere = started.env("PATH", workdir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&nowhere.stderr).into_owned();
    assert_eq!(nowhere.status.code(), Some(4));
    assert!(
        said.contains("the program `docker` cannot be run"),
        "{said}"
    );
}
