//! Ctrl-C, and the end that nobody asked for.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rollscope_tests::{Workdir, descendants, wait_until, wait_until_gone};

use super::PROGRAM;

const SOON: Duration = Duration::from_secs(30);

/// A run of a graceful scenario that has begun to send requests.
fn under_way(workdir: &Workdir) -> (Child, Vec<u32>) {
    let mut command = workdir.command(&["run", "scenarios/graceful-l4.yaml", "--out", "out"]);
    let run = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("answered requests", SOON, || {
        workdir.ledgers().answered(200) > 50
    });
    let processes = descendants(run.id());
    assert!(
        processes.len() >= 3,
        "three pods run as processes: {processes:?}"
    );
    (run, processes)
}

fn signal(run: &Child, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &run.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

#[test]
fn an_interrupt_ends_in_a_partial_report_and_nothing_is_left_behind() {
    let workdir = Workdir::new(PROGRAM);
    let (run, processes) = under_way(&workdir);
    signal(&run, "-INT");
    let run = workdir.finished(run.wait_with_output().unwrap());
    run.expect_exit(130);
    wait_until_gone(&processes, SOON);
    let report = run.report();
    assert_eq!(report["verdict"]["outcome"], "interrupted");
    assert_eq!(report["verdict"]["exit_code"], 130);
    let of = |name: &str| report["requests"][name].as_u64().unwrap();
    assert_eq!(of("sent"), of("ok") + of("failed") + of("aborted"));
    assert_eq!(
        of("failed"),
        0,
        "what was in flight was aborted, not failed"
    );
    assert!(run.out.join("timeline.html").exists());
}

#[test]
fn a_second_interrupt_ends_the_program_at_once_and_nothing_is_left_behind() {
    let workdir = Workdir::new(PROGRAM);
    let (mut run, processes) = under_way(&workdir);
    signal(&run, "-INT");
    // The second must come after the first was taken: signals of a kind do not queue.
    std::thread::sleep(Duration::from_millis(50));
    signal(&run, "-INT");
    assert_eq!(run.wait().unwrap().code(), Some(130));
    wait_until_gone(&processes, SOON);
}

#[test]
fn when_the_program_is_killed_its_pods_die_with_it_and_the_recording_can_be_read() {
    let workdir = Workdir::new(PROGRAM);
    let (run, processes) = under_way(&workdir);
    let answered = workdir.ledgers().answered(200);
    // The recording may lag by half a second at most.
    std::thread::sleep(Duration::from_millis(500));
    signal(&run, "-KILL");
    let run = workdir.finished(run.wait_with_output().unwrap());
    assert_eq!(run.exit_code, None);
    wait_until_gone(&processes, SOON);
    let recording = run.recording();
    assert!(
        recording.requests.len() as u64 >= answered,
        "{} rows",
        recording.requests.len()
    );
    let path = run.recording_dir();
    let analysed = workdir.rollscope(&["analyze", path.to_str().unwrap(), "--out", "out"]);
    analysed.expect_exit(3);
    assert_eq!(analysed.report()["verdict"]["outcome"], "invalid");
}
