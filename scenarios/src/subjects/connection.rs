//! One connection: its requests, from head to last byte, and its end.

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, sleep_until};

use super::app;
use super::server::{Server, Stage};

/// How long a connection that never sent a request may hold a drain.
const UNUSED_GRACE: Duration = Duration::from_secs(1);

/// What is known of one connection's requests.
#[derive(Debug)]
pub(super) struct Track {
    conn: u64,
    server: Arc<Server>,
    requests: Mutex<Requests>,
}

#[derive(Debug)]
struct Requests {
    received: u64,
    /// Received and not answered: number, and the status once the whole body was taken.
    open: Vec<(u64, Option<u16>)>,
    /// When the last one was answered, or the connection accepted.
    idle_since: Instant,
}

impl Track {
    fn new(conn: u64, server: Arc<Server>) -> Self {
        server.connection_opened();
        let requests = Mutex::new(Requests {
            received: 0,
            open: Vec::new(),
            idle_since: Instant::now(),
        });
        Self {
            conn,
            server,
            requests,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request's head was read. Returns its number on this connection.
    pub(super) fn received(&self, method: &str, path: &str) -> u64 {
        let mut requests = self.lock();
        requests.received += 1;
        let n = requests.received;
        requests.open.push((n, None));
        self.server.request_received();
        self.server.ledger.received(self.conn, n, method, path);
        n
    }

    /// Everything of the response to request `n` is in the connection's write buffer.
    pub(super) fn body_taken(&self, n: u64, status: u16) {
        if let Some(open) = self.lock().open.iter_mut().find(|(open, _)| *open == n) {
            open.1 = Some(status);
            self.server.ledger.answering(self.conn, n);
        }
    }

    /// What was held open as request `n` came to an end in good order.
    pub(super) fn ended(&self, n: u64) {
        self.body_taken(n, 101);
        self.flushed();
    }

    /// The write buffer has been written to the socket.
    fn flushed(&self) {
        let mut requests = self.lock();
        while let Some(&(n, Some(status))) = requests.open.first() {
            requests.open.remove(0);
            requests.idle_since = Instant::now();
            self.server.request_answered();
            self.server.ledger.answered(self.conn, n, status);
        }
    }

    fn is_idle(&self) -> bool {
        let requests = self.lock();
        requests.received > 0 && requests.open.is_empty()
    }

    fn is_unused(&self) -> bool {
        self.lock().received == 0
    }

    /// When the connection is to be closed, should nothing more happen on it.
    fn expiry(&self, server: &Server, closing: bool) -> Instant {
        let keep_alive = server.settings.keep_alive;
        let requests = self.lock();
        match (requests.received, requests.open.is_empty()) {
            (0, _) if closing => server.stage_since() + UNUSED_GRACE,
            (_, true) => requests.idle_since + keep_alive,
            (_, false) => Instant::now() + keep_alive,
        }
    }

    /// The server that the connection belongs to.
    pub(super) const fn server(&self) -> &Arc<Server> {
        &self.server
    }
}

impl Drop for Track {
    fn drop(&mut self) {
        let requests = self
            .requests
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for (n, _) in requests.open.drain(..) {
            self.server.request_unanswered();
            self.server.ledger.unanswered(self.conn, n);
        }
        self.server.connection_closed();
    }
}

/// Serves one connection to its end.
pub(super) async fn serve(server: Arc<Server>, stream: TcpStream, conn: u64) {
    let track = Arc::new(Track::new(conn, Arc::clone(&server)));
    let io = TokioIo::new(TrackedStream {
        stream,
        track: Arc::clone(&track),
    });
    let handled = Arc::clone(&track);
    let service = service_fn(move |request| app::handle(Arc::clone(&handled), request));
    let mut http = pin!(
        http1::Builder::new()
            .serve_connection(io, service)
            .with_upgrades()
    );
    let (mut closing, mut expired) = (false, false);
    loop {
        let expiry = track.expiry(&server, closing);
        tokio::select! {
            biased;
            // An error is the client's end of the connection; `Track` accounts for its requests.
            _ = &mut http => return,
            () = settled(&server, Stage::Closing), if !closing => {
                closing = true;
                if track.is_idle() && !server.settings.close_travel.is_zero() {
                    return on_its_way(&server).await;
                }
                if track.is_idle() || (!track.is_unused() && server.drain_closes_busy()) {
                    http.as_mut().graceful_shutdown();
                }
            }
            () = server.reached(Stage::Cut), if closing => return,
            () = sleep_until(expiry), if !expired => {
                if track.expiry(&server, closing) <= Instant::now() {
                    expired = true;
                    if track.is_idle() && !server.settings.close_travel.is_zero() {
                        return on_its_way(&server).await;
                    }
                    http.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// Closed, but the client does not know it yet: nothing is read any more, and what it has sent by the end makes the
/// kernel reset the connection.
async fn on_its_way(server: &Server) {
    sleep(server.settings.close_travel).await;
}

/// Waits for a stage, and then for whatever the sockets have to say, so that a request which is already there is read
/// before its connection is judged idle.
async fn settled(server: &Server, stage: Stage) {
    server.reached(stage).await;
    tokio::task::yield_now().await;
}

/// A socket that tells its [`Track`] when everything written so far is with the kernel. hyper flushes its socket only
/// once its own buffer is empty.
struct TrackedStream {
    stream: TcpStream,
    track: Arc<Track>,
}

impl AsyncRead for TrackedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for TrackedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.track.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
