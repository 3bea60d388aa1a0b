//! Commands that no one meant to be put to the test: each has a clear result and leaves nothing behind.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rollscope_tests::{descendants, wait_until};

use super::program::{log, nothing_is_left, own_sleep, signal, start, workdir};

/// Runs a command that does not get ready. The message, once it is sure that nothing is left.
fn refused(flags: &[&str], command: &str) -> String {
    let workdir = workdir();
    let sleep = own_sleep(&workdir);
    let command = command.replace("SLEEP", &sleep);
    let run = signal(&workdir, flags, &["sh", "-c", &command]);
    run.expect_exit(4);
    nothing_is_left(&workdir);
    assert!(!run.out.exists(), "an empty output folder is left");
    run.stderr
}

#[test]
fn a_command_that_exits_at_once_is_told_with_its_code_and_its_last_words() {
    let began = Instant::now();
    let said = refused(&[], "echo no database >&2; exit 3");
    assert!(
        said.contains("ended by itself with exit code 3 before it was ready"),
        "{said}"
    );
    assert!(said.contains("no database"), "{said}");
    assert!(
        began.elapsed() < Duration::from_secs(50),
        "it did not wait for --ready-within"
    );
}

#[test]
fn a_command_that_is_not_there_is_told_by_name() {
    let workdir = workdir();
    let run = signal(&workdir, &[], &["no-such-program-here"]);
    run.expect_exit(4);
    assert!(
        run.stderr.contains("no-such-program-here"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("not found"), "{}", run.stderr);
}

#[test]
fn a_command_that_never_listens_is_told_so_after_the_deadline() {
    let said = refused(&["--ready-within", "2s"], "exec sleep SLEEP");
    assert!(said.contains("within 2s"), "{said}");
    assert!(said.contains("listens on no TCP port"), "{said}");
}

#[test]
fn a_server_on_loopback_only_is_told_that_nobody_reaches_it() {
    let said = refused(
        &["--ready-within", "15s"],
        "exec env HOST=127.0.0.1 node server.js SLEEP",
    );
    assert!(
        said.contains("on 127.0.0.1:") && said.contains("listen on 0.0.0.0"),
        "{said}"
    );
}

#[test]
fn a_command_that_forks_and_leaves_ends_its_container_and_its_children() {
    for script in [
        "sleep SLEEP & exit 0",
        "setsid sh -c 'setsid sleep SLEEP & sleep SLEEP' & sleep 0.2; exit 0",
    ] {
        let said = refused(&[], script);
        assert!(said.contains("ended by itself with exit code 0"), "{said}");
        assert!(said.contains("into the background"), "{said}");
    }
}

#[test]
fn a_command_that_needs_a_terminal_gets_none_and_says_so() {
    let said = refused(
        &[],
        "[ -t 0 ] || { echo the input is not a terminal >&2; exit 1; }; exec sleep SLEEP",
    );
    assert!(said.contains("the input is not a terminal"), "{said}");
    // One that reads its input meets the end of it.
    let said = refused(&[], "cat; echo end of input; exit 5");
    assert!(
        said.contains("end of input") && said.contains("exit code 5"),
        "{said}"
    );
}

#[test]
fn a_path_that_the_server_does_not_serve_is_told_before_any_load() {
    let workdir = workdir();
    let not_found = "require('node:http').createServer((q, r) => { r.statusCode = 404; r.end(); }).listen(process.env.PORT)";
    let run = signal(
        &workdir,
        &["--path", "/nothing"],
        &["node", "-e", not_found],
    );
    run.expect_exit(2);
    assert!(
        run.stderr.contains("answered 404") && run.stderr.contains("--path"),
        "{}",
        run.stderr
    );
    nothing_is_left(&workdir);
}

#[test]
fn a_hundred_megabytes_of_log_do_not_change_what_the_program_did() {
    let workdir = workdir();
    let noise = "require('./server.js');
      const line = 'a line of a log that goes on and on and says nothing at all\\n'.repeat(100);
      let left = 100e6;
      const more = () => {
        while (left > 0) {
          left -= line.length;
          if (!process.stderr.write(line)) { process.stderr.once('drain', more); return; }
        }
      };
      setTimeout(more, 3000);";
    let run = signal(&workdir, &["--rate", "20/s"], &["node", "-e", noise]);
    let report = run.report();
    assert_eq!(report["signal"]["exit_code"], 0, "{:#}", report["signal"]);
    assert_eq!(report["requests"]["failed"], 0);
    // Where lines were written faster than they could be read, the run says that it missed some.
    let reasons = report["verdict"]["reasons"].to_string();
    match run.exit_code {
        Some(0) => {}
        Some(3) => assert!(reasons.contains("logs/"), "{reasons}"),
        _ => panic!("{:?}: {reasons}", run.exit_code),
    }
    nothing_is_left(&workdir);
}

#[test]
fn a_program_that_sigkill_does_not_end_at_once_is_waited_for() {
    let workdir = workdir();
    let sleep = own_sleep(&workdir);
    let command = format!("trap '' TERM; node deaf.js & sleep {sleep}");
    let flags = ["--grace", "3s", "--warmup", "4s", "--max-failed", "1000"];
    let mut started = start(&workdir, &flags, &["sh", "-c", &command]);
    let run = started
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lock = Unreaped::within(&run, &sleep);
    wait_until("the killed program", Duration::from_secs(60), || {
        lock.is_zombie()
    });
    std::thread::sleep(Duration::from_secs(2));
    lock.release();
    let run = workdir.finished(run.wait_with_output().unwrap());
    run.expect_exit(1);
    let report = run.report();
    let signal = &report["signal"];
    assert_eq!(
        (signal["exit_code"].as_i64(), signal["killed"].as_bool()),
        (Some(137), Some(true)),
        "{signal:#}"
    );
    assert!(signal["took_ms"].as_f64() > Some(4_900.0), "{signal:#}");
    nothing_is_left(&workdir);
}

/// A process that joined the program's PID namespace, whose parent does not reap it: until that is done, the kernel does
/// not let the namespace's first process end, whatever signal it gets.
struct Unreaped {
    parent: Child,
    child: u32,
}

impl Unreaped {
    fn within(run: &Child, sleep: &str) -> Self {
        let mut shell = None;
        wait_until("the program's shell", Duration::from_secs(60), || {
            shell = descendants(run.id()).into_iter().find(|pid| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                line.starts_with(b"sh\0-c\0") && String::from_utf8_lossy(&line).contains(sleep)
            });
            shell.is_some()
        });
        let target = shell.unwrap().to_string();
        let parent = Command::new("nsenter")
            .args(["--target", &target, "--pid", "--", "sleep", "3600"])
            .spawn()
            .unwrap();
        let mut child = None;
        wait_until(
            "a process in the namespace",
            Duration::from_secs(20),
            || {
                child = descendants(parent.id()).into_iter().next();
                child.is_some()
            },
        );
        kill(Pid::from_raw(parent.id() as i32), Signal::SIGSTOP).unwrap();
        Self {
            parent,
            child: child.unwrap(),
        }
    }

    fn is_zombie(&self) -> bool {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", self.child)).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('Z'))
    }

    fn release(mut self) {
        kill(Pid::from_raw(self.parent.id() as i32), Signal::SIGCONT).unwrap();
        self.parent.wait().unwrap();
    }
}

#[test]
fn a_program_that_crashes_under_load_is_a_crash() {
    let workdir = workdir();
    let crash = "setTimeout(() => process.exit(9), 5000); require('./server.js')";
    let run = signal(&workdir, &["--warmup", "6s"], &["node", "-e", crash]);
    run.expect_exit(1);
    assert!(run.causes().contains_key("crash"), "{:?}", run.causes());
    assert!(log(&run.recording_dir()).contains("listening"));
}
