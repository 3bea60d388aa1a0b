//! The program of a subject.

use std::convert::Infallible;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::sleep;

use super::ledger::Ledger;
use super::server::Server;
use super::settings::{Settings, SettingsError};
use super::shutdown::{self, AtSignal, StopSignals};
use super::{Subject, app, body};

/// Connections that the kernel holds until they are accepted.
const BACKLOG: u32 = 1024;

/// Why a subject did not serve.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("cannot open the ledger {path}: {source}: check SUBJECT_LEDGER")]
    Ledger { path: String, source: io::Error },
    #[error("cannot listen on {address}: {source}: check POD_IP and PORT")]
    Listen {
        address: std::net::SocketAddr,
        source: io::Error,
    },
    #[error("cannot start the event loop: {0}")]
    Runtime(io::Error),
}

/// Runs the subject that the environment asks for, until it ends. `env` gives the value of a variable; see
/// [`Settings`] for which. Exit codes: what the subject's behaviour says, 2 when the environment is wrong (with a
/// message on stderr), 1 when it cannot listen.
pub fn run(env: impl Fn(&str) -> Option<String>) -> ExitCode {
    ExitCode::from(exit_code(&env))
}

/// [`run`], with the exit code as a number.
pub(super) fn exit_code(env: &dyn Fn(&str) -> Option<String>) -> u8 {
    try_run(env).unwrap_or_else(|error| {
        // Nobody to tell if stderr is closed.
        let _ = writeln!(io::stderr(), "error: {error}");
        match error {
            RunError::Settings(_) => 2,
            _ => 1,
        }
    })
}

fn try_run(env: &dyn Fn(&str) -> Option<String>) -> Result<u8, RunError> {
    let settings = Settings::from_env(env)?;
    let ledger =
        Ledger::open(settings.ledger.as_deref(), &settings.pod_name).map_err(|source| {
            let path = settings.ledger.clone().unwrap_or_default();
            RunError::Ledger {
                path: path.display().to_string(),
                source,
            }
        })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RunError::Runtime)?;
    runtime.block_on(serve(settings, ledger))
}

async fn serve(settings: Settings, ledger: Ledger) -> Result<u8, RunError> {
    let server = Arc::new(Server::new(settings, ledger));
    server.ledger.started();
    server.log("start", &[("pod", json!(server.settings.pod_name))]);
    // Before anything else: a signal must not find a half-started process without its handler.
    let signals = match server.at_signal {
        AtSignal::Unhandled => None,
        _ => Some(StopSignals::install().map_err(RunError::Runtime)?),
    };
    if server.settings.subject == Subject::ReadyTooEarly {
        serve_health(&server)?;
        sleep(server.settings.listen_delay).await;
    }
    let listener = listen(server.settings.address)?;
    server.ledger.step("listening");
    server.log("listening", &[]);
    let accepting = server.accept(listener);
    let working = Arc::clone(&server);
    tokio::spawn(async move { working.jobs.work(&working.pool).await });
    if let (Subject::Crash, Some(after)) = (server.settings.subject, server.settings.crash_after) {
        let crashing = Arc::clone(&server);
        tokio::spawn(async move {
            sleep(after).await;
            crash(&crashing);
        });
    }
    Ok(shutdown::at_signal(&server, signals, accepting).await)
}

fn listen(address: std::net::SocketAddr) -> Result<TcpListener, RunError> {
    let open = || {
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    open().map_err(|source| RunError::Listen { address, source })
}

/// Answers health checks on their own port.
fn serve_health(server: &Arc<Server>) -> Result<(), RunError> {
    let mut address = server.settings.address;
    address.set_port(server.settings.health_port);
    let listener = listen(address)?;
    let server = Arc::clone(server);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let server = Arc::clone(&server);
            let service = service_fn(move |request: Request<Incoming>| {
                let answer = app::health(&server, request.uri().path()).unwrap_or_else(|| {
                    let mut response = Response::new(body::empty());
                    *response.status_mut() = StatusCode::NOT_FOUND;
                    response
                });
                async move { Ok::<_, Infallible>(answer) }
            });
            // An error is the client's end of the connection.
            let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::spawn(async move { serving.await.ok() });
        }
    });
    Ok(())
}

/// Ends the process as an uncaught exception does.
pub(super) fn crash(server: &Server) -> ! {
    server.log("uncaught_exception", &[]);
    server.ledger.exit(1);
    std::process::exit(1)
}
