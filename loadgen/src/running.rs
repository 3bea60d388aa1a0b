//! Starting, watching and stopping a load.

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rollscope_records::{GeneratorRecord, RunClock};
use rollscope_scenarios::Load;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::oneshot::error::RecvError;
use tokio::sync::{oneshot, watch};

use crate::LoadError;
use crate::connection::{Dialer, Tls};
use crate::driver::{Command, Driver};
use crate::plan::Plan;
use crate::recording::{Counters, LoadStats, RecordSink};

/// Open files besides the requests in flight: recording, watches, idle connections.
const OTHER_FILES: u64 = 256;

/// Gives the value of an environment variable, `None` when it is not set.
pub type EnvLookup = Box<dyn Fn(&str) -> Option<String>>;

/// A load to start.
pub struct LoadConfig {
    /// Rate, cap and requests. Its `base_url` is not used.
    pub load: Load,
    /// Scheme, host and port of the target.
    pub base_url: String,
    /// Gives the values of environment variables for headers.
    pub env: EnvLookup,
    /// The run's clock.
    pub clock: RunClock,
    /// Takes the records: a [`RecordingWriter`](rollscope_records::RecordingWriter).
    pub recorder: Arc<dyn RecordSink>,
    /// Where connections really go; [`Direct`](crate::Direct) for the addresses themselves.
    pub dialer: Arc<dyn Dialer>,
}

impl std::fmt::Debug for LoadConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadConfig")
            .field("load", &self.load)
            .field("base_url", &self.base_url)
            .field("dialer", &self.dialer)
            .finish_non_exhaustive()
    }
}

/// A load that has passed every check, on its way to the generator's thread.
pub(crate) struct Checked {
    pub(crate) plan: Plan,
    pub(crate) tls: Option<Tls>,
    pub(crate) clock: RunClock,
    pub(crate) sink: Arc<dyn RecordSink>,
    pub(crate) dialer: Arc<dyn Dialer>,
}

impl Checked {
    fn new(config: LoadConfig) -> Result<Self, LoadError> {
        let plan = Plan::new(&config.load, &config.base_url, config.env.as_ref())?;
        let tls = Tls::for_target(&plan.base)?;
        allow_open_files(plan.max_in_flight)?;
        plan.base.check_resolves()?;
        Ok(Self {
            plan,
            tls,
            clock: config.clock,
            sink: config.recorder,
            dialer: config.dialer,
        })
    }
}

/// A load that is running on a thread of its own. Dropping it aborts the load.
#[derive(Debug)]
pub struct RunningLoad {
    counters: Arc<Counters>,
    commands: watch::Sender<Command>,
    result: oneshot::Receiver<GeneratorRecord>,
    thread: JoinHandle<()>,
}

impl RunningLoad {
    /// Checks the load and starts it; slot 0 is due at once. Blocks while the target's name is resolved.
    ///
    /// # Errors
    ///
    /// Everything that can be known to be wrong before the first request is sent.
    pub fn start(config: LoadConfig) -> Result<Self, LoadError> {
        Self::start_checked(Checked::new(config)?)
    }

    pub(crate) fn start_checked(checked: Checked) -> Result<Self, LoadError> {
        let counters = Arc::new(Counters::default());
        let shared = Arc::clone(&counters);
        let (commands, orders) = watch::channel(Command::Run);
        let (report, result) = oneshot::channel();
        let (ready, is_ready) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("loadgen".to_owned())
            .spawn(move || match Driver::new(checked, shared) {
                Ok(driver) => {
                    let _ = ready.send(Ok(()));
                    let _ = report.send(driver.run(orders));
                }
                Err(e) => drop(ready.send(Err(e))),
            })
            .map_err(LoadError::Thread)?;
        match is_ready.recv() {
            Ok(Ok(())) => {}
            Ok(Err(e)) => return Err(LoadError::Thread(e)),
            Err(gone) => return Err(LoadError::Thread(std::io::Error::other(gone))),
        }
        Ok(Self {
            counters,
            commands,
            result,
            thread,
        })
    }

    /// The state of the load. Counts are exact; quantiles and the rate are renewed every second while slots are
    /// being sent.
    pub fn stats(&self) -> LoadStats {
        self.counters.snapshot()
    }

    /// Sends no more slots, waits up to `drain` for those in flight (each ends at its own deadline at the latest), and
    /// records the rest as aborted. Every record has been handed over when this returns.
    ///
    /// # Panics
    ///
    /// If the generator's thread has panicked, with its panic.
    pub async fn stop(self, drain: Duration) -> GeneratorRecord {
        self.stop_unless(drain, std::future::pending()).await
    }

    /// As [`stop`](Self::stop); when `impatience` completes first, as [`abort`](Self::abort).
    ///
    /// # Panics
    ///
    /// If the generator's thread has panicked, with its panic.
    pub async fn stop_unless(
        mut self,
        drain: Duration,
        impatience: impl Future<Output = ()>,
    ) -> GeneratorRecord {
        self.commands.send_replace(Command::Drain(drain));
        tokio::select! {
            biased;
            ended = &mut self.result => self.ended(ended),
            () = impatience => self.abort().await,
        }
    }

    /// Ends the load at once; what is in flight is recorded as aborted.
    ///
    /// # Panics
    ///
    /// If the generator's thread has panicked, with its panic.
    pub async fn abort(mut self) -> GeneratorRecord {
        self.commands.send_replace(Command::Abort);
        let ended = (&mut self.result).await;
        self.ended(ended)
    }

    fn ended(self, ended: Result<GeneratorRecord, RecvError>) -> GeneratorRecord {
        match ended {
            Ok(record) => record,
            Err(gone) => match self.thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => unreachable!("the thread reports before it ends: {gone}"),
            },
        }
    }
}

/// Raises this process's limit of open files where `in_flight` needs it.
fn allow_open_files(in_flight: usize) -> Result<(), LoadError> {
    let needed = in_flight as u64 + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|soft| soft >= needed) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(needed),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).map_err(|_| LoadError::OpenFiles {
        wanted: in_flight,
        limit: limit.maximum.or(limit.current).unwrap_or(0),
    })
}
