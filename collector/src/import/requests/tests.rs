#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use serde_json::json;

use super::*;

fn row(value: Value) -> Row {
    serde_json::from_value(value).unwrap()
}

fn ended(out: &str, phase: &str) -> (Outcome, Phase, Option<i32>) {
    let row = row(json!({"t": 1.0, "ms": 1.0, "out": out, "phase": phase}));
    let how = how_it_ended(&row, false, &mut Vec::new());
    (how.outcome, how.phase, how.errno)
}

#[test]
fn failures_are_told_apart_by_name_and_phase() {
    let cases = [
        (
            "ECONNREFUSED",
            "connect",
            Outcome::ConnectRefused,
            Phase::Connect,
            Some(111),
        ),
        (
            "TIMEOUT",
            "connect",
            Outcome::ConnectTimeout,
            Phase::Connect,
            None,
        ),
        (
            "TIMEOUT",
            "head",
            Outcome::DeadlineExceeded,
            Phase::Head,
            None,
        ),
        (
            "EHOSTUNREACH",
            "connect",
            Outcome::ConnectUnreachable,
            Phase::Connect,
            Some(113),
        ),
        ("EOF", "head", Outcome::EofBeforeHeaders, Phase::Head, None),
        (
            "ECONNRESET",
            "head",
            Outcome::ResetBeforeHeaders,
            Phase::Head,
            Some(104),
        ),
        (
            "ECONNRESET",
            "connect",
            Outcome::ConnectReset,
            Phase::Connect,
            Some(104),
        ),
        ("EPIPE", "send", Outcome::WriteFailed, Phase::Send, Some(32)),
        ("EOF", "body", Outcome::TruncatedBody, Phase::Body, None),
        (
            "ECONNRESET",
            "body",
            Outcome::ResetInBody,
            Phase::Body,
            Some(104),
        ),
    ];
    for (out, phase, outcome, ended_in, errno) in cases {
        assert_eq!(
            ended(out, phase),
            (outcome, ended_in, errno),
            "{out} in {phase}"
        );
    }
}

#[test]
fn an_unknown_outcome_is_a_protocol_error_with_one_warning() {
    let odd = row(json!({"t": 1.0, "ms": 1.0, "out": "HPE_INVALID", "phase": "head"}));
    let mut warnings = Vec::new();
    for _ in 0..2 {
        assert_eq!(
            how_it_ended(&odd, false, &mut warnings).outcome,
            Outcome::Protocol
        );
    }
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("HPE_INVALID"));
}

#[test]
fn a_status_is_expected_when_it_is_2xx_or_its_path_was_asked_for_on_purpose() {
    let status = |out: u16, any: bool| {
        let row = row(json!({"t": 1.0, "ms": 1.0, "out": out}));
        let how = how_it_ended(&row, any, &mut Vec::new());
        (how.outcome, how.status)
    };
    assert_eq!(status(204, false), (Outcome::Ok, Some(204)));
    assert_eq!(status(404, false), (Outcome::Status, Some(404)));
    assert_eq!(status(404, true), (Outcome::Ok, Some(404)));
}

#[test]
fn lanes_ages_and_connections_follow_from_the_rows() {
    let rows = [
        json!({"t": 1000.0, "ms": 2.0, "out": 200, "conn": 1, "n": 0, "reused": false, "fresh": false, "connect_ms": 0.5, "close": false, "lport": 4000, "pod": "a"}),
        json!({"t": 1010.0, "ms": 5.0, "out": "EOF", "phase": "head", "partial": 0, "conn": 1, "n": 1, "reused": true, "fresh": false, "lport": 4000}),
        json!({"t": 1020.0, "ms": 2.0, "out": 200, "conn": 2, "n": 0, "reused": false, "fresh": true, "connect_ms": 0.5, "close": true}),
        json!({"t": 1030.0, "ms": 1.0, "out": "ECONNREFUSED", "phase": "connect"}),
    ];
    let rows: Vec<Row> = rows.into_iter().map(row).collect();
    let context = Context {
        zero: 1_000_000_000,
        ..Context::default()
    };
    let records = to_records(&rows, &context, &mut Vec::new());
    let lanes: Vec<Lane> = records.iter().map(|r| r.lane).collect();
    assert_eq!(lanes, [Lane::Reused, Lane::Reused, Lane::New, Lane::New]);
    assert_eq!(records[1].idle, Some(8_000_000));
    assert_eq!(records[1].connection_age, Some(9_500_000));
    assert!(records[1].maskable && !records[3].maskable);
    assert!(records[2].close_requested && records[2].close_received);
    assert!(!records[0].close_requested && !records[3].close_requested);
    let connections = connections(&records);
    assert_eq!(connections.len(), 2);
    assert_eq!(
        (connections[0].requests, connections[0].closed_by),
        (2, Some(ClosedBy::PeerFin))
    );
    assert_eq!(connections[1].closed_by, Some(ClosedBy::Client));
}
