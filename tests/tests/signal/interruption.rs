//! Ctrl-C and the end that nobody asked for: the program goes with its tester.

use std::process::{Child, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rollscope_tests::{Workdir, descendants, wait_until, wait_until_gone};

use super::program::{any_process, nothing_is_left, own_sleep, start, workdir};

const SOON: Duration = Duration::from_secs(60);

/// A run of a shell with a server and a grandchild, under load.
fn under_way(workdir: &Workdir, mark: &str) -> (Child, Vec<u32>) {
    let command = format!("node deaf.js & setsid sleep {mark} & wait");
    let mut started = start(workdir, &["--warmup", "60s"], &["sh", "-c", &command]);
    let run = started
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let recording = workdir.path().join("out/recording.rollscope");
    wait_until("a recording", SOON, || recording.join("run.json").exists());
    wait_until("the grandchild", SOON, || {
        any_process("cmdline", &format!("sleep\0{mark}"))
    });
    let processes = descendants(run.id());
    (run, processes)
}

#[test]
fn an_interrupt_ends_in_a_partial_report_and_nothing_is_left_behind() {
    let workdir = workdir();
    let mark = own_sleep(&workdir);
    let (run, processes) = under_way(&workdir, &mark);
    std::thread::sleep(Duration::from_millis(500));
    kill(Pid::from_raw(run.id() as i32), Signal::SIGINT).unwrap();
    let run = workdir.finished(run.wait_with_output().unwrap());
    run.expect_exit(130);
    wait_until_gone(&processes, SOON);
    assert_eq!(run.report()["verdict"]["outcome"], "interrupted");
    nothing_is_left(&workdir);
}

#[test]
fn a_killed_tester_leaves_neither_processes_nor_temporary_files() {
    let workdir = workdir();
    let mark = own_sleep(&workdir);
    let (mut run, processes) = under_way(&workdir, &mark);
    kill(Pid::from_raw(run.id() as i32), Signal::SIGKILL).unwrap();
    run.wait().unwrap();
    wait_until_gone(&processes, SOON);
    nothing_is_left(&workdir);
}
