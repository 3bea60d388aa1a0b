//! Starts container processes.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::sync::{oneshot, watch};

use super::messages::{LaunchRequest, Placement, ShimReport, line};
use super::{
    ContainerCommand, ContainerProcess, ExecOutput, ProcessHandle, SHIM_COMMAND, StartFailure,
};

/// How long a shim may take to start its command.
const START_LIMIT: Duration = Duration::from_secs(20);
/// What is kept of each stream of an [`Launcher::exec`], in bytes.
const OUTPUT_LIMIT: u64 = 10 * 1024;

/// Why a process was not started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The shim itself could not be run.
    #[error("can't run {program:?} {SHIM_COMMAND}: {source}")]
    Shim {
        /// The sandbox's program.
        program: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The shim ran, the command did not.
    #[error(transparent)]
    Command(#[from] StartFailure),
    /// The launcher has been closed.
    #[error("the sandbox is stopping")]
    Closed,
}

/// Counts one process as long as it lives.
#[derive(Debug)]
pub(super) struct Running(Arc<watch::Sender<usize>>);

impl Running {
    fn new(count: &Arc<watch::Sender<usize>>) -> Self {
        count.send_modify(|n| *n += 1);
        Self(Arc::clone(count))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|n| *n -= 1);
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// Starts processes from one thread that lives until [`Launcher::close`] or the drop of the last clone; with that
/// thread the kernel ends every process that it started.
#[derive(Debug, Clone)]
pub struct Launcher {
    program: PathBuf,
    running: Arc<watch::Sender<usize>>,
    jobs: Arc<Mutex<Option<mpsc::Sender<Job>>>>,
}

impl Launcher {
    /// A launcher that uses `program`'s hidden subcommands (see [`super::hidden_main`]). Must be called within a tokio
    /// runtime.
    pub fn new(program: PathBuf) -> io::Result<Self> {
        let (jobs, todo) = mpsc::channel::<Job>();
        let runtime = tokio::runtime::Handle::current();
        std::thread::Builder::new()
            .name("pod-launcher".to_owned())
            .spawn(move || {
                let _runtime = runtime.enter();
                for job in todo {
                    job();
                }
            })?;
        Ok(Self {
            program,
            running: Arc::new(watch::channel(0).0),
            jobs: Arc::new(Mutex::new(Some(jobs))),
        })
    }

    /// Ends the launcher's thread, and with it every process that it started.
    pub fn close(&self) {
        self.jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    /// Waits until every process that was started has ended, and its shim too.
    pub async fn idle(&self) {
        // The sender lives as long as `self`.
        let _ = self.running.subscribe().wait_for(|n| *n == 0).await;
    }

    /// Starts a container's command in namespaces of its own. `label` shows in the process table.
    pub async fn start(
        &self,
        label: &str,
        command: ContainerCommand,
    ) -> Result<ContainerProcess, LaunchError> {
        self.launch(label, command, Placement::New).await
    }

    /// Runs a command beside a running container, in its namespaces, to its end. Dropping the future kills the command.
    pub async fn exec(
        &self,
        label: &str,
        beside: &ProcessHandle,
        command: ContainerCommand,
    ) -> Result<ExecOutput, LaunchError> {
        let placement = Placement::Join(beside.pid, beside.isolation.clone());
        let process = self.launch(label, command, placement).await?;
        let (done, output) = oneshot::channel();
        // A task of its own sees the command to its end, so that its shim reaps it whatever becomes of this future.
        tokio::spawn(see_through(process, done));
        output.await.map_err(|_| LaunchError::Closed)
    }

    async fn launch(
        &self,
        label: &str,
        command: ContainerCommand,
        placement: Placement,
    ) -> Result<ContainerProcess, LaunchError> {
        let failed = |source: io::Error| LaunchError::Shim {
            program: self.program.clone(),
            source,
        };
        let request = LaunchRequest {
            parent: nix::unistd::getpid().as_raw(),
            command,
            placement,
        };
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
        ours.set_nonblocking(true).map_err(failed)?;
        let mut control = BufReader::new(UnixStream::from_std(ours).map_err(failed)?);
        let shim = self.spawn(label, theirs.into()).await?;
        let request = line(&request).map_err(failed)?;
        control
            .get_mut()
            .write_all(&request)
            .await
            .map_err(failed)?;
        let mut answer = String::new();
        tokio::time::timeout(START_LIMIT, control.read_line(&mut answer))
            .await
            .map_err(|_| failed(io::ErrorKind::TimedOut.into()))?
            .map_err(failed)?;
        match serde_json::from_str(&answer).map_err(|e| failed(e.into()))? {
            ShimReport::Started { pid, isolation } => {
                let handle = ProcessHandle { pid, isolation };
                let running = Running::new(&self.running);
                Ok(ContainerProcess::new(handle, control, shim, running))
            }
            ShimReport::Failed(failure) => Err(failure.into()),
            ShimReport::Exited { .. } | ShimReport::Signaled { .. } => {
                Err(failed(io::Error::other("ended before it started")))
            }
        }
    }

    async fn spawn(&self, label: &str, control: OwnedFd) -> Result<Child, LaunchError> {
        let mut command = Command::new(&self.program);
        command
            .arg(SHIM_COMMAND)
            .arg(label)
            .stdin(Stdio::from(control))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        self.on_thread(move || command.spawn())
            .ok_or(LaunchError::Closed)?
            .await
            .map_err(|_| LaunchError::Closed)?
            .map_err(|source| LaunchError::Shim {
                program: self.program.clone(),
                source,
            })
    }

    /// Hands work to the thread; where its result will arrive.
    fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<oneshot::Receiver<T>> {
        let (done, result) = oneshot::channel();
        let job: Job = Box::new(move || {
            let _ = done.send(work());
        });
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.as_ref()?.send(job).ok()?;
        Some(result)
    }
}

async fn see_through(mut process: ContainerProcess, mut done: oneshot::Sender<ExecOutput>) {
    let stdout = read_start(process.stdout.take());
    let stderr = read_start(process.stderr.take());
    let handle = process.handle().clone();
    let end = async { tokio::join!(process.wait(), stdout, stderr) };
    tokio::pin!(end);
    let (exit, stdout, stderr) = tokio::select! {
        end = &mut end => end,
        () = done.closed() => {
            // It is our own child's child, which nobody has reaped: there is no other error than its death.
            let _ = handle.signal(Signal::SIGKILL);
            end.await
        }
    };
    // Nobody waits for the output of a command that was killed.
    let _ = done.send(ExecOutput {
        exit,
        output: stdout + &stderr,
    });
}

async fn read_start(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else {
        return String::new();
    };
    let mut start = Vec::new();
    let _ = (&mut stream)
        .take(OUTPUT_LIMIT)
        .read_to_end(&mut start)
        .await;
    // The rest is read and forgotten: a full pipe would stop the command.
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&start).into_owned()
}
