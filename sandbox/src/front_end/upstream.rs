//! One endpoint with its pool of keep-alive connections.

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::endpoint::Endpoint;

/// Idle connections that are kept to one endpoint.
const IDLE_CONNECTIONS: usize = 320;

/// How long an idle connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// A connection to an endpoint on which requests can be sent.
pub(super) type Sender = SendRequest<Incoming>;

/// An endpoint that gets traffic. Retired once it gets no new traffic; its requests in flight go on.
#[derive(Debug)]
pub(super) struct Upstream {
    name: String,
    socket: SocketAddr,
    pool: Mutex<Pool>,
}

#[derive(Debug, Default)]
struct Pool {
    retired: bool,
    /// The one that was used last is at the end.
    idle: Vec<(Sender, Instant)>,
}

/// Why there is no connection to an endpoint.
#[derive(Debug)]
pub(super) enum ConnectFailure {
    /// Nothing listens there, or it can't be reached.
    Refused,
    /// No answer in time.
    TimedOut,
}

impl Upstream {
    /// An endpoint without connections.
    pub(super) fn new(endpoint: &Endpoint) -> Self {
        Self {
            name: endpoint.name.clone(),
            socket: endpoint.socket,
            pool: Mutex::default(),
        }
    }

    /// Whether this is still that endpoint.
    pub(super) fn is(&self, endpoint: &Endpoint) -> bool {
        self.name == endpoint.name && self.socket == endpoint.socket
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) const fn socket(&self) -> SocketAddr {
        self.socket
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No new requests from now on: closes the idle connections, and the others as they become idle.
    pub(super) fn retire(&self) {
        let mut pool = self.lock();
        pool.retired = true;
        pool.idle.clear();
    }

    /// The idle connection that was used last. Those known to be closed, or idle for too long, are discarded.
    pub(super) fn take_idle(&self) -> Option<Sender> {
        let now = Instant::now();
        let mut pool = self.lock();
        pool.idle
            .retain(|(sender, since)| !sender.is_closed() && now - *since < IDLE_TIMEOUT);
        let ready = pool
            .idle
            .iter()
            .rposition(|(sender, _)| sender.is_ready())?;
        Some(pool.idle.remove(ready).0)
    }

    /// Takes back a connection whose response is complete.
    pub(super) fn give_back(&self, sender: Sender) {
        let mut pool = self.lock();
        if !pool.retired && !sender.is_closed() && pool.idle.len() < IDLE_CONNECTIONS {
            pool.idle.push((sender, Instant::now()));
        }
    }

    /// Opens a connection.
    pub(super) async fn connect(&self, limit: Duration) -> Result<Sender, ConnectFailure> {
        let connected = timeout(limit, TcpStream::connect(self.socket)).await;
        let stream = match connected {
            Err(_) => return Err(ConnectFailure::TimedOut),
            Ok(Err(e)) if e.kind() == io::ErrorKind::TimedOut => {
                return Err(ConnectFailure::TimedOut);
            }
            Ok(Err(_)) => return Err(ConnectFailure::Refused),
            Ok(Ok(stream)) => stream,
        };
        // Without it only latency suffers.
        let _ = stream.set_nodelay(true);
        let handshake = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(|_| ConnectFailure::Refused)?;
        // Its errors are reported by the request that they hit. It ends when its sender is dropped.
        tokio::spawn(async move { connection.await.ok() });
        Ok(sender)
    }
}
