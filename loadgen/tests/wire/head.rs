//! Responses whose head does not come, or comes with surprises.

use std::time::Duration;

use rollscope_records::{ClosedBy, Lane, Outcome, Phase};
use rollscope_scenarios::{BodySource, HeaderSource, StatusRange};

use crate::harness::{get, one, run};
use crate::server::{OK, Server};

const ECONNRESET: i32 = 104;

/// A server that does something once it has read the first request.
fn after_request(act: impl Fn(&mut crate::server::Peer) + Send + Sync + 'static) -> Server {
    Server::start(move |peer| {
        if peer.read_request().is_some() {
            act(peer);
        }
    })
}

#[test]
fn a_whole_response_fills_every_field() {
    let server = after_request(|peer| {
        peer.write(
            "HTTP/1.1 200 OK\r\nserver: web/1\r\nvia: 1.1 edge\r\nx-pod-name: web-7\r\n\
             connection: close\r\ncontent-length: 2\r\n\r\nok",
        );
        peer.fin();
    });
    let mut spec = get(Lane::New);
    spec.method = "POST".to_owned();
    spec.body = Some(BodySource::Inline("hello".to_owned()));
    let (request, connection) = one(&server, spec);
    assert_eq!((request.outcome, request.phase), (Outcome::Ok, Phase::Done));
    let times = [
        Some(request.scheduled),
        request.dispatched,
        request.connected,
        request.written,
        request.first_byte,
        request.ended,
    ];
    assert!(
        times.iter().all(Option::is_some) && times.is_sorted(),
        "{request:?}"
    );
    assert_eq!(request.status, Some(200));
    assert_eq!(request.pod.as_deref(), Some("web-7"));
    assert_eq!(
        request.emitted_by.as_deref(),
        Some("server=web/1; via=1.1 edge")
    );
    assert!(request.close_received && !request.close_requested);
    assert_eq!(request.bytes_sent, server.seen()[0].bytes);
    assert_eq!(request.bytes_received, 108);
    assert_eq!((request.ordinal, request.reused), (Some(0), false));
    assert_eq!((request.connection_age, request.idle), (None, None));
    assert_eq!(request.connected, connection.established);
    assert_eq!(connection.requests, 1);
    assert!(!connection.closed_idle);
    assert!(connection.started <= connection.established.unwrap());
}

#[test]
fn the_new_lane_closes_by_itself_and_does_not_ask_for_it() {
    let server = Server::answering(OK);
    let run = run(&server, 50.0, get(Lane::New), 3);
    assert!(
        run.requests
            .iter()
            .all(|r| r.outcome == Outcome::Ok && !r.reused)
    );
    assert_eq!(server.accepted(), run.requests.len());
    assert!(
        run.connections
            .iter()
            .all(|c| c.closed_by == Some(ClosedBy::Client))
    );
    assert!(
        run.connections
            .iter()
            .all(|c| !c.closed_idle && c.requests == 1)
    );
    assert!(
        server
            .seen()
            .iter()
            .all(|s| !s.head.contains("connection:"))
    );
    assert_eq!(run.generator.idle_closes, 0);
}

#[test]
fn a_close_that_the_scenario_asks_for_is_recorded_as_asked_for() {
    let server = Server::answering(OK);
    let mut spec = get(Lane::New);
    let close = HeaderSource::Literal("close".to_owned());
    spec.headers = vec![("connection".to_owned(), close)];
    let (request, _) = one(&server, spec);
    assert!(request.close_requested && !request.close_received);
}

#[test]
fn fin_before_the_head_is_eof_before_headers() {
    let server = after_request(|peer| peer.fin());
    let (request, connection) = one(&server, get(Lane::New));
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::EofBeforeHeaders, Phase::Head)
    );
    assert_eq!((request.errno, request.first_byte), (None, None));
    assert!(request.written.is_some() && !request.maskable);
    assert_eq!(connection.closed_by, Some(ClosedBy::PeerFin));
    assert!(!connection.closed_idle);
}

#[test]
fn rst_before_the_head_is_reset_before_headers() {
    let server = after_request(|peer| peer.reset());
    let (request, connection) = one(&server, get(Lane::New));
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::ResetBeforeHeaders, Phase::Head)
    );
    assert_eq!(request.errno, Some(ECONNRESET));
    assert!(!request.maskable);
    assert_eq!(connection.closed_by, Some(ClosedBy::PeerReset));
}

#[test]
fn fin_after_half_the_head_is_eof_before_headers_with_bytes_received() {
    let server = after_request(|peer| {
        peer.write("HTTP/1.1 200 OK\r\ncontent-le");
        peer.fin();
    });
    let (request, _) = one(&server, get(Lane::New));
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::EofBeforeHeaders, Phase::Head)
    );
    assert_eq!((request.bytes_received, request.status), (27, None));
}

#[test]
fn garbage_instead_of_a_status_line_is_a_protocol_error() {
    for garbage in [
        "SSH-2.0-OpenSSH_9.6\r\n\r\n",
        "\0\0\0\x04junk\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
    ] {
        let server = after_request(move |peer| {
            peer.write(garbage);
            peer.fin();
        });
        let (request, _) = one(&server, get(Lane::New));
        assert_eq!(
            (request.outcome, request.phase),
            (Outcome::Protocol, Phase::Head),
            "{garbage:?}"
        );
        assert_eq!(request.bytes_received, garbage.len() as u64);
    }
}

#[test]
fn silence_past_the_deadline_is_deadline_exceeded_in_the_head() {
    let server = after_request(|peer| peer.wait_for_end());
    let mut spec = get(Lane::New);
    spec.deadline = Duration::from_millis(200);
    let (request, connection) = one(&server, spec);
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::DeadlineExceeded, Phase::Head)
    );
    let waited = request
        .ended
        .unwrap()
        .nanos_since(request.dispatched.unwrap());
    assert!(waited >= 200_000_000, "{waited}");
    assert_eq!(connection.closed_by, Some(ClosedBy::Client));
}

#[test]
fn a_server_that_does_not_read_is_a_deadline_exceeded_in_send() {
    let server = Server::start(|peer| {
        let _ = peer.stream().set_nonblocking(true);
        std::thread::sleep(Duration::from_secs(2));
    });
    let mut spec = get(Lane::New);
    spec.method = "POST".to_owned();
    spec.body = Some(BodySource::Inline("x".repeat(16 << 20)));
    spec.deadline = Duration::from_millis(300);
    let running = crate::harness::start(
        &server.url(),
        crate::harness::load(0.001, vec![spec]),
        std::sync::Arc::new(rollscope_loadgen::Direct),
    );
    running.wait(|s| s.failed == 1);
    let run = running.stop(Duration::ZERO);
    let request = &run.requests[0];
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::DeadlineExceeded, Phase::Send)
    );
    assert_eq!(request.written, None);
    assert!(request.bytes_sent > 0 && request.bytes_sent < 16 << 20);
}

#[test]
fn rst_while_the_request_is_written_is_write_failed() {
    let server = Server::start(|peer| {
        // Reset with the upload in full flow.
        let mut some = [0; 1024];
        let _ = std::io::Read::read(peer.stream(), &mut some);
        peer.reset();
    });
    let mut spec = get(Lane::New);
    spec.method = "POST".to_owned();
    spec.body = Some(BodySource::Inline("x".repeat(16 << 20)));
    let (request, connection) = one_unseen(&server, spec);
    assert_eq!(request.phase, Phase::Send);
    assert_eq!(request.errno, Some(ECONNRESET));
    // Which of the two meets the RST first is the kernel's choice.
    let expected = [Outcome::WriteFailed, Outcome::ResetBeforeHeaders];
    assert!(expected.contains(&request.outcome), "{request:?}");
    assert_eq!(request.written, None);
    assert_eq!(connection.closed_by, Some(ClosedBy::PeerReset));
}

/// Like [`one`], for a request that the server never reads to its end.
fn one_unseen(
    server: &Server,
    spec: rollscope_scenarios::RequestSpec,
) -> (
    rollscope_records::RequestRecord,
    rollscope_records::ConnectionRecord,
) {
    let running = crate::harness::start(
        &server.url(),
        crate::harness::load(0.001, vec![spec]),
        std::sync::Arc::new(rollscope_loadgen::Direct),
    );
    running.wait(|s| s.failed == 1);
    let mut run = running.stop(Duration::from_secs(1));
    (run.requests.remove(0), run.connections.remove(0))
}

#[test]
fn informational_responses_are_passed_over() {
    for early in [
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n",
    ] {
        let server = after_request(move |peer| {
            peer.write(early);
            std::thread::sleep(Duration::from_millis(5));
            peer.write(OK);
            peer.wait_for_end();
        });
        let (request, _) = one(&server, get(Lane::New));
        assert_eq!((request.outcome, request.status), (Outcome::Ok, Some(200)));
        assert_eq!(request.bytes_received, (early.len() + OK.len()) as u64);
    }
}

#[test]
fn responses_without_a_body_end_with_their_head() {
    for (method, response, status) in [
        (
            "HEAD",
            "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n",
            200,
        ),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n", 204),
        (
            "GET",
            "HTTP/1.1 304 Not Modified\r\ncontent-length: 1000\r\n\r\n",
            304,
        ),
    ] {
        let server = Server::answering(response);
        let mut spec = get(Lane::Reused);
        spec.method = method.to_owned();
        spec.expect.push(StatusRange { from: 304, to: 304 });
        let run = run(&server, 9.0, spec, 2);
        for request in &run.requests {
            assert_eq!(
                (request.outcome, request.status),
                (Outcome::Ok, Some(status))
            );
        }
        assert!(run.requests[1].reused, "the connection is still in step");
    }
}

#[test]
fn unexpected_statuses_and_redirects_are_failures_that_are_not_followed() {
    for (response, status) in [
        (
            "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n",
            503,
        ),
        (
            "HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n",
            302,
        ),
    ] {
        let server = Server::answering(response);
        let (request, _) = one(&server, get(Lane::New));
        assert_eq!(
            (request.outcome, request.phase),
            (Outcome::Status, Phase::Done)
        );
        assert_eq!((request.status, request.maskable), (Some(status), false));
        assert_eq!(server.seen().len(), 1);
    }
}
