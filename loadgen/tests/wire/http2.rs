//! The http2 lane against a server that speaks in frames.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rollscope_records::{ClosedBy, ConnectionRecord, Lane, Outcome, Phase, RequestRecord};
use rollscope_scenarios::BodySource;

use crate::frames::{
    CANCEL, ENHANCE_YOUR_CALM, Frames, INTERNAL_ERROR, NO_ERROR, REFUSED_STREAM, RST_STREAM, http2,
};
use rollscope_loadgen::Direct;

use crate::harness::{Run, ended, get, load, one, run, start};
use crate::server::{OK, Server};

const ECONNRESET: i32 = 104;

/// Answers every request.
fn answering() -> Server {
    http2(|frames| {
        while let Some(stream) = frames.request() {
            frames.answer(stream);
        }
    })
}

/// Does something with the first request, and answers all others.
fn first_request(act: impl Fn(&mut Frames<'_>, u32) + Send + Sync + 'static) -> Server {
    http2(move |frames| {
        while let Some(stream) = frames.request() {
            if frames.peer.number == 0 && stream == 1 {
                act(frames, stream);
            } else {
                frames.answer(stream);
            }
        }
    })
}

fn first_fails(
    act: impl Fn(&mut Frames<'_>, u32) + Send + Sync + 'static,
    outcome: Outcome,
    phase: Phase,
) -> (RequestRecord, Run) {
    let server = first_request(act);
    let run = run(&server, 9.0, get(Lane::Http2), 3);
    let first = run.requests[0].clone();
    assert_eq!((first.outcome, first.phase), (outcome, phase), "{first:?}");
    assert!(
        run.requests[1..].iter().all(|r| r.outcome == Outcome::Ok),
        "{run:?}"
    );
    (first, run)
}

#[test]
fn requests_share_one_connection() {
    let server = answering();
    let run = run(&server, 200.0, get(Lane::Http2), 50);
    assert_eq!(server.accepted(), 1);
    assert_eq!(run.count(Outcome::Ok), run.requests.len());
    for (place, request) in run.requests.iter().enumerate() {
        assert_eq!(request.ordinal, Some(place as u32));
        assert_eq!((request.lane, request.reused), (Lane::Http2, place > 0));
        assert_eq!((request.status, request.bytes_received), (Some(200), 2));
        let times = [
            request.dispatched,
            request.written,
            request.first_byte,
            request.ended,
        ];
        assert!(
            times.iter().all(Option::is_some) && times.is_sorted(),
            "{request:?}"
        );
    }
    let [connection] = run.connections.as_slice() else {
        panic!("one connection: {run:?}")
    };
    assert_eq!(connection.requests as usize, run.requests.len());
    assert_eq!(connection.closed_by, Some(ClosedBy::Client));
    assert_eq!(run.generator.idle_closes, 0);
}

#[test]
fn a_stream_that_stalls_holds_up_no_other() {
    let server = http2(|frames| {
        while let Some(stream) = frames.request() {
            if stream != 1 {
                frames.answer(stream);
            }
        }
    });
    let mut spec = get(Lane::Http2);
    spec.deadline = Duration::from_millis(300);
    let run = run(&server, 100.0, spec, 20);
    let stalled = &run.requests[0];
    assert_eq!(
        (stalled.outcome, stalled.phase),
        (Outcome::DeadlineExceeded, Phase::Head)
    );
    assert!(run.requests[1..].iter().all(|r| r.outcome == Outcome::Ok));
    assert_eq!(server.accepted(), 1);
}

/// A load whose requests come 20 ms apart, on connections that may be idle for 5 ms; 20 requests of it.
fn soon_idle(server: &Server, deadline: Duration) -> Run {
    let mut spec = get(Lane::Http2);
    spec.deadline = deadline;
    let mut load = load(50.0, vec![spec]);
    load.pool.size = Some(1);
    load.pool.max_idle = Some(Duration::from_millis(5));
    let running = start(&server.url(), load, Arc::new(Direct));
    running.wait(|s| ended(s) >= 20);
    let run = running.stop(Duration::from_secs(5));
    run.check(server);
    run
}

#[test]
fn a_connection_that_was_idle_for_long_is_not_used_again() {
    let server = answering();
    let run = soon_idle(&server, Duration::from_secs(5));
    assert_eq!(run.count(Outcome::Ok), run.requests.len());
    assert!(run.connections.len() > 2, "{run:?}");
    let by_us = |c: &ConnectionRecord| c.closed_by == Some(ClosedBy::Client);
    assert!(run.connections.iter().all(by_us), "{run:?}");
}

#[test]
fn a_connection_with_a_stream_in_flight_is_not_idle() {
    let server = http2(|frames| {
        while let Some(stream) = frames.request() {
            if stream != 1 {
                frames.answer(stream);
            }
        }
    });
    // The first stream is never answered, and its deadline is after the load.
    let run = soon_idle(&server, Duration::from_secs(2));
    assert_eq!(run.count(Outcome::DeadlineExceeded), 1);
    assert_eq!(server.accepted(), 1);
}

#[test]
fn the_deadline_of_a_stream_resets_it_and_not_the_connection() {
    let seen = Arc::<Mutex<Vec<u32>>>::default();
    let resets = Arc::clone(&seen);
    let server = http2(move |frames| {
        while let Some(frame) = frames.next() {
            if frame.kind == RST_STREAM {
                resets.lock().unwrap().push(frame.stream);
            }
        }
    });
    let mut spec = get(Lane::Http2);
    spec.deadline = Duration::from_millis(50);
    let run = run(&server, 20.0, spec, 3);
    assert_eq!(run.count(Outcome::DeadlineExceeded), run.requests.len());
    assert_eq!(run.connections.len(), 1);
    assert_eq!(seen.lock().unwrap()[..2], [1, 3]);
}

#[test]
fn a_refused_stream_is_told_from_other_resets_and_any_client_may_send_it_again() {
    let refuse = |frames: &mut Frames<'_>, stream| frames.reset_stream(stream, REFUSED_STREAM);
    let (request, run) = first_fails(refuse, Outcome::RefusedStream, Phase::Head);
    assert!(request.maskable && !request.reused, "{request:?}");
    assert_eq!(request.detail.as_deref(), Some("REFUSED_STREAM"));
    assert_eq!(run.connections.len(), 1, "the connection goes on");
    for (code, name) in [(CANCEL, "CANCEL"), (INTERNAL_ERROR, "INTERNAL_ERROR")] {
        let reset = move |frames: &mut Frames<'_>, stream| frames.reset_stream(stream, code);
        let (request, run) = first_fails(reset, Outcome::StreamReset, Phase::Head);
        assert!(!request.maskable, "{request:?}");
        assert_eq!(request.detail.as_deref(), Some(name));
        assert_eq!(run.connections.len(), 1, "the connection goes on");
    }
}

#[test]
fn a_reset_in_the_body_is_a_reset_stream_in_the_body() {
    let reset = |frames: &mut Frames<'_>, stream| {
        frames.head(stream);
        frames.data(stream, b"only this");
        frames.reset_stream(stream, INTERNAL_ERROR);
    };
    let (request, _) = first_fails(reset, Outcome::StreamReset, Phase::Body);
    assert_eq!((request.status, request.bytes_received), (Some(200), 9));
}

#[test]
fn goaway_without_the_stream_is_goaway_and_the_next_request_has_another_connection() {
    let goaway = |frames: &mut Frames<'_>, _| {
        frames.goaway(0, ENHANCE_YOUR_CALM);
        frames.peer.wait_for_end();
    };
    let (request, run) = first_fails(goaway, Outcome::Goaway, Phase::Head);
    assert!(request.maskable, "the peer says that it did not look at it");
    assert_eq!(request.detail.as_deref(), Some("ENHANCE_YOUR_CALM"));
    let connection = &run.connections[0];
    assert_eq!(connection.closed_by, Some(ClosedBy::PeerGoaway));
    assert_eq!(
        connection.detail.as_deref(),
        Some("GOAWAY ENHANCE_YOUR_CALM, last stream 0")
    );
    assert!(!connection.closed_idle);
    assert_ne!(run.requests[1].connection, Some(connection.id));
}

#[test]
fn goaway_with_the_stream_lets_it_end() {
    let goaway = |frames: &mut Frames<'_>, stream| {
        frames.goaway(stream, NO_ERROR);
        std::thread::sleep(Duration::from_millis(30));
        frames.answer(stream);
    };
    let (request, run) = first_fails(goaway, Outcome::Ok, Phase::Done);
    assert_eq!(request.status, Some(200));
    assert_eq!(run.connections[0].closed_by, Some(ClosedBy::PeerGoaway));
    assert_ne!(run.requests[1].connection, request.connection);
    assert_eq!(run.generator.idle_closes, 0);
}

#[test]
fn goaway_and_fin_on_an_idle_connection_are_idle_closes() {
    for with_goaway in [true, false] {
        let server = http2(move |frames| {
            if let Some(stream) = frames.request() {
                frames.answer(stream);
                std::thread::sleep(Duration::from_millis(20));
                if with_goaway {
                    frames.goaway(stream, NO_ERROR);
                }
                frames.peer.fin();
            }
        });
        let run = run(&server, 9.0, get(Lane::Http2), 3);
        assert_eq!(run.count(Outcome::Ok), run.requests.len(), "{run:?}");
        assert!(run.requests.iter().all(|r| r.ordinal == Some(0)));
        let by = if with_goaway {
            ClosedBy::PeerGoaway
        } else {
            ClosedBy::PeerFin
        };
        let closed = run.connections.iter().filter(|c| c.closed_by == Some(by));
        let closed = closed.inspect(|c| assert!(c.closed_idle, "{c:?}")).count();
        assert!(closed >= 2, "{run:?}");
        assert_eq!(run.generator.idle_closes, closed as u64);
    }
}

#[test]
fn the_end_of_the_connection_ends_its_streams_where_they_are() {
    let fin = |frames: &mut Frames<'_>, _| frames.peer.fin();
    let (request, run) = first_fails(fin, Outcome::EofBeforeHeaders, Phase::Head);
    assert_eq!((request.errno, request.maskable), (None, false));
    assert_eq!(run.connections[0].closed_by, Some(ClosedBy::PeerFin));
    assert!(!run.connections[0].closed_idle);
    let server = first_request(|frames, _| frames.peer.reset());
    let (request, connection) = one(&server, get(Lane::Http2));
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::ResetBeforeHeaders, Phase::Head)
    );
    assert_eq!(request.errno, Some(ECONNRESET));
    assert_eq!(connection.closed_by, Some(ClosedBy::PeerReset));
    let cut = |frames: &mut Frames<'_>, stream| {
        frames.head(stream);
        frames.data(stream, b"only this");
        frames.peer.fin();
    };
    let (request, _) = first_fails(cut, Outcome::TruncatedBody, Phase::Body);
    assert_eq!((request.status, request.bytes_received), (Some(200), 9));
}

#[test]
fn bodies_are_counted_once_they_are_written() {
    let server = http2(|frames| {
        while let Some(frame) = frames.next() {
            if frame.flags & 1 == 1 {
                frames.answer(frame.stream);
            }
        }
    });
    let mut spec = get(Lane::Http2);
    spec.method = "POST".to_owned();
    spec.body = Some(BodySource::Inline("hello".to_owned()));
    let (request, _) = one(&server, spec);
    assert_eq!((request.outcome, request.bytes_sent), (Outcome::Ok, 5));
}

#[test]
fn a_server_that_speaks_http_1_is_a_protocol_error() {
    let server = Server::start(|peer| {
        peer.write(OK);
        peer.wait_for_end();
    });
    // Where the garbage comes before the request was taken, a second connection is tried.
    let run = run(&server, 0.001, get(Lane::Http2), 1);
    let request = &run.requests[0];
    assert_eq!(request.outcome, Outcome::Protocol, "{request:?}");
    assert!(request.detail.is_some() && run.connections.len() <= 2);
}

#[test]
fn requests_that_wait_for_a_connection_fail_with_it() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let running = crate::harness::start(
        &url,
        crate::harness::load(500.0, vec![get(Lane::Http2)]),
        Arc::new(rollscope_loadgen::Direct),
    );
    running.wait(|s| s.failed >= 20);
    let run = running.stop(Duration::from_secs(1));
    assert_eq!(run.count(Outcome::ConnectRefused), run.requests.len());
}
