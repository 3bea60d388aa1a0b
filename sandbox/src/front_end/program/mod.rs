//! Front ends that are real programs: nginx and HAProxy, started with a generated configuration.
//!
//! A program follows the routes as an ingress controller makes it do: nginx by a new configuration and a reload, HAProxy
//! over its runtime API. Its access log is written in a format that decides who made a status.

mod child;
mod haproxy;
mod log_tail;
mod nginx;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use nix::sys::signal::Signal;
use rollscope_scenarios::FrontEnd as FrontEndKind;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::error::FrontEndError;
use super::routes::Routes;
use child::{Child, Folder};
use haproxy::Haproxy;
use log_tail::LogTail;
pub use log_tail::ProgramLog;
use nginx::Nginx;

/// How long a program may take to listen.
const START_LIMIT: Duration = Duration::from_secs(20);

/// How long it may take to apply a change.
const APPLY_LIMIT: Duration = Duration::from_secs(10);

/// How long it may take to finish what is in flight when it is told to end.
const QUIT_LIMIT: Duration = Duration::from_secs(3);

const POLL: Duration = Duration::from_millis(10);

/// A running balancer.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) address: SocketAddr,
    kind: Kind,
    child: Child,
    logs: Vec<LogTail>,
    /// The version of the routes that it has applied.
    applied: Arc<AtomicU64>,
    /// The last: its sockets and logs are in it.
    folder: Folder,
}

#[derive(Debug, Clone)]
enum Kind {
    Nginx(Nginx),
    Haproxy(Haproxy),
}

impl Program {
    /// Starts the program of `kind` on a free port of loopback. `retries`: how often it tries a request elsewhere.
    pub(super) async fn start(kind: FrontEndKind, retries: u32) -> Result<Self, FrontEndError> {
        let failed = |source: io::Error| FrontEndError::Program {
            program: kind.as_str(),
            said: source.to_string(),
        };
        let folder = Folder::new().map_err(failed)?;
        let address = free_address().map_err(failed)?;
        let dir = folder.path().to_owned();
        let (kind_of, command) = match kind {
            FrontEndKind::Haproxy => {
                let haproxy = Haproxy::new(dir, address, retries);
                (Kind::Haproxy(haproxy.clone()), haproxy.command())
            }
            _ => {
                let nginx = Nginx::new(dir, address, retries);
                (Kind::Nginx(nginx.clone()), nginx.command())
            }
        };
        kind_of.configure().map_err(failed)?;
        let child = Child::start(command, folder.path(), kind.as_str())?;
        let logs = kind_of.logs();
        let mut program = Self {
            address,
            kind: kind_of,
            child,
            logs,
            applied: Arc::default(),
            folder,
        };
        program.listening(kind.as_str()).await?;
        Ok(program)
    }

    /// Waits until it listens.
    async fn listening(&mut self, name: &'static str) -> Result<(), FrontEndError> {
        let begun = Instant::now();
        loop {
            if TcpStream::connect(self.address).await.is_ok() {
                return Ok(());
            }
            let ended = self.child.has_ended();
            if ended || begun.elapsed() > START_LIMIT {
                let why = if ended {
                    "it ended"
                } else {
                    "it does not listen"
                };
                let said = self.child.said(self.folder.path());
                return Err(FrontEndError::Program {
                    program: name,
                    said: format!("{why}: {said}"),
                });
            }
            sleep(POLL).await;
        }
    }

    /// Keeps the program's routes up to date, for as long as it is polled.
    pub(super) fn follow(&self, routes: Arc<Routes>) -> impl Future<Output = ()> + use<> {
        let (mut kind, pid, applied) = (
            self.kind.clone(),
            self.child.pid(),
            Arc::clone(&self.applied),
        );
        async move {
            let mut changes = routes.changes();
            loop {
                let version = *changes.borrow_and_update();
                // It may have ended, which the load sees.
                let _ = kind.apply(&routes.sockets(), pid).await;
                applied.store(version, SeqCst);
                if changes.changed().await.is_err() {
                    return;
                }
            }
        }
    }

    /// Whether the routes that there are now are applied.
    pub(super) fn has_applied(&self, routes: &Routes) -> bool {
        self.applied.load(SeqCst) >= *routes.changes().borrow()
    }

    /// What its logs are.
    pub(super) fn logs(&self) -> Vec<ProgramLog> {
        self.logs.iter().map(LogTail::what).collect()
    }

    /// The lines that were written since the last call, by the log's number.
    pub(super) fn read_logs(&mut self) -> Vec<(usize, String)> {
        let tails = self.logs.iter_mut().enumerate();
        tails
            .flat_map(|(i, tail)| tail.read().into_iter().map(move |line| (i, line)))
            .collect()
    }

    /// Ends it. nginx may finish what is in flight; HAProxy, which logs a word of its own about a soft stop, ends at once.
    pub(super) fn quit(&mut self) {
        let signal = match self.kind {
            Kind::Nginx(_) => Signal::SIGQUIT,
            Kind::Haproxy(_) => Signal::SIGTERM,
        };
        self.child.end(signal, QUIT_LIMIT);
    }
}

impl Kind {
    fn configure(&self) -> io::Result<()> {
        match self {
            Self::Nginx(nginx) => nginx.configure(&[]),
            Self::Haproxy(haproxy) => haproxy.configure(),
        }
    }

    async fn apply(&mut self, sockets: &[SocketAddr], pid: nix::unistd::Pid) -> io::Result<()> {
        match self {
            Self::Nginx(nginx) => nginx.apply(sockets, pid).await,
            Self::Haproxy(haproxy) => haproxy.apply(sockets).await,
        }
    }

    fn logs(&self) -> Vec<LogTail> {
        match self {
            Self::Nginx(nginx) => nginx.logs(),
            Self::Haproxy(haproxy) => haproxy.logs(),
        }
    }
}

/// A port that is free now.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// A command of a program that is started with its configuration.
#[derive(Debug)]
struct ProgramCommand {
    program: &'static str,
    /// Debian's package of it.
    package: &'static str,
    args: Vec<String>,
    /// Where its standard output goes.
    stdout: Option<PathBuf>,
}
