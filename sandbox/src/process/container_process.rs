//! A running container process, as its starter sees it.

use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, ChildStdout};

use super::Isolation;
use super::descendants::signal_set;
use super::launcher::Running;
use super::messages::ShimReport;

/// How long a shim may take to end after its report.
const SHIM_END: Duration = Duration::from_secs(3);

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Exit {
    /// The exit code that a container status shows: the code, or 128 + the signal's number.
    pub const fn status_code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

/// What a command printed and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecOutput {
    /// How it ended.
    pub exit: Exit,
    /// Standard output and standard error, the first 10 KiB of each, lossy.
    pub output: String,
}

/// Names a started process. Do not signal it after [`ContainerProcess::reap`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessHandle {
    /// The host pid of the command (PID 1 of its namespace).
    pub pid: i32,
    /// How it is set apart.
    pub isolation: Isolation,
}

impl ProcessHandle {
    /// Sends a signal to the command. A process that is already dead is no error.
    ///
    /// The kernel gives PID 1 no default action. A command that is not PID 1 (see [`Isolation::Unavailable`]) gets the
    /// same treatment here: a signal for which it has no handler is not sent, but for SIGKILL and SIGSTOP.
    pub fn signal(&self, signal: Signal) -> Result<(), Errno> {
        let unstoppable = matches!(signal, Signal::SIGKILL | Signal::SIGSTOP);
        if !unstoppable && !self.isolation.is_pid_1() && !self.catches(signal) {
            return Ok(());
        }
        match kill(Pid::from_raw(self.pid), signal) {
            Err(Errno::ESRCH) => Ok(()),
            other => other,
        }
    }

    fn catches(&self, signal: Signal) -> bool {
        let caught = signal_set(&self.pid.to_string(), "SigCgt").unwrap_or(0);
        caught & (1 << (signal as i32 - 1)) != 0
    }
}

/// A started command with its shim. Dropping it kills both.
#[derive(Debug)]
pub struct ContainerProcess {
    /// The command's standard output, until it is taken.
    pub stdout: Option<ChildStdout>,
    /// The command's standard error, until it is taken.
    pub stderr: Option<ChildStderr>,
    handle: ProcessHandle,
    control: Option<BufReader<UnixStream>>,
    shim: Child,
    _running: Running,
}

impl ContainerProcess {
    pub(super) fn new(
        handle: ProcessHandle,
        control: BufReader<UnixStream>,
        mut shim: Child,
        running: Running,
    ) -> Self {
        Self {
            stdout: shim.stdout.take(),
            stderr: shim.stderr.take(),
            handle,
            control: Some(control),
            shim,
            _running: running,
        }
    }

    /// The process's name, for signals.
    pub const fn handle(&self) -> &ProcessHandle {
        &self.handle
    }

    /// The host pid of the shim.
    pub fn shim_pid(&self) -> Option<u32> {
        self.shim.id()
    }

    /// Waits for the end of the command (and with it of its whole PID namespace). Signals reach nobody else after it:
    /// the pid is not free before [`ContainerProcess::reap`]. A shim that was killed takes its command along: that
    /// counts as death by SIGKILL. Not cancel safe: a dropped wait may lose the report.
    pub async fn exited(&mut self) -> Exit {
        const LOST: Exit = Exit::Signal(Signal::SIGKILL as i32);
        let Some(control) = &mut self.control else {
            return LOST;
        };
        let mut line = String::new();
        match control.read_line(&mut line).await {
            Ok(1..) => match serde_json::from_str(&line) {
                Ok(ShimReport::Exited { code }) => Exit::Code(code),
                Ok(ShimReport::Signaled { signal }) => Exit::Signal(signal),
                _ => LOST,
            },
            _ => LOST,
        }
    }

    /// Lets the shim reap the ended command and end itself.
    pub async fn reap(mut self) {
        self.end_shim().await;
    }

    /// Waits for the end of the command and reaps it.
    pub async fn wait(&mut self) -> Exit {
        let exit = self.exited().await;
        self.end_shim().await;
        exit
    }

    async fn end_shim(&mut self) {
        self.control = None;
        if tokio::time::timeout(SHIM_END, self.shim.wait())
            .await
            .is_err()
        {
            let _ = self.shim.start_kill();
        }
    }
}
