//! TLS against a server with a certificate of its own, and against servers that are none.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rollscope_records::{
    ClosedBy, ConnectionRecord, Lane, Outcome, Phase, RequestRecord, RunClock, Text,
};
use rollscope_scenarios::{Load, Rate, RequestSpec, TlsSpec};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::{Direct, Tls};
use crate::plan::Plan;
use crate::recording::RecordSink;
use crate::running::{Checked, RunningLoad};

#[derive(Default)]
struct Sink {
    requests: Mutex<Vec<RequestRecord>>,
    connections: Mutex<Vec<ConnectionRecord>>,
}

impl RecordSink for Sink {
    fn records(&self, requests: Vec<RequestRecord<Text>>, connections: Vec<ConnectionRecord>) {
        let requests = requests.iter().map(RequestRecord::to_record);
        self.requests.lock().unwrap().extend(requests);
        self.connections.lock().unwrap().extend(connections);
    }
}

fn listen(behave: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let behave = Arc::new(behave);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let behave = Arc::clone(&behave);
            std::thread::spawn(move || behave(stream));
        }
    });
    url
}

type TlsPeer = StreamOwned<ServerConnection, TcpStream>;

/// A TLS server with a self-signed certificate, which `serve`s each connection; and the roots that trust it.
fn tls_server(serve: impl Fn(TlsPeer) + Send + Sync + 'static) -> (String, RootCertStore) {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone()).unwrap();
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], PrivateKeyDer::Pkcs8(key))
        .unwrap();
    let config = Arc::new(config);
    let url = listen(move |stream| {
        // Or the answer waits behind the session tickets for a delayed ACK.
        stream.set_nodelay(true).unwrap();
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        serve(StreamOwned::new(session, stream));
    });
    (url, roots)
}

fn read_request(peer: &mut TlsPeer) -> bool {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match peer.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}

fn answer(peer: &mut TlsPeer) {
    peer.write_all(OK).unwrap();
    peer.flush().unwrap();
}

/// Sends until `requests` are over.
fn run(
    url: &str,
    roots: RootCertStore,
    lane: Lane,
    requests: u64,
) -> (Vec<RequestRecord>, Vec<ConnectionRecord>) {
    let spec = RequestSpec {
        deadline: Duration::from_millis(500),
        connections: lane,
        ..RequestSpec::new("root", "GET", "/")
    };
    let load = Load {
        max_in_flight: 10,
        ..Load::new(Rate::Constant(9.0), vec![spec])
    };
    let plan = Plan::new(&load, url, &|_| None).unwrap();
    let sink = Arc::<Sink>::default();
    let load = RunningLoad::start_checked(Checked {
        tls: Some(Tls::trusting(&plan.base, &TlsSpec::default(), roots).unwrap()),
        plan: Arc::new(plan),
        clock: RunClock::start(),
        sink: sink.clone(),
        dialer: Arc::new(Direct),
        program: None,
    })
    .unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while load.stats().ok + load.stats().failed < requests {
        assert!(Instant::now() < deadline, "{:?}", load.stats());
        std::thread::sleep(Duration::from_millis(1));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(load.stop(Duration::from_secs(5)));
    let requests = std::mem::take(&mut *sink.requests.lock().unwrap());
    let connections = std::mem::take(&mut *sink.connections.lock().unwrap());
    (requests, connections)
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[test]
fn trusted_servers_are_spoken_to_on_new_and_on_reused_connections() {
    let (url, roots) = tls_server(|mut peer| {
        while read_request(&mut peer) {
            answer(&mut peer);
        }
    });
    let (fresh, connections) = run(&url, roots.clone(), Lane::New, 2);
    assert!(
        fresh.iter().all(|r| r.outcome == Outcome::Ok && !r.reused),
        "{fresh:?}"
    );
    assert_eq!(connections.len(), fresh.len());
    let (kept, connections) = run(&url, roots, Lane::Reused, 3);
    assert!(kept.iter().all(|r| r.outcome == Outcome::Ok), "{kept:?}");
    assert!(kept[1..].iter().all(|r| r.reused), "{kept:?}");
    assert_eq!(connections.len(), 1);
    assert_eq!(kept[1].bytes_received, OK.len() as u64);
    assert!(kept[1].written.is_some() && kept[1].written <= kept[1].first_byte);
}

fn handshake_failure(url: &str, roots: RootCertStore) -> (RequestRecord, ConnectionRecord) {
    let (mut requests, mut connections) = run(url, roots, Lane::New, 1);
    let (request, connection) = (requests.remove(0), connections.remove(0));
    assert_eq!(request.phase, Phase::Tls, "{request:?}");
    assert!(request.connected.is_some() && request.written.is_none());
    assert_eq!((request.bytes_sent, request.bytes_received), (0, 0));
    assert_eq!(request.connection, Some(connection.id));
    assert!(connection.established.is_some());
    (request, connection)
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_a_tls_failure() {
    let (url, _) = tls_server(|mut peer| {
        read_request(&mut peer);
    });
    let (request, connection) = handshake_failure(&url, RootCertStore::empty());
    assert_eq!(request.outcome, Outcome::Tls);
    assert_eq!(connection.closed_by, Some(ClosedBy::Client));
}

#[test]
fn a_server_that_speaks_no_tls_is_a_tls_failure() {
    let url = listen(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let (request, _) = handshake_failure(&url, RootCertStore::empty());
    assert_eq!((request.outcome, request.errno), (Outcome::Tls, None));
}

#[test]
fn an_end_of_the_connection_in_the_handshake_is_a_tls_failure() {
    let url = listen(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
    });
    let (request, connection) = handshake_failure(&url, RootCertStore::empty());
    assert_eq!(request.outcome, Outcome::Tls);
    assert_eq!(connection.closed_by, Some(ClosedBy::PeerFin));
}

#[test]
fn silence_in_the_handshake_is_deadline_exceeded() {
    let url = listen(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let (request, connection) = handshake_failure(&url, RootCertStore::empty());
    assert_eq!(request.outcome, Outcome::DeadlineExceeded);
    assert_eq!(connection.closed_by, Some(ClosedBy::Client));
}

#[test]
fn fin_with_and_without_a_close_alert_before_the_head_is_eof() {
    for alert in [true, false] {
        let (url, roots) = tls_server(move |mut peer| {
            if read_request(&mut peer) && alert {
                peer.conn.send_close_notify();
                let _ = peer.flush();
            }
        });
        let (requests, connections) = run(&url, roots, Lane::New, 1);
        let request = &requests[0];
        assert_eq!(
            (request.outcome, request.phase),
            (Outcome::EofBeforeHeaders, Phase::Head)
        );
        assert_eq!(connections[0].closed_by, Some(ClosedBy::PeerFin));
    }
}

#[test]
fn idle_tls_connections_that_the_server_closes_are_replaced() {
    let (url, roots) = tls_server(|mut peer| {
        if read_request(&mut peer) {
            answer(&mut peer);
            std::thread::sleep(Duration::from_millis(20));
            peer.conn.send_close_notify();
            let _ = peer.flush();
        }
    });
    let (requests, connections) = run(&url, roots, Lane::Reused, 3);
    assert!(
        requests
            .iter()
            .all(|r| r.outcome == Outcome::Ok && !r.reused)
    );
    let by_peer = |c: &&ConnectionRecord| c.closed_by == Some(ClosedBy::PeerFin);
    let closed = connections.iter().filter(by_peer);
    assert!(
        closed.filter(|c| c.closed_idle).count() >= 2,
        "{connections:?}"
    );
}

#[test]
fn a_name_that_stops_resolving_is_a_dns_failure() {
    // Resolved by nobody, as `start_checked` does not check the name again.
    let url = "https://no-such-host.invalid";
    let (requests, connections) = run(url, RootCertStore::empty(), Lane::New, 1);
    assert_eq!(
        (requests[0].outcome, requests[0].phase),
        (Outcome::Dns, Phase::Resolve)
    );
    assert_eq!((requests[0].connection, requests[0].errno), (None, None));
    assert!(connections.is_empty());
}
