//! `rollscope run --tui` on a terminal of `script`'s, and without one.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rollscope_tests::{Workdir, wait_until};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rollscope-under-test");
const SOON: Duration = Duration::from_secs(30);
const TAKE: &str = "\u{1b}[?1049h";
const GIVE_BACK: &str = "\u{1b}[?1049l";

/// What a terminal got, the modes that it has afterwards, and the exit code of the run.
struct OnTerminal {
    screen: String,
    modes: [String; 2],
    exit_code: String,
}

/// The program with `--tui` on a terminal of 80x24, once requests were answered.
fn under_way(workdir: &Workdir) -> Child {
    workdir.write(
        "on-terminal.sh",
        &format!(
            "stty rows 24 cols 80; stty -a > before\n\
             {PROGRAM} run scenarios/graceful-l4.yaml --out out --tui > stdout\n\
             echo $? > code; stty -a > after\n"
        ),
    );
    let terminal = Command::new("script")
        .args(["-qc", "sh on-terminal.sh", "/dev/null"])
        .current_dir(workdir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("answered requests", SOON, || {
        workdir.ledgers().answered(200) > 100
    });
    terminal
}

/// Runs the program and presses `key`.
fn on_terminal(workdir: &Workdir, key: &[u8]) -> OnTerminal {
    let mut terminal = under_way(workdir);
    let mut keys = terminal.stdin.take().unwrap();
    keys.write_all(key).unwrap();
    keys.flush().unwrap();
    let mut screen = Vec::new();
    let mut stdout = terminal.stdout.take().unwrap();
    stdout.read_to_end(&mut screen).unwrap();
    terminal.wait().unwrap();
    let file = |name: &str| fs::read_to_string(workdir.path().join(name)).unwrap();
    OnTerminal {
        screen: String::from_utf8_lossy(&screen).into_owned(),
        modes: [file("before"), file("after")],
        exit_code: file("code").trim().to_owned(),
    }
}

#[test]
fn q_and_ctrl_c_interrupt_as_sigint_does_and_the_terminal_is_given_back() {
    for key in [b"q", b"\x03"] {
        let workdir = Workdir::new(PROGRAM);
        let run = on_terminal(&workdir, key);
        assert_eq!(run.exit_code, "130", "{}", run.screen);
        let taken = run.screen.find(TAKE).unwrap();
        let given_back = run.screen.rfind(GIVE_BACK).unwrap();
        let drawn = &run.screen[taken..given_back];
        for part in ["warmup", "failed", "Pods", "Ctrl-C"] {
            assert!(drawn.contains(part), "{part:?} was not drawn: {drawn:?}");
        }
        assert_eq!(run.modes[0], run.modes[1]);
        let stdout = fs::read_to_string(workdir.path().join("stdout")).unwrap();
        assert!(stdout.contains("INTERRUPTED (exit code 130)"), "{stdout}");
        assert!(!stdout.contains('\u{1b}'));
    }
}

#[test]
fn a_terminal_that_is_closed_interrupts_in_good_order() {
    let workdir = Workdir::new(PROGRAM);
    let mut terminal = under_way(&workdir);
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    let report = workdir.path().join("out/report.json");
    wait_until("the partial report", SOON, || report.exists());
    let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    assert_eq!(report["verdict"]["outcome"], "interrupted");
}

#[test]
fn without_a_terminal_it_is_lines_and_a_note() {
    let workdir = Workdir::new(PROGRAM);
    let scenario = "scenarios/graceful-l4.yaml";
    let args = ["run", scenario, "--out", "out", "--tui", "--record-only"];
    let run = workdir.rollscope(&args);
    run.expect_exit(0);
    assert!(
        run.stderr.contains("--tui needs a terminal"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("restart 2/3"), "{}", run.stderr);
    assert!(!run.stderr.contains('\u{1b}'));
}
