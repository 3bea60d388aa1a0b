//! What every subject answers while it serves.

use std::time::{Duration, Instant};

use super::child::{spawn, start, wait_for};

#[test]
fn every_response_names_its_pod() {
    let subject = start("graceful", &[]);
    for path in [
        "/",
        "/work",
        "/stream?ms=20",
        "/jobs",
        "/healthz/live",
        "/healthz/ready",
        "/none",
    ] {
        let answer = subject.get(path);
        assert!(
            answer.head.contains("x-pod-name: web-0\r\n"),
            "{path}: {}",
            answer.head
        );
        assert_eq!(
            answer.status,
            if path == "/none" { 404 } else { 200 },
            "{path}"
        );
        assert!(!answer.says_close(), "{path}");
    }
}

#[test]
fn work_answers_after_the_time_asked_for() {
    let subject = start("graceful", &[]);
    let begun = Instant::now();
    assert_eq!(subject.get("/work?ms=120").status, 200);
    assert!(begun.elapsed() >= Duration::from_millis(120));
}

#[test]
fn a_stream_is_chunked_and_lasts_as_long_as_asked_for() {
    let subject = start("graceful", &[]);
    let begun = Instant::now();
    let answer = subject.get("/stream?ms=150");
    assert!(begun.elapsed() >= Duration::from_millis(150));
    assert!(answer.head.contains("transfer-encoding: chunked\r\n"));
    assert!(answer.body.ends_with("10 of 10\n"));
}

#[test]
fn jobs_are_queued_and_done() {
    let subject = start("graceful", &[]);
    let mut client = subject.connect();
    for _ in 0..3 {
        client.send("POST", "/jobs?ms=10");
        assert_eq!(client.answer().unwrap().status, 202);
    }
    wait_for("three jobs done", || {
        let counts = client.get("/jobs").unwrap().body;
        counts.contains("\"done\":3").then_some(())
    });
}

#[test]
fn unfinished_jobs_are_returned_by_a_drain() {
    let mut subject = start("graceful", &[]);
    let mut client = subject.connect();
    for _ in 0..3 {
        client.send("POST", "/jobs?ms=2500");
        client.answer().unwrap();
    }
    subject.terminate();
    assert_eq!(subject.exit_code(), 0);
    assert_eq!(subject.wait_for_event("worker_stopped")["returned"], 2);
}

#[test]
fn the_ledger_tells_each_request_from_its_head_to_its_last_byte() {
    let subject = start("graceful", &[]);
    let mut client = subject.connect();
    assert_eq!(client.get("/").unwrap().status, 200);
    assert_eq!(client.get("/none?x=1").unwrap().status, 404);
    let mut gone = subject.connect();
    gone.send("GET", "/work?ms=60000");
    subject.wait_for_received("/work?ms=60000", 1);
    drop(gone);
    wait_for("the end of the third request", || {
        let ledger = subject.ledger();
        (ledger.last().unwrap() == "unanswered 2 1").then_some(())
    });
    assert_eq!(
        subject.ledger()[1..],
        [
            "listening",
            "accepted 1",
            "received 1 1 GET /",
            "answering 1 1",
            "answered 1 1 200",
            "received 1 2 GET /none?x=1",
            "answering 1 2",
            "answered 1 2 404",
            "accepted 2",
            "received 2 1 GET /work?ms=60000",
            "unanswered 2 1",
        ]
    );
}

#[test]
fn an_unknown_subject_exits_2_and_names_the_valid_ones() {
    let mut subject = spawn("gracefull", &[]);
    assert_eq!(subject.exit_code(), 2);
    let said = subject.stderr();
    assert!(said.contains("\"gracefull\" is not a subject"), "{said}");
    assert!(said.contains("keepalive-hang"), "{said}");
}

#[test]
fn a_port_in_use_is_named_in_the_error() {
    let first = start("graceful", &[]);
    let port = first.port().to_string();
    let mut second = spawn("graceful", &[("PORT", &port)]);
    assert_eq!(second.exit_code(), 1);
    let said = second.stderr();
    assert!(
        said.contains("cannot listen on 127.") && said.contains(&port),
        "{said}"
    );
}

#[test]
fn log_lines_carry_time_event_and_counts_and_nothing_of_the_subject() {
    for name in ["graceful", "early-close", "overrun", "exit-now"] {
        let mut subject = start(name, &[("DRAIN_DELAY_MS", "1")]);
        subject.terminate();
        assert_eq!(subject.exit_code(), 0);
        subject.wait_for_event("exit");
        for line in subject.lines() {
            assert!(line.starts_with("{\"t\":1"), "{line}");
            assert!(line.contains(",\"ev\":\""), "{line}");
            assert!(line.contains(",\"inflight\":0,\"conns\":0"), "{line}");
            assert!(!line.contains(name), "{line}");
        }
    }
}
