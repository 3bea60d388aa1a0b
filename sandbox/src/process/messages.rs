//! What sandbox, shim and init say to each other: one JSON object a line, over a socket on standard input. Commands
//! and environments go this way and not by the command line, where every process of the machine could read them.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Isolation;

/// What a container runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerCommand {
    /// Program and arguments. A program without a slash is looked up in the `PATH` of `env`.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// The working directory.
    pub working_dir: PathBuf,
    /// The host name that the container sees, where it has namespaces of its own.
    pub hostname: String,
}

/// Why a command did not start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct StartFailure {
    /// The phase, what was tried, and the system's words.
    pub message: String,
    /// The system's error number, if it was a system call that failed.
    pub errno: Option<i32>,
}

impl StartFailure {
    pub(super) fn new(phase: &str, error: &io::Error) -> Self {
        Self {
            message: format!("{phase}: {error}"),
            errno: error.raw_os_error(),
        }
    }
}

/// The namespaces that a command runs in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Placement {
    /// New ones: the command becomes PID 1.
    New,
    /// Those of a running container, given by the host pid of its PID 1.
    Join(i32, Isolation),
}

/// From the sandbox to the shim.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LaunchRequest {
    /// The sandbox's pid: a shim with another parent was orphaned before it could ask for its death signal.
    pub(super) parent: i32,
    pub(super) command: ContainerCommand,
    pub(super) placement: Placement,
}

/// From the shim to the init.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InitRequest {
    pub(super) command: ContainerCommand,
    /// Whether the init is to make its own mount and host name namespaces.
    pub(super) own_mounts: bool,
}

/// From the init to the shim. A closed socket without `Failed` means that the command runs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum InitReport {
    /// The death signal is set.
    Ready,
    Failed(StartFailure),
}

/// From the shim to the sandbox.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ShimReport {
    Started { pid: i32, isolation: Isolation },
    Failed(StartFailure),
    Exited { code: i32 },
    Signaled { signal: i32 },
}

/// The socket that is this process's standard input.
pub(super) fn control_socket() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Writes one message.
pub(super) fn send<T: Serialize>(mut socket: &UnixStream, message: &T) -> io::Result<()> {
    socket.write_all(&line(message)?)
}

/// The message as a line.
pub(super) fn line<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads one message; `None` at the end.
pub(super) fn receive<T: DeserializeOwned>(
    socket: &mut BufReader<UnixStream>,
) -> io::Result<Option<T>> {
    let mut line = String::new();
    if socket.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}
