//! Subjects that end without a proper drain, or are wrong before it.

use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::child::{spawn, start, wait_for};

#[test]
fn exit_now_cuts_what_is_in_flight_at_the_signal() {
    let mut subject = start("exit-now", &[]);
    let mut client = subject.connect();
    client.send("GET", "/work?ms=60000");
    subject.wait_for_received("/work?ms=60000", 1);
    let signalled = Instant::now();
    subject.terminate();
    client.expect_end();
    assert_eq!(subject.exit_code(), 0);
    assert!(signalled.elapsed() < Duration::from_secs(10));
    assert!(subject.is_refusing());
    assert_eq!(subject.events(), ["start", "listening", "sigterm", "exit"]);
    assert_eq!(
        subject.ledger()[3..],
        ["received 1 1 GET /work?ms=60000", "signal", "exit 0"]
    );
}

#[test]
fn what_exit_now_says_it_answered_is_what_its_clients_got() {
    let mut subject = start("exit-now", &[]);
    let clients: Vec<_> = (0..12)
        .map(|_| {
            let mut client = subject.connect();
            thread::spawn(move || {
                let mut complete = 0;
                while client.try_get("/work?ms=2").is_some() {
                    complete += 1;
                }
                complete
            })
        })
        .collect();
    wait_for("some traffic", || {
        (subject.ledger().len() > 200).then_some(())
    });
    subject.terminate();
    let complete: usize = clients.into_iter().map(|c| c.join().unwrap()).sum();
    assert_eq!(subject.exit_code(), 0);
    let ledger = subject.ledger();
    let answered = ledger.iter().filter(|l| l.starts_with("answered "));
    assert_eq!(answered.count(), complete);
    assert_eq!(subject.wait_for_event("exit")["served"], complete);
}

#[test]
fn no_handler_leaves_the_signals_to_the_kernel_and_says_nothing() {
    let mut subject = start("no-handler", &[]);
    assert!(!subject.handles(Signal::SIGTERM));
    assert!(!subject.handles(Signal::SIGINT));
    assert_eq!(subject.get("/").status, 200);
    subject.signal(Signal::SIGTERM);
    assert_eq!(subject.killed_by(), Some(Signal::SIGTERM as i32));
    assert_eq!(subject.events(), ["start", "listening"]);
}

#[test]
fn every_other_subject_handles_both_signals() {
    for subject in super::super::Subject::ALL {
        if subject.as_str() == "no-handler" {
            continue;
        }
        let running = start(subject.as_str(), &[("LISTEN_DELAY_MS", "1")]);
        assert!(running.handles(Signal::SIGTERM), "{subject:?}");
        assert!(running.handles(Signal::SIGINT), "{subject:?}");
    }
}

#[test]
fn the_ledger_survives_a_kill() {
    let mut subject = start("graceful", &[]);
    let mut client = subject.connect();
    client.send("GET", "/work?ms=60000");
    subject.wait_for_received("/work?ms=60000", 1);
    subject.signal(Signal::SIGKILL);
    assert_eq!(subject.killed_by(), Some(Signal::SIGKILL as i32));
    client.expect_end();
    assert_eq!(
        subject.ledger().last().unwrap(),
        "received 1 1 GET /work?ms=60000"
    );
}

#[test]
fn forced_exit_ends_with_1_by_its_safety_timer() {
    let mut subject = start(
        "forced-exit",
        &[("DRAIN_DELAY_MS", "1"), ("DRAIN_DEADLINE_MS", "1")],
    );
    subject.terminate();
    assert_eq!(subject.exit_code(), 1);
    let events = subject.events();
    assert_eq!(
        events[events.len() - 3..],
        ["drained", "shutdown_timeout", "exit"]
    );
}

#[test]
fn a_safety_timer_of_its_own_ends_a_drain_that_waits_for_requests() {
    let wait = [("DRAIN_DELAY_MS", "1"), ("DRAIN_DEADLINE_MS", "60000")];
    let mut subject = start("forced-exit", &[wait[0], wait[1], ("SAFETY_MS", "300")]);
    let mut client = subject.connect();
    client.send("GET", "/work?ms=60000");
    subject.wait_for_received("/work?ms=60000", 1);
    subject.terminate();
    client.expect_end();
    assert_eq!(subject.exit_code(), 1);
    assert_eq!(subject.wait_for_event("exit")["cut"], 1);
}

#[test]
fn unawaited_cleanup_exits_0_without_its_last_words() {
    let mut subject = start("unawaited-cleanup", &[]);
    let mut client = subject.connect();
    client.send("GET", "/work?ms=60000");
    subject.wait_for_received("/work?ms=60000", 1);
    subject.terminate();
    client.expect_end();
    assert_eq!(subject.exit_code(), 0);
    assert_eq!(
        subject.events(),
        ["start", "listening", "sigterm", "readiness_off"]
    );
}

#[test]
fn short_keepalive_closes_a_connection_that_is_idle_for_its_timeout() {
    let subject = start("short-keepalive", &[("KEEP_ALIVE_MS", "150")]);
    let mut client = subject.connect();
    assert_eq!(client.get("/work?ms=400").unwrap().status, 200);
    let answered = Instant::now();
    client.expect_end();
    let idle = answered.elapsed();
    assert!((100..2000).contains(&idle.as_millis()), "{idle:?}");
}

#[test]
fn a_request_that_meets_a_close_on_its_way_is_reset_and_never_read() {
    let slow = [("KEEP_ALIVE_MS", "100"), ("CLOSE_TRAVEL_MS", "3000")];
    let subject = start("short-keepalive", &slow);
    let mut client = subject.connect();
    assert_eq!(client.get("/").unwrap().status, 200);
    // The server closes after 100 ms; the client would see it after 3 s.
    std::thread::sleep(Duration::from_millis(800));
    client.send("GET", "/late");
    client.expect_end();
    let ledger = subject.ledger();
    assert!(!ledger.iter().any(|l| l.contains("/late")), "{ledger:?}");
}

#[test]
fn ready_too_early_answers_readiness_before_its_traffic_port_listens() {
    let subject = spawn("ready-too-early", &[("LISTEN_DELAY_MS", "2000")]);
    let traffic = subject.port();
    let subject = subject.with_port(traffic + 1);
    wait_for("the health port", || subject.try_connect().ok());
    assert_eq!(subject.get("/healthz/ready").status, 200);
    assert!(!subject.events().contains(&"listening".to_owned()));
    let subject = subject.with_port(traffic);
    assert!(subject.is_refusing());
    subject.wait_for_event("listening");
    assert_eq!(subject.get("/").status, 200);
}

#[test]
fn slow_start_is_ready_and_slow_and_then_fast() {
    let subject = start("slow-start", &[("SLOW_START_MS", "1000")]);
    let ready = Instant::now();
    assert_eq!(subject.get("/healthz/ready").status, 200);
    assert!(ready.elapsed() < Duration::from_millis(700));
    assert_eq!(subject.get("/").status, 200);
    assert!(ready.elapsed() >= Duration::from_millis(800));
    wait_for("the end of the slow time", || {
        (ready.elapsed() > Duration::from_millis(1100)).then_some(())
    });
    let warm = Instant::now();
    assert_eq!(subject.get("/").status, 200);
    assert!(warm.elapsed() < Duration::from_millis(700));
}

#[test]
fn crash_ends_by_itself_with_1() {
    let mut timed = start("crash", &[("CRASH_AFTER_MS", "50")]);
    assert_eq!(timed.exit_code(), 1);
    let mut asked = start("crash", &[]);
    let mut client = asked.connect();
    client.send("GET", "/crash");
    client.expect_end();
    assert_eq!(asked.exit_code(), 1);
    assert_eq!(asked.events().last().unwrap(), "uncaught_exception");
}
