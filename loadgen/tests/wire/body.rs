//! Responses whose body does not come to its end.

use std::time::Duration;

use rollscope_records::{ClosedBy, Lane, Outcome, Phase, RequestRecord};

use crate::harness::{get, one};
use crate::server::{Peer, Server};

const ECONNRESET: i32 = 104;

const LONG: &str = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nabcd\r\n";

fn answered(response: &'static str, end: fn(&mut Peer)) -> (RequestRecord, Option<ClosedBy>) {
    let server = Server::start(move |peer| {
        if peer.read_request().is_some() {
            peer.write(response);
            end(peer);
        }
    });
    let mut spec = get(Lane::New);
    spec.deadline = Duration::from_millis(400);
    let (request, connection) = one(&server, spec);
    (request, connection.closed_by)
}

#[test]
fn fin_before_the_promised_length_is_a_truncated_body() {
    let (request, closed_by) = answered(LONG, Peer::fin);
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::TruncatedBody, Phase::Body)
    );
    assert_eq!((request.status, request.errno), (Some(200), None));
    assert_eq!(request.bytes_received, LONG.len() as u64);
    assert_eq!(closed_by, Some(ClosedBy::PeerFin));
}

#[test]
fn fin_between_and_inside_chunks_is_a_truncated_body() {
    let (between, _) = answered(CHUNKED, Peer::fin);
    assert_eq!(
        (between.outcome, between.phase),
        (Outcome::TruncatedBody, Phase::Body)
    );
    let (inside, _) = answered(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nabcd",
        Peer::fin,
    );
    assert_eq!(
        (inside.outcome, inside.phase),
        (Outcome::TruncatedBody, Phase::Body)
    );
}

#[test]
fn rst_in_the_body_is_reset_in_body() {
    for response in [LONG, CHUNKED] {
        let (request, closed_by) = answered(response, Peer::reset);
        assert_eq!(
            (request.outcome, request.phase),
            (Outcome::ResetInBody, Phase::Body)
        );
        assert_eq!(request.errno, Some(ECONNRESET));
        assert!(request.first_byte.is_some());
        assert_eq!(closed_by, Some(ClosedBy::PeerReset));
    }
}

#[test]
fn a_body_that_stalls_past_the_deadline_is_deadline_exceeded_in_the_body() {
    for response in [LONG, CHUNKED] {
        let (request, closed_by) = answered(response, Peer::wait_for_end);
        assert_eq!(
            (request.outcome, request.phase),
            (Outcome::DeadlineExceeded, Phase::Body)
        );
        assert_eq!(request.status, Some(200));
        assert_eq!(closed_by, Some(ClosedBy::Client));
    }
}

#[test]
fn a_broken_chunk_is_a_protocol_error_in_the_body() {
    let (request, _) = answered(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnot hex\r\nabcd\r\n",
        Peer::wait_for_end,
    );
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::Protocol, Phase::Body)
    );
}

#[test]
fn a_body_that_ends_with_the_connection_is_whole_at_fin_and_cut_at_rst() {
    const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\n\r\nall of it";
    let (whole, _) = answered(UNTIL_CLOSE, Peer::fin);
    assert_eq!((whole.outcome, whole.phase), (Outcome::Ok, Phase::Done));
    assert_eq!(whole.bytes_received, UNTIL_CLOSE.len() as u64);
    let (cut, _) = answered(UNTIL_CLOSE, Peer::reset);
    assert_eq!(
        (cut.outcome, cut.phase),
        (Outcome::ResetInBody, Phase::Body)
    );
}
