//! Several generators make one load together, each a process of its own, against a server that counts.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rollscope_records::Recording;
use rollscope_tests::{Finished, Workdir};

use time::OffsetDateTime;
use time::macros::format_description;

use super::PROGRAM;

/// A client's port and the number of the request on that connection, from 0.
type Request = (u16, u32);

/// A server that writes down every request.
struct Counting {
    address: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Counting {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&shared);
                std::thread::spawn(move || {
                    let port = stream.peer_addr().unwrap().port();
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    let mut out = stream;
                    for ordinal in 0.. {
                        let head = lines.by_ref().map_while(Result::ok);
                        if head.take_while(|l| !l.is_empty()).count() == 0 {
                            return;
                        }
                        seen.lock().unwrap().push((port, ordinal));
                        let date = format_description!(
                            "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
                        );
                        let date = OffsetDateTime::now_utc().format(&date).unwrap();
                        let answer = format!(
                            "HTTP/1.1 200 OK\r\ndate: {date}\r\ncontent-length: 2\r\n\r\nok"
                        );
                        if out.write_all(answer.as_bytes()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, seen }
    }

    fn take(&self) -> BTreeSet<Request> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        let unique: BTreeSet<Request> = seen.iter().copied().collect();
        assert_eq!(unique.len(), seen.len());
        unique
    }
}

/// Slots of the scenario: those that are due within its three seconds, both ends included.
const SLOTS: u64 = 601;

fn workdir(server: &Counting) -> Workdir {
    let workdir = Workdir::new(PROGRAM);
    workdir.write(
        "shared.yaml",
        &format!(
            r#"
name: shared
target: {{ none: {{}} }}
load:
  base_url: http://{}
  rate: 200/s
  deadline: 5s
  requests:
    - {{ name: kept, get: /kept, connections: reused }}
    - {{ name: fresh, get: /fresh, connections: new }}
stages:
  - warmup: 1s
  - exec: echo deployed by one
    complete_within: 1s
  - settle: 1s
"#,
            server.address
        ),
    );
    workdir
}

fn in_seconds(ahead: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    (now + Duration::from_secs(ahead)).as_secs()
}

fn start(workdir: &Workdir, shard: &str, start_at: u64) -> Child {
    let out = format!("parts/{}", shard.replace('/', "-of-"));
    let at = start_at.to_string();
    let args = [
        "run",
        "shared.yaml",
        "--shard",
        shard,
        "--start-at",
        &at,
        "--out",
        &out,
    ];
    let mut command = workdir.command(&args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs all generators, with more time to get ready where the machine is so busy that one of them was late.
fn run_all(workdir: &Workdir, of: u64) -> Vec<Finished> {
    for ahead in [6, 30, 120] {
        let _ = std::fs::remove_dir_all(workdir.path().join("parts"));
        let at = in_seconds(ahead);
        let all: Vec<Child> = (0..of)
            .map(|i| start(workdir, &format!("{i}/{of}"), at))
            .collect();
        let all = all
            .into_iter()
            .map(|c| workdir.finished(c.wait_with_output().unwrap()));
        let all: Vec<Finished> = all.collect();
        if !all.iter().any(|f| f.stderr.contains("--start-at")) {
            return all;
        }
    }
    panic!("no generator was ever ready in time");
}

fn parts(workdir: &Workdir, of: u64) -> Vec<PathBuf> {
    let dir = workdir.path().join("parts");
    (0..of)
        .map(|i| dir.join(format!("{i}-of-{of}/recording.rollscope")))
        .collect()
}

#[test]
fn four_generators_send_every_slot_once_as_one_does() {
    let server = Counting::start();
    let workdir = workdir(&server);
    for finished in run_all(&workdir, 1) {
        finished.expect_exit(0);
    }
    let alone = Recording::open(&parts(&workdir, 1)[0]).unwrap();
    assert_eq!(alone.requests.len() as u64, SLOTS);
    assert_eq!(server.take().len() as u64, SLOTS);

    for finished in run_all(&workdir, 4) {
        finished.expect_exit(0);
    }
    let seen = server.take();
    let recordings: Vec<Recording> = parts(&workdir, 4)
        .iter()
        .map(|p| Recording::open(p).unwrap())
        .collect();
    let sent: BTreeSet<Request> = recordings
        .iter()
        .flat_map(|r| &r.requests)
        .map(|r| (r.local_port.unwrap(), r.ordinal.unwrap()))
        .collect();
    assert_eq!(sent, seen, "what was recorded is what the server counted");
    let deployed = |r: &Recording| r.logs.iter().any(|l| l.line == "deployed by one");
    let drove: Vec<bool> = recordings.iter().map(deployed).collect();
    assert_eq!(drove, [true, false, false, false]);

    let merged = Recording::merge(recordings).unwrap();
    for shard in &merged.run.shards.as_ref().unwrap().present[1..] {
        // One machine, so one wall clock; the server's `Date` bounds the difference.
        let (lo, hi) = shard.clock_error_nanos.unwrap();
        assert!(lo <= 0 && 0 <= hi, "{shard:?}");
        assert!(shard.moved_nanos.abs() < 50_000_000, "{shard:?}");
    }
    let slots: Vec<u64> = merged.requests.iter().map(|r| r.seq).collect();
    assert!(slots.into_iter().eq(0..SLOTS), "every slot exactly once");
    for (one, of_four) in alone.requests.iter().zip(&merged.requests) {
        assert_eq!(
            (&one.name, one.lane),
            (&of_four.name, of_four.lane),
            "slot {}",
            one.seq
        );
        let step = |r: &Recording, seq: usize| {
            r.requests
                .row(seq)
                .scheduled
                .nanos_since(r.requests.row(0).scheduled)
        };
        let slot = usize::try_from(one.seq).unwrap();
        let apart = step(&alone, slot) - step(&merged, slot);
        assert!(apart.abs() < 1_000_000_000, "slot {slot} is {apart} ns off");
    }

    let run = workdir.rollscope(&["analyze", "parts", "--out", "out"]);
    run.expect_exit(0);
    let report = run.report();
    assert_eq!(report["requests"]["planned"], SLOTS);
    assert_eq!(report["requests"]["ok"], SLOTS);
    assert_eq!(report["generator"]["planned"], SLOTS);
    one_missing(&workdir);
}

fn one_missing(workdir: &Workdir) {
    let parts = parts(workdir, 4);
    let paths: Vec<&str> = parts.iter().map(|p| p.to_str().unwrap()).collect();
    let run = workdir.rollscope(&["analyze", paths[3], paths[0], paths[1], "--out", "out"]);
    run.expect_exit(3);
    let reasons = run.report()["verdict"]["reasons"].to_string();
    assert!(
        reasons.contains("1 generator of 4 missing (2)"),
        "{reasons}"
    );

    let run = workdir.rollscope(&["analyze", paths[0], paths[1], paths[1], "--out", "out"]);
    run.expect_exit(2);
    assert!(
        run.stderr.contains("two recordings of generator 1"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_generator_that_was_killed_makes_the_whole_invalid() {
    let server = Counting::start();
    let workdir = workdir(&server);
    let at = in_seconds(8);
    let (driver, killed) = (start(&workdir, "0/2", at), start(&workdir, "1/2", at));
    // It has sent something.
    while server.seen.lock().unwrap().len() < 100 {
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(
        Pid::from_raw(i32::try_from(killed.id()).unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
    killed.wait_with_output().unwrap();
    workdir
        .finished(driver.wait_with_output().unwrap())
        .expect_exit(0);
    let run = workdir.rollscope(&["analyze", "parts", "--out", "out"]);
    run.expect_exit(3);
    let reasons = run.report()["verdict"]["reasons"].to_string();
    assert!(
        reasons.contains("generator 1 of 2: it was killed"),
        "{reasons}"
    );
}

#[test]
fn a_generator_that_would_begin_late_says_so_and_sends_nothing() {
    let server = Counting::start();
    let workdir = workdir(&server);
    let late = start(&workdir, "0/2", in_seconds(0) - 5);
    let late = workdir.finished(late.wait_with_output().unwrap());
    late.expect_exit(2);
    assert!(
        late.stderr.contains("start all generators again"),
        "{}",
        late.stderr
    );
    let millis = start(&workdir, "1/2", in_seconds(0) * 1000);
    let millis = workdir.finished(millis.wait_with_output().unwrap());
    millis.expect_exit(2);
    assert!(
        millis.stderr.contains("not milliseconds"),
        "{}",
        millis.stderr
    );
    let alone = workdir.rollscope(&["run", "shared.yaml", "--shard", "0/2"]);
    alone.expect_exit(2);
    let sandbox = workdir.rollscope(&[
        "run",
        "scenarios/graceful.yaml",
        "--shard",
        "0/2",
        "--start-at",
        "4000000000",
    ]);
    sandbox.expect_exit(2);
    assert!(sandbox.stderr.contains("sandbox"), "{}", sandbox.stderr);
    assert!(server.take().is_empty());
}
