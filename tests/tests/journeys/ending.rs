//! How journeys end: with the load, with the run, or before it.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rollscope_records::{Lane, Outcome};
use rollscope_tests::{Workdir, descendants, wait_until, wait_until_gone};

use super::server::Server;
use super::{PROGRAM, scenario};

const SOON: Duration = Duration::from_secs(30);

/// One user who steps, one who waits for an answer that never comes.
const JOURNEYS: &str = r"
  users: 2
  journeys:
    - { name: reader, think: 5ms, steps: [{ name: page, get: /page }] }
    - { name: waiter, think: 5ms, steps: [{ name: stall, get: /stall, deadline: 1m }] }
";

/// A run that goes on until it is ended, and the process of its journeys.
fn under_way(workdir: &Workdir, server: &Server) -> (Child, u32) {
    workdir.write(
        "scenario.yaml",
        &scenario(&server.address, 0, "sleep 20", JOURNEYS),
    );
    let run = workdir
        .command(&["run", "scenario.yaml", "--out", "out"])
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("both users", SOON, || {
        server.asked("/page") > 5 && server.asked("/stall") > 0
    });
    let walking = walking(&run);
    (run, walking)
}

/// The process of a run's journeys.
fn walking(run: &Child) -> u32 {
    let found = descendants(run.id()).into_iter().find(|pid| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.ends_with(b"\0journeys\0")
    });
    found.unwrap()
}

fn kill(signal: &str, of: &str) {
    let sent = Command::new("kill").args([signal, "--", of]).status();
    assert!(sent.unwrap().success());
}

/// The process group of a process.
fn group(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(PathBuf::from(format!("/proc/{pid}/stat"))).unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    after_name
        .split_whitespace()
        .nth(2)
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn a_ctrl_c_is_ours_and_what_is_in_flight_is_aborted() {
    let (server, workdir) = (Server::start(), Workdir::new(PROGRAM));
    let (run, walking) = under_way(&workdir, &server);
    assert_eq!(group(run.id()), run.id());
    assert_ne!(
        group(walking),
        run.id(),
        "it is out of the terminal's reach"
    );
    kill("-INT", &format!("-{}", run.id()));
    let run = workdir.finished(run.wait_with_output().unwrap());
    run.expect_exit(130);
    wait_until_gone(&[walking], SOON);
    let recording = run.recording();
    let steps = || {
        recording
            .requests
            .iter()
            .filter(|r| r.lane == Lane::Journey)
    };
    let stalled = steps().find(|r| r.name == "waiter/stall").unwrap();
    assert_eq!(stalled.outcome, Outcome::Aborted);
    let pages = steps().filter(|r| r.name == "reader/page").count() as u64;
    // One that was aborted may not have been asked for yet.
    let asked = server.asked("/page");
    assert!(pages == asked || pages == asked + 1, "{pages} of {asked}");
    assert_eq!(run.report()["requests"]["failed"], 0);
}

#[test]
fn journeys_end_with_the_program_that_is_killed() {
    let (server, workdir) = (Server::start(), Workdir::new(PROGRAM));
    let (mut run, walking) = under_way(&workdir, &server);
    kill("-KILL", &run.id().to_string());
    run.wait().unwrap();
    wait_until_gone(&[walking], SOON);
}

#[test]
fn journeys_that_break_off_make_the_run_invalid() {
    let (server, workdir) = (Server::start(), Workdir::new(PROGRAM));
    workdir.write(
        "scenario.yaml",
        &scenario(&server.address, 0, "sleep 2", JOURNEYS),
    );
    let run = workdir
        .command(&["run", "scenario.yaml", "--out", "out"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("a user", SOON, || server.asked("/page") > 5);
    kill("-KILL", &walking(&run).to_string());
    let run = workdir.finished(run.wait_with_output().unwrap());
    run.expect_exit(3);
    let reasons = run.report()["verdict"]["reasons"].to_string();
    let expected = "the journeys were not walked to the end: their process ended before the load did (signal: 9";
    assert!(reasons.contains(expected), "{reasons}");
}
