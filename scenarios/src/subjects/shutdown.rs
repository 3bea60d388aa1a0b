//! What a subject does when it is told to stop.

use std::io;
use std::time::Duration;

use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::Subject;
use super::server::{Server, Stage};
use super::settings::Settings;

/// From the end of the drain's deadline to the safety timer.
const SAFETY_MARGIN: Duration = Duration::from_secs(1);

/// What happens at SIGTERM or SIGINT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AtSignal {
    /// No handler is installed: the kernel decides.
    Unhandled,
    /// Exit 0 at once.
    Exit,
    /// Begin a cleanup, do not wait for it, exit 0.
    ExitDuringCleanup,
    /// Drain.
    Drain(Drain),
}

/// A drain: readiness off, propagation delay, listener, connections, jobs, pool, exit 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Drain {
    /// From the signal to the close of the listener.
    delay: Duration,
    /// Whether readiness turns 503 at the signal.
    tells_readiness: bool,
    /// Whether connections in use are closed after their response, and responses say so.
    closes_busy: bool,
    /// Whether event streams and WebSockets are ended once the listener is closed.
    ends_streams: bool,
    /// From the close of the listener until requests in flight are cut; `None` waits as long as they take.
    deadline: Option<Duration>,
    /// From the signal to exit 1, whatever hangs.
    safety: Option<Duration>,
    pool: PoolClose,
}

/// When the pool is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PoolClose {
    /// Before anything else.
    First,
    /// At once, beside the drain, and again after it: two owners.
    Twice,
    /// When nothing can need it any more.
    Last,
    /// Last, and it never finishes.
    Hangs,
}

impl AtSignal {
    /// What the subject of these settings does.
    pub(super) fn of(settings: &Settings) -> Self {
        let deadline = settings.drain_deadline;
        let reference = Drain {
            delay: settings.drain_delay,
            tells_readiness: !settings.keeps_ready,
            closes_busy: true,
            ends_streams: true,
            deadline: Some(deadline),
            safety: settings
                .safety
                .or(Some(settings.drain_delay + deadline + SAFETY_MARGIN)),
            pool: PoolClose::Last,
        };
        let unbounded = Drain {
            ends_streams: false,
            deadline: None,
            safety: None,
            ..reference.clone()
        };
        match settings.subject {
            Subject::NoHandler => Self::Unhandled,
            Subject::ExitNow => Self::Exit,
            Subject::UnawaitedCleanup => Self::ExitDuringCleanup,
            Subject::EarlyClose => Self::Drain(Drain {
                delay: Duration::ZERO,
                ..unbounded
            }),
            Subject::Overrun => Self::Drain(unbounded),
            Subject::KeepaliveHang => Self::Drain(Drain {
                closes_busy: false,
                ..unbounded
            }),
            Subject::SameDeadline => Self::Drain(Drain {
                safety: None,
                ..reference
            }),
            Subject::PoolFirst => Self::Drain(Drain {
                pool: PoolClose::First,
                ..reference
            }),
            Subject::DoubleOwner => Self::Drain(Drain {
                pool: PoolClose::Twice,
                ..reference
            }),
            Subject::ForcedExit => Self::Drain(Drain {
                pool: PoolClose::Hangs,
                ..reference
            }),
            Subject::Graceful
            | Subject::ShortKeepalive
            | Subject::ReadyTooEarly
            | Subject::SlowStart
            | Subject::Crash => Self::Drain(reference),
        }
    }

    /// Whether two handlers of the signal shut down.
    const fn has_two_owners(&self) -> bool {
        matches!(
            self,
            Self::Drain(Drain {
                pool: PoolClose::Twice,
                ..
            })
        )
    }

    /// Whether the drain ends event streams and WebSockets in good order.
    pub(super) const fn ends_streams(&self) -> bool {
        matches!(
            self,
            Self::Drain(Drain {
                ends_streams: true,
                ..
            })
        )
    }

    /// Whether the drain ends connections that are in use, after their response.
    pub(super) const fn closes_busy(&self) -> bool {
        matches!(
            self,
            Self::Drain(Drain {
                closes_busy: true,
                ..
            })
        )
    }
}

/// The signals that mean "stop". Their handlers are installed for the life of the process: a second signal changes
/// nothing.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Installs the handlers.
    pub(super) fn install() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// The first signal, as the log names it.
    async fn first(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "sigterm",
            _ = self.interrupt.recv() => "sigint",
        }
    }
}

/// Waits for the signal, shuts down, and gives the exit code. `accepting` ends when the listener is closed.
pub(super) async fn at_signal(
    server: &Server,
    signals: Option<StopSignals>,
    accepting: JoinHandle<()>,
) -> u8 {
    let Some(mut signals) = signals else {
        // Nothing to wait for: the process serves until it is killed.
        return std::future::pending().await;
    };
    let which = signals.first().await;
    server.ledger.step("signal");
    server.log(which, &[]);
    if server.at_signal.has_two_owners() {
        // Each handler says so.
        server.log(which, &[]);
    }
    match &server.at_signal {
        AtSignal::Drain(drain) => drain_or_exit(server, drain, accepting).await,
        AtSignal::ExitDuringCleanup => {
            server.log("readiness_off", &[]);
            exit_now(server)
        }
        AtSignal::Exit | AtSignal::Unhandled => {
            log_exit(server, 0, 0);
            exit_now(server)
        }
    }
}

fn exit_now(server: &Server) -> ! {
    server.ledger.exit(0);
    std::process::exit(0)
}

fn log_exit(server: &Server, code: u8, cut: u64) {
    let served = server.answered();
    server.log(
        "exit",
        &[
            ("code", json!(code)),
            ("served", json!(served)),
            ("cut", json!(cut)),
        ],
    );
}

async fn drain_or_exit(server: &Server, drain: &Drain, accepting: JoinHandle<()>) -> u8 {
    let safety = async {
        match drain.safety {
            Some(after) => sleep(after).await,
            None => std::future::pending().await,
        }
    };
    let (code, cut) = tokio::select! {
        cut = run_drain(server, drain, accepting) => (0, cut),
        () = safety => {
            server.ledger.step("timeout");
            server.log("shutdown_timeout", &[]);
            (1, server.in_flight())
        }
    };
    log_exit(server, code, cut);
    server.ledger.exit(code);
    code
}

/// The drain and the close of the pool, before, beside or after it. Gives the number of requests that it cut.
async fn run_drain(server: &Server, drain: &Drain, accepting: JoinHandle<()>) -> u64 {
    if drain.pool == PoolClose::First {
        close_pool(server).await;
    }
    let hooks = async {
        if drain.pool == PoolClose::Twice {
            close_pool(server).await;
        }
    };
    let ((), cut) = tokio::join!(hooks, drain_requests(server, drain, accepting));
    match drain.pool {
        PoolClose::First => (),
        PoolClose::Last | PoolClose::Twice => close_pool(server).await,
        PoolClose::Hangs => std::future::pending().await,
    }
    cut
}

async fn close_pool(server: &Server) {
    server.pool.close().await;
    server.ledger.step("pool_closed");
    server.log("pool_closed", &[]);
}

/// The drain, step by step. Gives the number of requests that it cut.
async fn drain_requests(server: &Server, drain: &Drain, accepting: JoinHandle<()>) -> u64 {
    if drain.tells_readiness {
        server.enter(Stage::Draining);
        server.ledger.step("draining");
        server.log("readiness_off", &[]);
    }
    if !drain.delay.is_zero() {
        sleep(drain.delay).await;
    }
    server.enter(Stage::Refusing);
    // The task cannot be cancelled, and its end is the close of the listener.
    let _ = accepting.await;
    server.ledger.step("refusing");
    server.log("listener_closed", &[]);
    server.ledger.step("closing");
    server.enter(Stage::Closing);
    let cut = finish_requests(server, drain.deadline).await;
    server.log("drained", &[("cut", json!(cut))]);
    if let Some(returned) = server.jobs.stop().await {
        server.log("worker_stopped", &[("returned", json!(returned))]);
    }
    cut
}

/// Waits for the requests in flight, cuts those that are left at the deadline, and counts them.
async fn finish_requests(server: &Server, deadline: Option<Duration>) -> u64 {
    let Some(deadline) = deadline else {
        server.connections_gone().await;
        return 0;
    };
    if timeout(deadline, server.connections_gone()).await.is_ok() {
        return 0;
    }
    let cut = server.in_flight();
    server.ledger.step("cutting");
    server.enter(Stage::Cut);
    server.connections_gone().await;
    cut
}
