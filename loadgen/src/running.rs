//! Starting, watching and stopping a load.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rollscope_records::{GeneratorRecord, JourneysRecord, RunClock};
use rollscope_scenarios::Load;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::oneshot::error::RecvError;
use tokio::sync::{oneshot, watch};

use crate::connection::{Dialer, Tls};
use crate::driver::{self, Command, Driver, Finish, Part, Share};
use crate::journeys::Walking;
use crate::long_lived::{Holding, Order};
use crate::plan::Plan;
use crate::recording::{Counters, LoadStats, RecordSink};
use crate::{LoadError, LoadShare};

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
    /// This generator's share where several make the load together; `None` for all of it, from now on.
    pub share: Option<LoadShare>,
    /// The program whose command `journeys` is [`journeys_main`](crate::journeys_main): this one. Only loads with journeys
    /// need it.
    pub program: Option<PathBuf>,
}

impl std::fmt::Debug for LoadConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadConfig")
            .field("load", &self.load)
            .field("base_url", &self.base_url)
            .field("dialer", &self.dialer)
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}

/// A load that has passed every check, on its way to the generator's threads.
#[derive(Clone)]
pub(crate) struct Checked {
    pub(crate) plan: Arc<Plan>,
    pub(crate) tls: Option<Tls>,
    pub(crate) clock: RunClock,
    pub(crate) sink: Arc<dyn RecordSink>,
    pub(crate) dialer: Arc<dyn Dialer>,
    pub(crate) program: Option<PathBuf>,
}

impl Checked {
    fn new(config: LoadConfig) -> Result<Self, LoadError> {
        let mut plan = Plan::new(&config.load, &config.base_url, config.env.as_ref())?;
        if let Some(share) = config.share {
            plan.take(share);
        }
        let tls = Tls::for_target(&plan.base, &plan.load.tls)?;
        allow_open_files(plan.most_connections())?;
        plan.destination.check_resolves()?;
        Ok(Self {
            plan: Arc::new(plan),
            tls,
            clock: config.clock,
            sink: config.recorder,
            dialer: config.dialer,
            program: config.program,
        })
    }
}

/// A load that is running on threads of its own. Dropping it aborts the load.
#[derive(Debug)]
pub struct RunningLoad {
    counters: Arc<Counters>,
    commands: watch::Sender<Command>,
    result: oneshot::Receiver<GeneratorRecord>,
    threads: Vec<JoinHandle<()>>,
    held: Option<Holding>,
    walking: Option<Walking>,
}

/// What the threads of a load leave behind; the last one of them makes the generator's record of it.
struct Parts {
    checked: Checked,
    counters: Arc<Counters>,
    parts: Mutex<Vec<Part>>,
    report: Mutex<Option<oneshot::Sender<GeneratorRecord>>>,
}

impl Parts {
    fn add(&self, part: Part) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.push(part);
        if parts.len() < self.checked.plan.threads {
            return;
        }
        let lost = self.checked.sink.lost();
        let record = driver::record(&self.checked.plan, &self.counters, &parts, lost);
        let report = self
            .report
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(report) = report {
            let _ = report.send(record);
        }
    }
}

impl RunningLoad {
    /// Checks the load and starts it; slot 0 is due at once, or when its share says. Blocks while the target's name is resolved.
    ///
    /// # Errors
    ///
    /// Everything that can be known to be wrong before the first request is sent.
    pub fn start(config: LoadConfig) -> Result<Self, LoadError> {
        Self::start_checked(Checked::new(config)?)
    }

    pub(crate) fn start_checked(checked: Checked) -> Result<Self, LoadError> {
        let (threads, clock) = (checked.plan.threads, checked.clock);
        let starts = checked.plan.share.map(|s| s.starts);
        let held = Holding::start(&checked).map_err(LoadError::Thread)?;
        let walking = walking(&checked).map_err(LoadError::Journeys)?;
        let counters = Arc::new(Counters::new(threads));
        let (commands, orders) = watch::channel(Command::Wait);
        let (report, result) = oneshot::channel();
        let parts = Arc::new(Parts {
            checked,
            counters: Arc::clone(&counters),
            parts: Mutex::default(),
            report: Mutex::new(Some(report)),
        });
        let finish = Arc::new(Finish::new(threads));
        let threads = (0..threads as u64).map(|index| {
            let share = Share {
                index,
                of: threads as u64,
            };
            start_thread(
                share,
                Arc::clone(&parts),
                Arc::clone(&finish),
                orders.clone(),
            )
        });
        let threads = threads
            .collect::<Result<_, _>>()
            .map_err(LoadError::Thread)?;
        commands.send_replace(Command::Run(starts.unwrap_or_else(|| clock.now())));
        Ok(Self {
            counters,
            commands,
            result,
            threads,
            held,
            walking,
        })
    }

    /// The state of the load. Counts are exact; quantiles and the rate are renewed every second while slots are
    /// being sent.
    pub fn stats(&self) -> LoadStats {
        let slots = self.counters.snapshot();
        let held = self.held.as_ref().map(Holding::stats);
        let walked = self.walking.as_ref().map(Walking::stats);
        let beside = held.iter().chain(&walked);
        beside.fold(slots, LoadStats::with_beside)
    }

    fn order(&self, order: Order) {
        if let Some(held) = &self.held {
            held.order(order);
        }
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
        self.order(Order::Finish);
        if let Some(walking) = &self.walking {
            walking.stop();
        }
        let mut impatience = pin!(impatience);
        let ended = tokio::select! {
            biased;
            ended = &mut self.result => ended,
            () = &mut impatience => return self.abort().await,
        };
        let walked = match self.walking.take() {
            Some(walking) => Some(walking.over(drain, impatience).await),
            None => None,
        };
        self.ended(ended, walked).await
    }

    /// Ends the load at once; what is in flight is recorded as aborted.
    ///
    /// # Panics
    ///
    /// If the generator's thread has panicked, with its panic.
    pub async fn abort(mut self) -> GeneratorRecord {
        self.commands.send_replace(Command::Abort);
        self.order(Order::Abort);
        if let Some(walking) = &self.walking {
            walking.abort();
        }
        let ended = (&mut self.result).await;
        let walked = match self.walking.take() {
            Some(walking) => Some(walking.over(Duration::ZERO, std::future::pending()).await),
            None => None,
        };
        self.ended(ended, walked).await
    }

    async fn ended(
        self,
        ended: Result<GeneratorRecord, RecvError>,
        walked: Option<JourneysRecord>,
    ) -> GeneratorRecord {
        match ended {
            Ok(mut record) => {
                record.journeys = walked;
                if let Some(held) = self.held {
                    record.cpu_us += held.over().await;
                }
                record
            }
            Err(gone) => {
                // A thread that ended without its part has panicked; the others end with the load's commands.
                drop(self.commands);
                let panic = self.threads.into_iter().find_map(|t| t.join().err());
                match panic {
                    Some(panic) => std::panic::resume_unwind(panic),
                    None => unreachable!("threads report before they end: {gone}"),
                }
            }
        }
    }
}

/// Starts the journeys of the load, if it has any.
fn walking(checked: &Checked) -> std::io::Result<Option<Walking>> {
    match &checked.program {
        Some(program) => Walking::start(checked, program),
        None if checked.plan.journeys.is_empty() => Ok(None),
        None => Err(std::io::Error::other("no program was given for them")),
    }
}

/// Starts one thread of the generator, and waits until it is ready.
fn start_thread(
    share: Share,
    parts: Arc<Parts>,
    finish: Arc<Finish>,
    orders: watch::Receiver<Command>,
) -> std::io::Result<JoinHandle<()>> {
    let (ready, is_ready) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new()
        .name(format!("loadgen-{}", share.index))
        .spawn(move || {
            let counters = Arc::clone(&parts.counters);
            match Driver::new(&parts.checked, share, counters, finish) {
                Ok(driver) => {
                    let _ = ready.send(Ok(()));
                    parts.add(driver.run(orders));
                }
                Err(e) => drop(ready.send(Err(e))),
            }
        })?;
    match is_ready.recv() {
        Ok(ready) => ready.map(|()| thread),
        Err(gone) => Err(std::io::Error::other(gone)),
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
