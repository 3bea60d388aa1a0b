//! Each end of a connection that is held open, against a server that ends it exactly so.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rollscope_loadgen::Direct;
use rollscope_records::{Lane, Outcome, Phase, RequestRecord, StreamEnd, StreamRecord};
use rollscope_scenarios::{RequestSpec, StatusRange, StreamKind, StreamSpec};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::harness::{Run, get, load, start};
use crate::server::{OK, Peer, Server};

const SSE: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-pod-name: web-0\r\ntransfer-encoding: chunked\r\n\r\n";
const EVENT: &str = "9\r\ndata: 1\n\n\r\n";
const LAST: &str = "0\r\n\r\n";
const CADENCE: Duration = Duration::from_millis(50);

fn spec(kind: StreamKind) -> StreamSpec {
    let (lane, status) = match kind {
        StreamKind::WebSocket => (Lane::WebSocket, 101),
        _ => (Lane::Stream, 200),
    };
    StreamSpec {
        kind,
        request: RequestSpec {
            name: "held".to_owned(),
            path: "/held".to_owned(),
            expect: vec![StatusRange {
                from: status,
                to: status,
            }],
            ..get(lane)
        },
        count: 1,
        cadence: CADENCE,
        max_silence: Duration::from_secs(5),
        retry: Duration::from_millis(20),
        may_end: true,
    }
}

/// Behaves so on the first connection that is held; the next ones are held to the end. Slots are answered.
fn server(kind: StreamKind, first: impl Fn(&mut Peer, &str) + Send + Sync + 'static) -> Server {
    let done = std::sync::atomic::AtomicBool::new(false);
    Server::start(move |peer| {
        while let Some(head) = peer.read_request() {
            if !head.contains("GET /held") {
                peer.write(OK);
                continue;
            }
            if !done.swap(true, std::sync::atomic::Ordering::SeqCst) {
                first(peer, &head);
            } else if kind == StreamKind::WebSocket {
                accept(peer, &head);
                echo(peer, usize::MAX);
            } else {
                peer.write(SSE);
                while peer.stream().write_all(EVENT.as_bytes()).is_ok() {
                    std::thread::sleep(CADENCE);
                }
            }
            return;
        }
    })
}

fn accept(peer: &mut Peer, head: &str) {
    let key = head
        .lines()
        .filter_map(|l| l.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"))
        .unwrap()
        .1;
    let accept = derive_accept_key(key.as_bytes());
    peer.write(format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nx-pod-name: web-0\r\nsec-websocket-accept: {accept}\r\n\r\n"
    ));
}

/// Echoes so many small text messages, written by hand after RFC 6455, 5.2. Returns at a close frame, which it answers.
fn echo(peer: &mut Peer, messages: usize) {
    for _ in 0..messages {
        let mut head = [0; 6];
        if peer.stream().read_exact(&mut head).is_err() {
            return;
        }
        let mut payload = vec![0; usize::from(head[1] & 0x7f)];
        peer.stream().read_exact(&mut payload).unwrap();
        for (byte, mask) in payload.iter_mut().zip(head[2..].iter().cycle()) {
            *byte ^= mask;
        }
        frame(peer, head[0], &payload);
        if head[0] & 0xf == 8 {
            return;
        }
    }
}

fn frame(peer: &mut Peer, first: u8, payload: &[u8]) {
    let mut bytes = vec![first, u8::try_from(payload.len()).unwrap()];
    bytes.extend_from_slice(payload);
    peer.write(bytes);
}

fn close_frame(peer: &mut Peer, code: u16) {
    frame(peer, 0x88, &code.to_be_bytes());
    peer.wait_for_end();
}

/// Runs until the place is held by its second connection and that has had a message, and stops in good order.
fn run(server: &Server, spec: StreamSpec) -> (Run, [(RequestRecord, StreamRecord); 2]) {
    let mut load = load(200.0, vec![get(Lane::Reused)]);
    load.streams = vec![spec];
    let running = start(&server.url(), load, Arc::new(Direct));
    running.wait(|s| s.in_flight > 0);
    running.wait_for_stream();
    // The second one answers at once, and then at its cadence.
    std::thread::sleep(CADENCE * 4);
    let run = running.stop(Duration::from_secs(5));
    let slots = run.requests.iter().filter(|r| r.lane.has_slot()).count() as u64;
    assert_eq!(run.generator.planned, slots);
    let opened = run.requests.iter().filter(|r| r.lane.is_long_lived());
    let both: Vec<_> = opened.cloned().zip(run.streams.iter().cloned()).collect();
    assert!(both.iter().all(|(r, s)| r.seq == s.seq && r.name == s.name));
    let both: [_; 2] = both.try_into().unwrap();
    let [(_, first), (second, resumed)] = &both;
    assert_eq!((second.outcome, second.phase), (Outcome::Ok, Phase::Body));
    assert_eq!(resumed.end, StreamEnd::Held);
    assert!(resumed.messages > 0);
    assert_eq!(resumed.resumes, Some(first.seq));
    assert!(resumed.resumption_nanos.unwrap() > 0);
    assert_eq!(second.pod.as_deref(), Some("web-0"));
    assert!(second.written <= second.first_byte);
    (run, both)
}

/// What the first connection of a place left behind.
fn first(
    kind: StreamKind,
    change: impl FnOnce(&mut StreamSpec),
    behave: impl Fn(&mut Peer, &str) + Send + Sync + 'static,
) -> (RequestRecord, StreamRecord) {
    let server = server(kind, behave);
    let mut spec = spec(kind);
    change(&mut spec);
    let (_, [first, _]) = run(&server, spec);
    first
}

fn sse(behave: impl Fn(&mut Peer) + Send + Sync + 'static) -> (RequestRecord, StreamRecord) {
    first(
        StreamKind::Sse,
        |_| {},
        move |peer, _| {
            peer.write(SSE);
            peer.write(EVENT);
            behave(peer);
        },
    )
}

fn websocket(behave: impl Fn(&mut Peer) + Send + Sync + 'static) -> (RequestRecord, StreamRecord) {
    first(
        StreamKind::WebSocket,
        |_| {},
        move |peer, head| {
            accept(peer, head);
            echo(peer, 2);
            behave(peer);
        },
    )
}

#[test]
fn the_end_of_an_event_stream_is_no_failure() {
    let (request, stream) = sse(|peer| {
        peer.write(LAST);
        peer.wait_for_end();
    });
    assert_eq!((request.outcome, request.phase), (Outcome::Ok, Phase::Done));
    assert_eq!((stream.end, stream.messages), (StreamEnd::Closed, 1));
}

#[test]
fn the_end_of_an_event_stream_that_must_stay_open_is_a_failure() {
    let must_stay = |spec: &mut StreamSpec| spec.may_end = false;
    let (request, stream) = first(StreamKind::Sse, must_stay, |peer, _| {
        peer.write([SSE, EVENT, LAST].concat());
        peer.wait_for_end();
    });
    assert_eq!(request.outcome, Outcome::EndedEarly);
    assert_eq!(stream.end, StreamEnd::Closed);
}

#[test]
fn an_event_stream_without_its_last_chunk_was_cut() {
    let (request, stream) = sse(Peer::fin);
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::TruncatedBody, Phase::Body)
    );
    assert_eq!(stream.end, StreamEnd::Eof);
    let (request, stream) = sse(|peer| {
        // What came before the reset must have been read.
        std::thread::sleep(CADENCE);
        peer.reset();
    });
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::ResetInBody, Phase::Body)
    );
    assert_eq!(stream.end, StreamEnd::Reset);
}

#[test]
fn a_response_that_only_the_connection_ends_was_cut_when_that_ends() {
    let (request, stream) = first(
        StreamKind::Chunked,
        |_| {},
        |peer, _| {
            peer.write("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nonce and");
            peer.fin();
        },
    );
    assert_eq!(request.outcome, Outcome::TruncatedBody);
    assert_eq!((stream.end, stream.messages), (StreamEnd::Eof, 1));
}

#[test]
fn silences_are_recorded_and_one_that_is_too_long_is_a_failure() {
    let impatient = |spec: &mut StreamSpec| spec.max_silence = CADENCE * 6;
    let (request, stream) = first(StreamKind::Sse, impatient, |peer, _| {
        peer.write([SSE, EVENT].concat());
        std::thread::sleep(CADENCE * 3);
        peer.write(EVENT);
        peer.wait_for_end();
    });
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::DeadlineExceeded, Phase::Body)
    );
    assert_eq!((stream.end, stream.messages), (StreamEnd::Silence, 2));
    assert_eq!(stream.silences, 2);
    assert!(stream.longest_silence_nanos >= 6 * CADENCE.as_nanos() as i64);
}

#[test]
fn what_is_no_event_stream_is_never_opened() {
    for (answer, outcome) in [
        (
            "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n",
            Outcome::Status,
        ),
        (OK, Outcome::Protocol),
        ("SSH-2.0-OpenSSH\r\n\r\n", Outcome::Protocol),
    ] {
        let (request, stream) = first(
            StreamKind::Sse,
            |_| {},
            move |peer, _| {
                peer.write(answer);
                peer.wait_for_end();
            },
        );
        assert_eq!(request.outcome, outcome, "{answer:?}");
        assert_eq!((stream.end, stream.messages), (StreamEnd::NotOpened, 0));
    }
    let (request, stream) = first(StreamKind::Sse, |_| {}, |peer, _| peer.fin());
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::EofBeforeHeaders, Phase::Head)
    );
    assert_eq!(stream.end, StreamEnd::NotOpened);
}

#[test]
fn a_stream_that_never_answers_is_given_up_at_its_deadline() {
    let short = |spec: &mut StreamSpec| spec.request.deadline = Duration::from_millis(200);
    for kind in StreamKind::ALL {
        let (request, stream) = first(kind, short, |peer, _| peer.wait_for_end());
        assert_eq!(
            (request.outcome, request.phase),
            (Outcome::DeadlineExceeded, Phase::Head)
        );
        assert_eq!(stream.end, StreamEnd::NotOpened, "{kind:?}");
    }
}

#[test]
fn a_websocket_ends_in_good_order_with_its_code() {
    for code in [1000, 1001, 1012] {
        let (request, stream) = websocket(move |peer| close_frame(peer, code));
        assert_eq!(
            (request.outcome, request.phase),
            (Outcome::Ok, Phase::Done),
            "{code}"
        );
        assert_eq!(
            (stream.end, stream.close_code),
            (StreamEnd::Closed, Some(code))
        );
        assert_eq!(stream.messages, 2);
    }
}

#[test]
fn a_close_code_that_tells_of_a_failure_is_one() {
    let (request, stream) = websocket(|peer| close_frame(peer, 1011));
    assert_eq!(request.outcome, Outcome::CloseCode);
    assert_eq!(
        (stream.end, stream.close_code),
        (StreamEnd::Closed, Some(1011))
    );
}

#[test]
fn a_websocket_without_a_close_frame_was_cut() {
    let (request, stream) = websocket(Peer::fin);
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::TruncatedBody, Phase::Body)
    );
    assert_eq!((stream.end, stream.close_code), (StreamEnd::Eof, None));
    let (request, stream) = websocket(Peer::reset);
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::ResetInBody, Phase::Body)
    );
    assert_eq!(stream.end, StreamEnd::Reset);
}

#[test]
fn a_websocket_that_stops_to_echo_is_given_up() {
    let impatient = |spec: &mut StreamSpec| spec.max_silence = CADENCE * 4;
    let (request, stream) = first(StreamKind::WebSocket, impatient, |peer, head| {
        accept(peer, head);
        echo(peer, 1);
        peer.wait_for_end();
    });
    assert_eq!(request.outcome, Outcome::DeadlineExceeded);
    assert_eq!((stream.end, stream.messages), (StreamEnd::Silence, 1));
}

#[test]
fn what_is_no_websocket_is_never_opened() {
    let (request, stream) = first(
        StreamKind::WebSocket,
        |_| {},
        |peer, _| {
            peer.write(OK);
            peer.wait_for_end();
        },
    );
    assert_eq!(
        (request.outcome, request.status),
        (Outcome::Status, Some(200))
    );
    assert_eq!(stream.end, StreamEnd::NotOpened);
    let (request, _) = first(
        StreamKind::WebSocket,
        |_| {},
        |peer, _| {
            peer.write("HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: wrong\r\n\r\n");
            peer.wait_for_end();
        },
    );
    assert_eq!(request.outcome, Outcome::Protocol);
    let (request, _) = first(StreamKind::WebSocket, |_| {}, |peer, _| peer.fin());
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::EofBeforeHeaders, Phase::Head)
    );
    let (request, _) = websocket(|peer| {
        // A frame of a reserved kind.
        frame(peer, 0x83, b"?");
        peer.wait_for_end();
    });
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::Protocol, Phase::Body)
    );
}

#[test]
fn connections_that_are_held_are_closed_in_good_order_when_the_load_ends() {
    let server = server(StreamKind::WebSocket, |peer, head| {
        accept(peer, head);
        echo(peer, usize::MAX);
    });
    let mut load = load(200.0, vec![get(Lane::Reused)]);
    load.streams = vec![StreamSpec {
        count: 3,
        ..spec(StreamKind::WebSocket)
    }];
    let running = start(&server.url(), load, Arc::new(Direct));
    running.wait(|s| s.sent >= 200);
    let run = running.stop(Duration::from_secs(5));
    let places: Vec<u32> = run.streams.iter().map(|s| s.place).collect();
    assert_eq!(places, [0, 1, 2]);
    assert!(
        run.streams
            .iter()
            .all(|s| s.end == StreamEnd::Held && s.messages > 0)
    );
    let held = run.requests.iter().filter(|r| r.lane.is_long_lived());
    assert!(held.clone().all(|r| r.outcome == Outcome::Ok));
    assert_eq!(held.count(), 3);
}

#[test]
fn an_interrupted_load_leaves_them_as_they_are() {
    let server = server(StreamKind::Sse, |peer, _| {
        peer.write(SSE);
        peer.wait_for_end();
    });
    let mut load = load(200.0, vec![get(Lane::Reused)]);
    load.streams = vec![spec(StreamKind::Sse)];
    let running = start(&server.url(), load, Arc::new(Direct));
    running.wait(|s| s.sent >= 50);
    let run = running.abort();
    let held: Vec<_> = run
        .requests
        .iter()
        .filter(|r| r.lane.is_long_lived())
        .collect();
    assert_eq!(held.len(), 1);
    assert_eq!(held[0].outcome, Outcome::Aborted);
    assert_eq!(run.streams[0].end, StreamEnd::Aborted);
}
