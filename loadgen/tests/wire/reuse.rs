//! The pool: what happens to connections between and under requests.

use std::sync::Arc;
use std::time::Duration;

use rollscope_loadgen::Direct;
use rollscope_records::{ClosedBy, Lane, Outcome, Phase, RequestRecord};

use crate::harness::{ended, get, load, run, start};
use crate::server::{OK, Peer, Server};

/// Slow enough that the pool holds one connection.
const RATE: f64 = 9.0;

const ECONNRESET: i32 = 104;

/// Answers the first request of the first connection, then does `act` with the second; other connections behave.
fn second_request(act: fn(&mut Peer)) -> Server {
    Server::start(move |peer| {
        while peer.read_request().is_some() {
            if peer.number == 0 && !answers_first(peer) {
                return act(peer);
            }
            peer.write(OK);
        }
    })
}

fn answers_first(peer: &Peer) -> bool {
    peer.requests() == 1
}

#[test]
fn reused_connections_count_their_requests_age_and_idle_time() {
    let server = Server::answering(OK);
    let run = run(&server, RATE, get(Lane::Reused), 3);
    assert_eq!(server.accepted(), 1);
    let [first, second, third] = &run.requests[..3] else {
        panic!("three")
    };
    assert!(!first.reused && second.reused && third.reused);
    let ordinals = [first, second, third].map(|r| r.ordinal);
    assert_eq!(ordinals, [Some(0), Some(1), Some(2)]);
    assert_eq!(second.connected, None);
    let since_first = second.dispatched.unwrap().nanos_since(first.ended.unwrap());
    let idle = second.idle.unwrap();
    assert!(idle > 0 && idle <= since_first, "{idle} {since_first}");
    assert!(third.connection_age.unwrap() > second.connection_age.unwrap());
    assert!(second.connection_age.unwrap() > second.idle.unwrap());
    assert_eq!(first.local_port, third.local_port);
    let [connection] = run.connections.as_slice() else {
        panic!("one connection")
    };
    assert_eq!(u64::from(connection.requests), run.generator.sent);
    assert_eq!(connection.closed_by, Some(ClosedBy::Client));
    assert!(connection.closed_idle);
    assert_eq!(run.generator.idle_closes, 0, "our own close is none");
}

fn masked(request: &RequestRecord, outcome: Outcome) {
    assert_eq!((request.outcome, request.phase), (outcome, Phase::Head));
    assert!(request.reused && request.maskable, "{request:?}");
    assert_eq!((request.ordinal, request.bytes_received), (Some(1), 0));
    assert!(request.bytes_sent > 0);
}

#[test]
fn fin_under_a_request_on_a_reused_connection_is_a_failure_and_not_sent_again() {
    let server = second_request(Peer::fin);
    let run = run(&server, RATE, get(Lane::Reused), 3);
    masked(&run.requests[1], Outcome::EofBeforeHeaders);
    assert_eq!(run.requests[2].outcome, Outcome::Ok);
    assert_eq!(run.connections[0].closed_by, Some(ClosedBy::PeerFin));
    assert!(!run.connections[0].closed_idle);
    assert_eq!(run.generator.idle_closes, 0);
}

#[test]
fn rst_under_a_request_on_a_reused_connection_is_a_failure_and_not_sent_again() {
    let server = second_request(Peer::reset);
    let run = run(&server, RATE, get(Lane::Reused), 3);
    masked(&run.requests[1], Outcome::ResetBeforeHeaders);
    assert_eq!(run.requests[1].errno, Some(ECONNRESET));
    assert_eq!(run.requests[2].outcome, Outcome::Ok);
    assert_eq!(run.generator.idle_closes, 0);
}

#[test]
fn posts_and_answered_requests_are_not_maskable() {
    let server = second_request(Peer::fin);
    let mut post = get(Lane::Reused);
    post.method = "POST".to_owned();
    let run_post = run(&server, RATE, post, 2);
    assert_eq!(run_post.requests[1].outcome, Outcome::EofBeforeHeaders);
    assert!(run_post.requests[1].reused && !run_post.requests[1].maskable);
    let server = second_request(|peer| {
        peer.write("HTTP/1.1 2");
        peer.fin();
    });
    let run_half = run(&server, RATE, get(Lane::Reused), 2);
    assert_eq!(run_half.requests[1].outcome, Outcome::EofBeforeHeaders);
    assert!(run_half.requests[1].reused && !run_half.requests[1].maskable);
}

/// Answers each request, and ends the connection at once while it is idle.
fn ends_idle_connections(end: fn(&mut Peer)) -> Server {
    Server::start(move |peer| {
        if peer.read_request().is_some() {
            peer.write(OK);
            // The client must have taken the answer, or the RST overtakes it.
            std::thread::sleep(Duration::from_millis(20));
            end(peer);
        }
    })
}

#[test]
fn connections_that_were_closed_while_idle_are_replaced_and_counted() {
    for (end, by) in [
        (Peer::fin as fn(&mut Peer), ClosedBy::PeerFin),
        (Peer::reset, ClosedBy::PeerReset),
    ] {
        let server = ends_idle_connections(end);
        let run = run(&server, RATE, get(Lane::Reused), 3);
        for request in &run.requests {
            assert_eq!((request.outcome, request.ordinal), (Outcome::Ok, Some(0)));
            assert!(!request.reused);
        }
        let closed = run.connections.iter().filter(|c| c.closed_by == Some(by));
        let closed = closed.inspect(|c| assert!(c.closed_idle, "{c:?}")).count();
        assert!(closed >= 2, "{run:?}");
        assert_eq!(run.generator.idle_closes, closed as u64);
    }
}

#[test]
fn a_close_at_the_moment_of_the_next_write_is_counted_or_a_failure_but_never_sent_twice() {
    // The server's patience shrinks past the client's interval in small steps, so each connection ends within
    // microseconds of the next request's arrival, on either side of it.
    let server = Server::start(|peer| {
        while peer.read_request().is_some() {
            peer.write(OK);
            std::thread::sleep(Duration::from_micros(
                5_150 - 20 * u64::from(peer.requests()),
            ));
            if !peer.has_request() {
                return;
            }
        }
    });
    let mut load = load(200.0, vec![get(Lane::Reused)]);
    load.max_in_flight = 1;
    let running = start(&server.url(), load, Arc::new(Direct));
    running.wait(|s| ended(s) >= 400);
    let run = running.stop(Duration::from_secs(1));
    run.check(&server);
    let idle = run
        .connections
        .iter()
        .filter(|c| c.closed_idle && c.closed_by != Some(ClosedBy::Client));
    assert_eq!(run.generator.idle_closes, idle.count() as u64);
    assert!(run.generator.idle_closes > 0);
    for request in &run.requests {
        match request.outcome {
            Outcome::Ok | Outcome::Dropped => {}
            Outcome::EofBeforeHeaders | Outcome::ResetBeforeHeaders => {
                assert!(request.reused && request.maskable, "{request:?}");
            }
            _ => panic!("{request:?}"),
        }
    }
}

#[test]
fn bytes_that_nobody_asked_for_end_an_idle_connection() {
    let server = Server::start(|peer| {
        if peer.read_request().is_some() {
            peer.write(OK);
            std::thread::sleep(Duration::from_millis(20));
            peer.write("HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n");
            peer.fin();
        }
    });
    let run = run(&server, RATE, get(Lane::Reused), 3);
    assert!(
        run.requests.iter().all(|r| r.outcome == Outcome::Ok),
        "{run:?}"
    );
    assert_eq!(server.accepted(), run.requests.len());
}

#[test]
fn a_connection_that_the_response_closes_is_not_used_again() {
    let server = Server::start(|peer| {
        if peer.read_request().is_some() {
            peer.write("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
            peer.fin();
        }
    });
    let run = run(&server, RATE, get(Lane::Reused), 3);
    assert!(
        run.requests
            .iter()
            .all(|r| r.outcome == Outcome::Ok && r.close_received)
    );
    assert!(run.requests.iter().all(|r| !r.reused));
    assert!(run.connections.iter().all(|c| !c.closed_idle));
    assert_eq!(run.generator.idle_closes, 0);
}

#[test]
fn the_pool_is_used_in_turn_and_does_not_grow_without_need() {
    let server = Server::answering(OK);
    // 100/s makes a pool of ten.
    let run = run(&server, 100.0, get(Lane::Reused), 60);
    assert!(
        (10..=12).contains(&server.accepted()),
        "{}",
        server.accepted()
    );
    let used = run.connections.iter().map(|c| c.requests);
    assert!(
        used.clone().min() >= Some(3),
        "{:?}",
        used.collect::<Vec<_>>()
    );
}
