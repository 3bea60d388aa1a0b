//! The load's side of the journeys: starts their process, puts its records into the recording, and ends it.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rollscope_records::{JourneysRecord, Outcome, RunClock, RunOffset};
use tokio::sync::oneshot;

use super::link::monotonic_nanos;
use super::plan::{JourneyPlan, JourneysPlan, Order, TargetPlan, TlsPlan};
use super::reader::Reader;
use crate::recording::LoadStats;
use crate::running::Checked;

/// From the moment when every step must be over until the process is killed: goose looks twice a second whether it is to
/// stop, and a thinking user as often.
const GRACE: Duration = Duration::from_secs(5);

/// Counts of steps that are over.
#[derive(Debug, Default)]
pub(super) struct Counts {
    ok: AtomicU64,
    failed: AtomicU64,
    aborted: AtomicU64,
}

impl Counts {
    /// A step is over.
    pub(super) fn add(&self, outcome: Outcome) {
        let counter = match outcome {
            Outcome::Ok => &self.ok,
            outcome if outcome.is_own_doing() => &self.aborted,
            _ => &self.failed,
        };
        counter.fetch_add(1, Relaxed);
    }
}

/// The process, as far as it can be told something.
#[derive(Debug)]
pub(super) struct Process {
    child: Mutex<Child>,
    orders: Mutex<Option<ChildStdin>>,
}

impl Process {
    /// Tells it something, as long as it listens.
    pub(super) fn order(&self, order: &Order) -> io::Result<()> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        match orders.as_mut() {
            Some(stdin) => stdin.write_all(&line),
            None => Ok(()),
        }
    }

    /// Takes its stdin from it, without which it ends, and waits for that.
    pub(super) fn end(&self) -> io::Result<ExitStatus> {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        drop(orders.take());
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.wait()
    }

    fn kill(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
    }
}

/// Journeys that are being walked. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct Walking {
    process: Arc<Process>,
    counts: Arc<Counts>,
    over: oneshot::Receiver<JourneysRecord>,
    thread: Option<JoinHandle<()>>,
}

impl Walking {
    /// Starts the journeys of the load by `program`; `None` where it has none, or another generator walks them.
    pub(crate) fn start(checked: &Checked, program: &Path) -> io::Result<Option<Self>> {
        let elsewhere = checked.plan.share.is_some_and(|s| s.index > 0);
        if checked.plan.journeys.is_empty() || elsewhere {
            return Ok(None);
        }
        let (report, over) = oneshot::channel();
        let (ready, is_ready) = mpsc::sync_channel(1);
        let counts = Arc::<Counts>::default();
        let (checked, counted, program) =
            (checked.clone(), Arc::clone(&counts), program.to_owned());
        // The process ends with the thread that has started it: this one, which waits for it.
        let thread = std::thread::Builder::new()
            .name("loadgen-journeys".to_owned())
            .spawn(move || match started(&checked, &program) {
                Ok((process, out, err)) => {
                    let process = Arc::new(process);
                    let _ = ready.send(Ok(Arc::clone(&process)));
                    let reader = Reader {
                        checked,
                        counts: counted,
                        process,
                    };
                    let _ = report.send(reader.read(out, err));
                }
                Err(e) => drop(ready.send(Err(e))),
            })?;
        let process = is_ready.recv().map_err(io::Error::other)??;
        Ok(Some(Self {
            process,
            counts,
            over,
            thread: Some(thread),
        }))
    }

    /// Their part of the load's state: the steps that are over.
    pub(crate) fn stats(&self) -> LoadStats {
        let (ok, failed) = (
            self.counts.ok.load(Relaxed),
            self.counts.failed.load(Relaxed),
        );
        let aborted = self.counts.aborted.load(Relaxed);
        let sent = ok + failed + aborted;
        LoadStats {
            planned: sent,
            sent,
            ok,
            failed,
            aborted,
            ..LoadStats::default()
        }
    }

    /// Lets every user end its step.
    pub(crate) fn stop(&self) {
        let _ = self.process.order(&Order::Stop);
    }

    /// Gives up what is in flight.
    pub(crate) fn abort(&self) {
        let _ = self.process.order(&Order::Abort);
    }

    /// Waits until every record has been handed over, after an order to stop or abort. Steps that are not over after
    /// `patience`, and all when `impatience` completes, are given up.
    ///
    /// # Panics
    ///
    /// If the thread has panicked, with its panic.
    pub(crate) async fn over(
        mut self,
        patience: Duration,
        impatience: impl Future<Output = ()>,
    ) -> JourneysRecord {
        tokio::select! {
            biased;
            ended = &mut self.over => return self.ended(ended),
            () = impatience => self.abort(),
            () = tokio::time::sleep(patience.saturating_add(GRACE)) => self.abort(),
        }
        match tokio::time::timeout(GRACE, &mut self.over).await {
            Ok(ended) => self.ended(ended),
            Err(_) => {
                self.process.kill();
                let ended = (&mut self.over).await;
                self.ended(ended)
            }
        }
    }

    fn ended(mut self, ended: Result<JourneysRecord, oneshot::error::RecvError>) -> JourneysRecord {
        match ended {
            Ok(record) => record,
            Err(gone) => match self.thread.take().map(JoinHandle::join) {
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                _ => unreachable!("the thread reports before it ends: {gone}"),
            },
        }
    }
}

impl Drop for Walking {
    fn drop(&mut self) {
        self.process.kill();
    }
}

/// Starts the process and gives it its plan.
fn started(checked: &Checked, program: &Path) -> io::Result<(Process, ChildStdout, ChildStderr)> {
    let mut child = Command::new(program)
        .arg("journeys")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A Ctrl-C at the terminal is for us alone.
        .process_group(0)
        .spawn()?;
    let missing = || io::Error::other("a pipe is missing");
    let out = child.stdout.take().ok_or_else(missing)?;
    let err = child.stderr.take().ok_or_else(missing)?;
    let mut orders = child.stdin.take().ok_or_else(missing)?;
    let mut plan = serde_json::to_vec(&plan(checked))?;
    plan.push(b'\n');
    // A process that is gone already says why on its stderr.
    let _ = orders.write_all(&plan);
    let process = Process {
        child: Mutex::new(child),
        orders: Mutex::new(Some(orders)),
    };
    Ok((process, out, err))
}

fn plan(checked: &Checked) -> JourneysPlan {
    let plan = &checked.plan;
    let journeys = plan.load.journeys.iter().zip(&plan.journeys);
    JourneysPlan {
        zero_nanos: zero_of(&checked.clock),
        starts: plan.share.map_or_else(|| checked.clock.now(), |s| s.starts),
        users: plan.load.users,
        target: TargetPlan {
            host: plan.base.host.clone(),
            port: plan.base.port,
            known: plan.destination.known().to_vec(),
            dialled: !checked.dialer.is_direct(),
            tls: plan.base.tls.then(|| TlsPlan::from(&plan.load.tls)),
        },
        pod_header: plan.pod_header.as_ref().map(ToString::to_string),
        journeys: journeys
            .map(|(spec, steps)| JourneyPlan {
                name: spec.name.clone(),
                weight: spec.weight,
                think: (spec.think.min, spec.think.max),
                steps: steps
                    .iter()
                    .map(crate::plan::PreparedRequest::step)
                    .collect(),
            })
            .collect(),
    }
}

/// `CLOCK_MONOTONIC` at the start of the run, ns: between two looks at it lies one at the run's clock.
fn zero_of(clock: &RunClock) -> i64 {
    let before = monotonic_nanos();
    let now: RunOffset = clock.now();
    let after = monotonic_nanos();
    before + (after - before) / 2 - now.nanos()
}
