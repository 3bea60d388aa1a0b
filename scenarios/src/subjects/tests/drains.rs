//! Subjects that drain, well or badly.

use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::child::{start, wait_for};

#[test]
fn graceful_answers_new_connections_with_readiness_off_until_it_refuses() {
    let mut subject = start("graceful", &[]);
    subject.terminate();
    subject.wait_for_event("readiness_off");
    assert_eq!(subject.get("/healthz/ready").status, 503);
    assert_eq!(subject.get("/healthz/live").status, 200);
    let answer = subject.get("/");
    assert_eq!(answer.status, 200);
    assert!(answer.says_close());
    subject.wait_for_event("listener_closed");
    wait_for("refused connections", || {
        subject.is_refusing().then_some(())
    });
    assert_eq!(subject.exit_code(), 0);
    assert_eq!(
        subject.events(),
        [
            "start",
            "listening",
            "sigterm",
            "readiness_off",
            "listener_closed",
            "drained",
            "pool_closed",
            "exit"
        ]
    );
    let last = subject.wait_for_event("exit");
    assert_eq!(
        (last["code"].as_u64(), last["cut"].as_u64()),
        (Some(0), Some(0))
    );
    assert_eq!(subject.ledger().last().unwrap(), "exit 0");
}

#[test]
fn graceful_finishes_what_is_in_flight_after_its_listener_is_closed() {
    let mut subject = start("graceful", &[]);
    let (mut work, mut stream) = (subject.connect(), subject.connect());
    work.send("GET", "/work?ms=2500");
    stream.send("GET", "/stream?ms=2500");
    subject.wait_for_received("/work?ms=2500", 1);
    subject.wait_for_received("/stream?ms=2500", 1);
    subject.terminate();
    subject.wait_for_event("listener_closed");
    assert!(subject.is_refusing());
    let answer = work.answer().unwrap();
    assert_eq!(answer.status, 200);
    assert!(answer.says_close());
    work.expect_end();
    assert_eq!(stream.answer().unwrap().status, 200);
    stream.expect_end();
    assert_eq!(subject.exit_code(), 0);
}

#[test]
fn graceful_closes_a_keep_alive_connection_after_its_next_response_and_idle_ones_with_the_listener()
{
    let mut subject = start("graceful", &[]);
    let (mut used, mut idle) = (subject.connect(), subject.connect());
    assert!(!used.get("/").unwrap().says_close());
    assert!(!idle.get("/").unwrap().says_close());
    subject.terminate();
    subject.wait_for_event("readiness_off");
    assert!(used.get("/").unwrap().says_close());
    used.expect_end();
    idle.expect_end();
    subject.wait_for_event("listener_closed");
    assert_eq!(subject.exit_code(), 0);
}

#[test]
fn graceful_cuts_what_outlives_the_deadline_and_counts_it() {
    let mut subject = start("graceful", &[("DRAIN_DEADLINE_MS", "200")]);
    let mut client = subject.connect();
    client.send("GET", "/work?ms=60000");
    subject.wait_for_received("/work?ms=60000", 1);
    subject.terminate();
    client.expect_end();
    assert_eq!(subject.exit_code(), 0);
    assert_eq!(subject.wait_for_event("drained")["cut"], 1);
    assert_eq!(subject.wait_for_event("exit")["cut"], 1);
    assert!(subject.ledger().contains(&"unanswered 1 1".to_owned()));
}

#[test]
fn a_connection_that_never_sent_a_request_does_not_hold_the_drain() {
    let mut subject = start("graceful", &[("DRAIN_DEADLINE_MS", "60000")]);
    let mut unused = subject.connect();
    wait_for("the accept", || {
        subject
            .ledger()
            .contains(&"accepted 1".to_owned())
            .then_some(())
    });
    subject.terminate();
    unused.expect_end();
    assert_eq!(subject.exit_code(), 0);
}

#[test]
fn a_second_signal_changes_nothing() {
    let mut subject = start("graceful", &[]);
    let mut client = subject.connect();
    client.send("GET", "/work?ms=2000");
    subject.wait_for_received("/work?ms=2000", 1);
    subject.terminate();
    subject.signal(Signal::SIGTERM);
    subject.signal(Signal::SIGINT);
    assert_eq!(subject.get("/").status, 200);
    assert_eq!(client.answer().unwrap().status, 200);
    assert_eq!(subject.exit_code(), 0);
    let events = subject.events();
    assert_eq!(events.iter().filter(|e| *e == "readiness_off").count(), 1);
}

#[test]
fn sigint_is_treated_as_sigterm() {
    let mut subject = start("graceful", &[]);
    subject.signal(Signal::SIGINT);
    subject.wait_for_event("sigint");
    subject.wait_for_event("readiness_off");
    assert_eq!(subject.get("/healthz/ready").status, 503);
    assert_eq!(subject.exit_code(), 0);
}

#[test]
fn early_close_refuses_at_once_and_finishes_what_it_has() {
    let mut subject = start("early-close", &[("DRAIN_DELAY_MS", "60000")]);
    let (mut busy, mut idle) = (subject.connect(), subject.connect());
    idle.get("/").unwrap();
    busy.send("GET", "/work?ms=2500");
    subject.wait_for_received("/work?ms=2500", 1);
    let signalled = Instant::now();
    subject.terminate();
    wait_for("refused connections", || {
        subject.is_refusing().then_some(())
    });
    assert!(signalled.elapsed() < Duration::from_secs(5));
    idle.expect_end();
    assert_eq!(busy.answer().unwrap().status, 200);
    busy.expect_end();
    assert_eq!(subject.exit_code(), 0);
    let ledger = subject.ledger();
    let place = |line: &str| ledger.iter().position(|l| l == line).unwrap();
    assert!(place("refusing") < place("answered 1 1 200"));
}

#[test]
fn overrun_drains_properly_but_waits_for_requests_beyond_any_deadline() {
    let mut subject = start("overrun", &[("DRAIN_DEADLINE_MS", "1")]);
    let mut client = subject.connect();
    client.send("GET", "/work?ms=2500");
    subject.wait_for_received("/work?ms=2500", 1);
    subject.terminate();
    subject.wait_for_event("readiness_off");
    assert_eq!(subject.get("/healthz/ready").status, 503);
    assert!(subject.get("/").says_close());
    subject.wait_for_event("listener_closed");
    assert!(subject.is_refusing());
    assert_eq!(client.answer().unwrap().status, 200);
    assert_eq!(subject.exit_code(), 0);
}

#[test]
fn keepalive_hang_lives_as_long_as_somebody_uses_a_connection() {
    let mut subject = start("keepalive-hang", &[("DRAIN_DEADLINE_MS", "1")]);
    let (mut busy, mut idle) = (subject.connect(), subject.connect());
    idle.get("/").unwrap();
    busy.send("GET", "/work?ms=2000");
    subject.wait_for_received("/work?ms=2000", 1);
    subject.terminate();
    subject.wait_for_event("listener_closed");
    assert!(subject.is_refusing());
    idle.expect_end();
    assert!(!busy.answer().unwrap().says_close());
    for _ in 0..20 {
        let answer = busy.get("/work?ms=50").unwrap();
        assert_eq!(answer.status, 200);
        assert!(!answer.says_close());
    }
    assert_eq!(busy.get("/healthz/ready").unwrap().status, 503);
    assert!(subject.is_alive());
    assert!(!subject.events().contains(&"drained".to_owned()));
    drop(busy);
    assert_eq!(subject.exit_code(), 0);
}

#[test]
fn pool_first_answers_500_at_once_while_its_listener_is_open() {
    let mut subject = start("pool-first", &[]);
    let mut running = subject.connect();
    running.send("GET", "/work?ms=2500");
    subject.wait_for_received("/work?ms=2500", 1);
    subject.terminate();
    subject.wait_for_event("pool_closed");
    let begun = Instant::now();
    let answer = subject.get("/work?ms=2500");
    assert_eq!(answer.status, 500);
    assert!(begun.elapsed() < Duration::from_millis(1000));
    assert_eq!(subject.get("/").status, 500);
    assert_eq!(subject.get("/stream?ms=1").status, 200);
    assert_eq!(running.answer().unwrap().status, 200);
    assert_eq!(subject.exit_code(), 0);
    let events = subject.events();
    let place = |event: &str| events.iter().position(|e| e == event).unwrap();
    assert!(place("pool_closed") < place("listener_closed"));
}

#[test]
fn double_owner_closes_its_pool_at_once_and_again_after_the_drain() {
    let mut subject = start("double-owner", &[]);
    subject.terminate();
    subject.wait_for_event("pool_closed");
    assert_eq!(subject.get("/").status, 500);
    assert_eq!(subject.exit_code(), 0);
    assert_eq!(
        subject.events(),
        [
            "start",
            "listening",
            "sigterm",
            "sigterm",
            "pool_closed",
            "readiness_off",
            "listener_closed",
            "drained",
            "pool_closed",
            "exit"
        ]
    );
}

#[test]
fn same_deadline_ends_only_after_the_delay_and_its_whole_deadline() {
    let mut subject = start("same-deadline", &[("DRAIN_DEADLINE_MS", "700")]);
    let mut client = subject.connect();
    client.send("GET", "/work?ms=60000");
    subject.wait_for_received("/work?ms=60000", 1);
    let signalled = Instant::now();
    subject.terminate();
    client.expect_end();
    assert!(signalled.elapsed() >= Duration::from_millis(1000 + 700));
    assert_eq!(subject.exit_code(), 0);
}

#[test]
fn requests_that_race_the_drain_are_all_answered_by_graceful() {
    let subject = start("graceful", &[("DRAIN_DELAY_MS", "300")]);
    let subject = std::sync::Arc::new(std::sync::Mutex::new(subject));
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let client = subject.lock().unwrap().connect();
            thread::spawn(move || {
                let mut client = client;
                let mut answered = 0;
                loop {
                    let answer = client.get("/work?ms=3").expect("an answer");
                    answered += 1;
                    if answer.says_close() {
                        client.expect_end();
                        return answered;
                    }
                }
            })
        })
        .collect();
    subject.lock().unwrap().terminate();
    let answered: usize = clients.into_iter().map(|c| c.join().unwrap()).sum();
    let mut subject = subject.lock().unwrap();
    assert_eq!(subject.exit_code(), 0);
    assert_eq!(subject.wait_for_event("exit")["served"], answered);
}

#[test]
fn graceful_ends_what_is_held_open_in_good_order_once_its_listener_is_closed() {
    let mut subject = start("graceful", &[]);
    let (mut events, mut socket) = (subject.connect(), subject.connect());
    events.send("GET", "/events?ms=50");
    let head = socket.upgrade();
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
    socket.send_frame(0x81, b"hello");
    assert_eq!(socket.frame(), Some((0x81, b"hello".to_vec())));
    subject.terminate();
    subject.wait_for_event("listener_closed");
    let (first, payload) = socket.frame().unwrap();
    assert_eq!((first, &payload[..2]), (0x88, &1001_u16.to_be_bytes()[..]));
    socket.send_frame(0x88, &payload[..2]);
    assert_eq!(socket.frame(), None);
    let answer = events.answer().unwrap();
    assert!(
        answer.body.starts_with("id: 1\ndata: 1\n\nid: 2\n"),
        "{}",
        answer.body
    );
    assert_eq!(subject.exit_code(), 0);
    assert_eq!(subject.wait_for_event("exit")["cut"], 0);
}

#[test]
fn a_drain_that_does_not_know_of_streams_waits_for_them() {
    let mut subject = start("early-close", &[]);
    let (mut events, mut socket) = (subject.connect(), subject.connect());
    events.send("GET", "/events?ms=50");
    socket.upgrade();
    subject.terminate();
    subject.wait_for_event("listener_closed");
    socket.send_frame(0x81, b"still");
    assert_eq!(socket.frame(), Some((0x81, b"still".to_vec())));
    assert!(subject.is_alive());
    subject.signal(Signal::SIGKILL);
    assert_eq!(socket.frame(), None);
    assert!(events.answer().is_none(), "cut in the middle");
}
