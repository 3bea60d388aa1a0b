//! The server: its listener, its counts, and the stage of its shutdown that everything else looks at.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::connection;
use super::jobs::Jobs;
use super::ledger::Ledger;
use super::log;
use super::pool::Pool;
use super::settings::Settings;
use super::shutdown::AtSignal;

/// How far the shutdown has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// No signal yet.
    Serving,
    /// Readiness is off; everything is still served.
    Draining,
    /// The listener is closed.
    Refusing,
    /// Connections are closed as they become idle.
    Closing,
    /// Connections are dropped as they are.
    Cut,
}

/// One running subject.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) settings: Settings,
    pub(super) at_signal: AtSignal,
    pub(super) ledger: Ledger,
    pub(super) pool: Pool,
    pub(super) jobs: Jobs,
    pub(super) started: Instant,
    /// The stage and when it began.
    stage: watch::Sender<(Stage, Instant)>,
    connections: watch::Sender<u64>,
    accepted: AtomicU64,
    in_flight: AtomicU64,
    answered: AtomicU64,
}

impl Server {
    pub(super) fn new(settings: Settings, ledger: Ledger) -> Self {
        let now = Instant::now();
        Self {
            at_signal: AtSignal::of(&settings),
            settings,
            ledger,
            pool: Pool::new(),
            jobs: Jobs::default(),
            started: now,
            stage: watch::Sender::new((Stage::Serving, now)),
            connections: watch::Sender::new(0),
            accepted: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        }
    }

    /// Writes a log line with the counts of now.
    pub(super) fn log(&self, event: &str, more: &[(&str, Value)]) {
        log::step(event, self.in_flight(), *self.connections.borrow(), more);
    }

    /// Waits for a stage.
    pub(super) async fn reached(&self, stage: Stage) {
        // The sender lives as long as `self`.
        let _ = self.stage.subscribe().wait_for(|s| s.0 >= stage).await;
    }

    pub(super) fn enter(&self, stage: Stage) {
        self.stage.send_replace((stage, Instant::now()));
    }

    /// When the present stage began.
    pub(super) fn stage_since(&self) -> Instant {
        self.stage.borrow().1
    }

    pub(super) fn is_draining(&self) -> bool {
        self.stage.borrow().0 >= Stage::Draining
    }

    /// Whether a response is to say `Connection: close`.
    pub(super) fn says_close(&self) -> bool {
        self.is_draining() && self.drain_closes_busy()
    }

    /// Whether the drain ends connections that are in use, after their response.
    pub(super) fn drain_closes_busy(&self) -> bool {
        self.at_signal.closes_busy()
    }

    /// Waits until a drain ends what is held open; where it does not, for ever.
    pub(super) async fn streams_end(&self) {
        if self.at_signal.ends_streams() {
            self.reached(Stage::Closing).await;
        } else {
            std::future::pending().await
        }
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight.load(Relaxed)
    }

    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Relaxed)
    }

    pub(super) fn connection_opened(&self) {
        self.connections.send_modify(|n| *n += 1);
    }

    pub(super) fn connection_closed(&self) {
        self.connections.send_modify(|n| *n -= 1);
    }

    pub(super) fn request_received(&self) {
        self.in_flight.fetch_add(1, Relaxed);
    }

    pub(super) fn request_answered(&self) {
        self.in_flight.fetch_sub(1, Relaxed);
        self.answered.fetch_add(1, Relaxed);
    }

    pub(super) fn request_unanswered(&self) {
        self.in_flight.fetch_sub(1, Relaxed);
    }

    /// Waits until no connection is open.
    pub(super) async fn connections_gone(&self) {
        // The sender lives as long as `self`.
        let _ = self.connections.subscribe().wait_for(|n| *n == 0).await;
    }

    /// Accepts connections until the listener is to be closed, and closes it.
    pub(super) fn accept(self: &Arc<Self>, listener: TcpListener) -> JoinHandle<()> {
        let server = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    biased;
                    () = server.reached(Stage::Refusing) => return,
                    accepted = listener.accept() => server.accepted(accepted).await,
                }
            }
        })
    }

    async fn accepted(self: &Arc<Self>, accepted: io::Result<(TcpStream, std::net::SocketAddr)>) {
        let Ok((stream, client)) = accepted else {
            // No file descriptors, or a connection that died in the backlog: what listens must not spin.
            sleep(Duration::from_millis(5)).await;
            return;
        };
        let conn = self.accepted.fetch_add(1, Relaxed) + 1;
        self.ledger.accepted(conn, client.port());
        // Without it only latency suffers.
        let _ = stream.set_nodelay(true);
        tokio::spawn(connection::serve(Arc::clone(self), stream, conn));
    }
}
