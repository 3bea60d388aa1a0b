//! Connections that cannot be made.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rollscope_loadgen::{Dialer, Direct};
use rollscope_records::{ClosedBy, Lane, Outcome, Phase, RequestRecord};
use socket2::{Domain, Socket, Type};

use crate::harness::{Run, ended, get, load, start};

const ECONNREFUSED: i32 = 111;
const ENETUNREACH: i32 = 101;
const EHOSTUNREACH: i32 = 113;
const EADDRNOTAVAIL: i32 = 99;
const ECONNRESET: i32 = 104;
const ETIMEDOUT: i32 = 110;

fn one_attempt(url: &str, dialer: Arc<dyn Dialer>) -> Run {
    let mut spec = get(Lane::New);
    spec.deadline = Duration::from_millis(300);
    let running = start(url, load(0.001, vec![spec]), dialer);
    running.wait(|s| ended(s) >= 1);
    running.stop(Duration::ZERO)
}

fn failed_attempt(run: &Run) -> &RequestRecord {
    let [request] = run.requests.as_slice() else {
        panic!("one record: {run:?}")
    };
    assert_eq!(request.phase, Phase::Connect);
    assert_eq!((request.bytes_sent, request.bytes_received), (0, 0));
    assert_eq!((request.connected, request.written), (None, None));
    assert!(!request.maskable && !request.reused);
    assert!(request.scheduled <= request.dispatched.unwrap());
    assert!(request.dispatched <= request.ended);
    let [connection] = run.connections.as_slice() else {
        panic!("one attempt: {run:?}")
    };
    assert_eq!(request.connection, Some(connection.id));
    assert_eq!((connection.established, connection.closed_by), (None, None));
    assert_eq!(connection.requests, 0);
    request
}

fn free_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

#[test]
fn a_port_without_a_listener_refuses() {
    let address = free_port();
    let run = one_attempt(&format!("http://{address}"), Arc::new(Direct));
    let request = failed_attempt(&run);
    assert_eq!(request.outcome, Outcome::ConnectRefused);
    assert_eq!(request.errno, Some(ECONNREFUSED));
    assert_eq!(request.peer.as_deref(), Some(address.to_string().as_str()));
}

#[test]
fn an_ipv6_port_without_a_listener_refuses() {
    let run = one_attempt("http://[::1]:9", Arc::new(Direct));
    let request = failed_attempt(&run);
    // Where there is no IPv6 at all, the address is not available.
    let expected = [
        Outcome::ConnectRefused,
        Outcome::ConnectLocal,
        Outcome::ConnectUnreachable,
    ];
    assert!(expected.contains(&request.outcome), "{request:?}");
    assert_eq!(request.peer.as_deref(), Some("[::1]:9"));
}

#[test]
fn a_full_backlog_is_a_connect_timeout_at_the_deadline() {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    socket.bind(&any.into()).unwrap();
    socket.listen(0).unwrap();
    let listener: TcpListener = socket.into();
    let address = listener.local_addr().unwrap();
    let mut filling = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
        filling.push(stream);
        assert!(filling.len() < 100, "the backlog never fills");
    }
    let run = one_attempt(&format!("http://{address}"), Arc::new(Direct));
    let request = failed_attempt(&run);
    assert_eq!(request.outcome, Outcome::ConnectTimeout);
    assert_eq!(request.errno, None);
    let waited = request
        .ended
        .unwrap()
        .nanos_since(request.dispatched.unwrap());
    assert!(waited >= 300_000_000, "{waited}");
}

#[test]
fn an_address_without_a_route_is_unreachable() {
    // The kernel has no route to the broadcast address for TCP; nothing is sent.
    let run = one_attempt("http://255.255.255.255:9", Arc::new(Direct));
    let request = failed_attempt(&run);
    assert_eq!(request.outcome, Outcome::ConnectUnreachable);
    assert_eq!(request.errno, Some(ENETUNREACH));
}

#[test]
fn connections_that_are_reset_on_arrival_fail_once_each_and_by_what_was_written() {
    let server = crate::server::Server::start(|peer| peer.reset());
    let run = crate::harness::run(&server, 100.0, get(Lane::New), 40);
    for request in &run.requests {
        // The handshake is complete before the server resets, so how far the client gets is a matter of microseconds.
        let before = [Outcome::ConnectReset, Outcome::ClosedBeforeSend];
        let after = [Outcome::WriteFailed, Outcome::ResetBeforeHeaders];
        let expected = if request.bytes_sent == 0 {
            before
        } else {
            after
        };
        assert!(expected.contains(&request.outcome), "{request:?}");
        assert!(
            !request.maskable && request.errno == Some(ECONNRESET),
            "{request:?}"
        );
    }
    assert_eq!(run.connections.len(), run.requests.len());
    assert_eq!(run.generator.idle_closes, 0);
}

#[test]
fn a_names_addresses_are_tried_in_order_until_one_connects() {
    let server = crate::server::Server::answering(crate::server::OK);
    let url = format!("http://localhost:{}", server.address.port());
    let running = start(&url, load(0.001, vec![get(Lane::New)]), Arc::new(Direct));
    running.wait(|s| ended(s) >= 1);
    let run = running.stop(Duration::ZERO);
    run.check(&server);
    let request = &run.requests[0];
    let address = server.address.to_string();
    assert_eq!(request.outcome, Outcome::Ok, "{request:?}");
    assert_eq!(request.peer.as_deref(), Some(address.as_str()));
    // Where ::1 comes first, nobody listens there.
    let (last, refused) = run.connections.split_last().unwrap();
    assert_eq!((request.connection, last.requests), (Some(last.id), 1));
    assert!(refused.iter().all(|c| c.established.is_none()));
}

/// Fails every attempt with an error number.
#[derive(Debug)]
struct Failing(i32);

impl Dialer for Failing {
    fn dial(&self, _: SocketAddr) -> io::Result<SocketAddr> {
        Err(io::Error::from_raw_os_error(self.0))
    }
}

#[test]
fn a_dialers_error_counts_as_the_kernels() {
    for (errno, outcome) in [
        (ECONNREFUSED, Outcome::ConnectRefused),
        (ECONNRESET, Outcome::ConnectReset),
        (ETIMEDOUT, Outcome::ConnectTimeout),
        (EHOSTUNREACH, Outcome::ConnectUnreachable),
        (EADDRNOTAVAIL, Outcome::ConnectLocal),
    ] {
        let run = one_attempt("http://127.0.0.1:9", Arc::new(Failing(errno)));
        let request = failed_attempt(&run);
        assert_eq!(request.outcome, outcome);
        assert_eq!(request.errno, Some(errno));
    }
}

/// Sends every connection to one address.
#[derive(Debug)]
struct Redirecting(SocketAddr);

impl Dialer for Redirecting {
    fn dial(&self, _: SocketAddr) -> io::Result<SocketAddr> {
        Ok(self.0)
    }
}

#[test]
fn the_record_carries_the_address_that_was_asked_for() {
    let server = crate::server::Server::answering(crate::server::OK);
    let running = start(
        "http://127.1.2.3:80",
        load(0.001, vec![get(Lane::New)]),
        Arc::new(Redirecting(server.address)),
    );
    running.wait(|s| ended(s) >= 1);
    let run = running.stop(Duration::ZERO);
    run.check(&server);
    assert_eq!(run.requests[0].outcome, Outcome::Ok);
    assert_eq!(run.requests[0].peer.as_deref(), Some("127.1.2.3:80"));
    assert_eq!(run.connections[0].peer.as_deref(), Some("127.1.2.3:80"));
    assert_eq!(run.connections[0].closed_by, Some(ClosedBy::Client));
    assert!(server.seen()[0].head.contains("host: 127.1.2.3:80\r\n"));
}
