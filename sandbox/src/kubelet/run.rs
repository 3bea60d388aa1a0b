//! One run of a container: from the start of its process to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Container;
use nix::sys::signal::Signal;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, timeout};

use super::memory;
use super::pod::Pod;
use super::probe::{ProbeKind, ProbeWorker};
use crate::logs::LogStream;
use crate::process::{ContainerCommand, ContainerProcess, Exit, LaunchError, ProcessHandle};
use crate::truth::ContainerTruth;

/// How long the log may take to end after its container.
const LOG_LIMIT: Duration = Duration::from_secs(2);

/// The end of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) exit: Exit,
    pub(super) at: Instant,
    pub(super) time: Timestamp,
}

/// A run that goes on.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: String,
    pub(super) process: ProcessHandle,
    pub(super) started: Instant,
    pub(super) started_time: Timestamp,
    /// The probes that ask for a restart.
    pub(super) unhealthy: mpsc::Receiver<ProbeKind>,
    pub(super) truth: ContainerTruth,
    /// Whether SIGKILL was sent to it by us.
    killed: AtomicBool,
    asks: mpsc::Sender<ProbeKind>,
    startup: watch::Sender<bool>,
    ended: watch::Receiver<Option<Ended>>,
    readiness: JoinSet<()>,
    others: JoinSet<()>,
    logs: JoinSet<()>,
}

impl Run {
    /// Starts the container's process and its log.
    pub(super) async fn start(
        pod: &Pod,
        container: &Container,
        command: ContainerCommand,
    ) -> Result<Self, LaunchError> {
        let label = pod.label(&container.name);
        let mut process = pod.node.launcher.start(&label, command).await?;
        let (started, started_time) = (Instant::now(), Timestamp::now());
        let handle = process.handle().clone();
        let truth = ContainerTruth {
            log: pod.node.truth.clone(),
            pod: pod.reference.name.clone(),
            container: container.name.clone(),
        };
        truth.note("started", "pid", || json!(handle.pid));
        pod.node.note_process(label, handle.pid);
        pod.node.note_isolation(&handle.isolation);
        let reference = &pod.reference;
        let log = pod
            .node
            .logs
            .start(&reference.namespace, &reference.name, &container.name);
        let mut logs = JoinSet::new();
        if let Some(stdout) = process.stdout.take() {
            logs.spawn(log.clone().copy(LogStream::Stdout, stdout));
        }
        if let Some(stderr) = process.stderr.take() {
            logs.spawn(log.copy(LogStream::Stderr, stderr));
        }
        let (asks, unhealthy) = mpsc::channel(1);
        let ended = follow(process, truth.clone());
        if let Some(limit) = memory::limit(container) {
            tokio::spawn(memory::enforce(limit, handle.clone(), ended.clone()));
        }
        Ok(Self {
            id: pod.container_id(),
            process: handle,
            started,
            started_time,
            unhealthy,
            asks,
            startup: watch::channel(container.startup_probe.is_none()).0,
            killed: AtomicBool::new(false),
            ended,
            truth,
            readiness: JoinSet::new(),
            others: JoinSet::new(),
            logs,
        })
    }

    /// Starts the container's probes.
    pub(super) fn probe(&mut self, pod: &Arc<Pod>, container: &Arc<Container>, field_path: &str) {
        for (kind, probe) in [
            (ProbeKind::Startup, &container.startup_probe),
            (ProbeKind::Liveness, &container.liveness_probe),
            (ProbeKind::Readiness, &container.readiness_probe),
        ] {
            let Some(probe) = probe else { continue };
            let worker = ProbeWorker {
                pod: Arc::clone(pod),
                container: Arc::clone(container),
                field_path: field_path.to_owned(),
                process: self.process.clone(),
                kind,
                probe: probe.clone(),
                started: self.startup.clone(),
                unhealthy: self.asks.clone(),
                run_started: self.started,
            };
            let tasks = match kind {
                ProbeKind::Readiness => &mut self.readiness,
                ProbeKind::Startup | ProbeKind::Liveness => &mut self.others,
            };
            tasks.spawn(worker.run());
        }
    }

    /// Whether the startup probe (if any) has succeeded, as something to wait for.
    pub(super) fn startup(&self) -> watch::Receiver<bool> {
        self.startup.subscribe()
    }

    /// Only readiness probes run on while a container is being stopped.
    pub(super) fn stop_liveness_and_startup_probes(&mut self) {
        self.others.abort_all();
    }

    /// The end, as something to wait for.
    pub(super) fn end(&self) -> watch::Receiver<Option<Ended>> {
        self.ended.clone()
    }

    /// Waits for the end. Cancel safe.
    pub(super) async fn ended(&self) -> Ended {
        wait(self.end()).await
    }

    /// Sends a signal, if the process still runs.
    pub(super) fn signal(&self, signal: Signal) {
        // Holding the borrow keeps the end from being noted, and so the pid from being freed.
        let ended = self.ended.borrow();
        if ended.is_none() {
            // The process is our own child's child: there is no other error than its death.
            let _ = self.process.signal(signal);
            if signal == Signal::SIGKILL {
                self.killed.store(true, Relaxed);
            }
            self.truth
                .note("signal", "signal", || json!(signal.as_str()));
        }
    }

    /// Whether a SIGKILL that ended it was sent by somebody else: on a node that is the kernel, out of memory.
    pub(super) fn killed_by_others(&self, exit: Exit) -> bool {
        exit == Exit::Signal(Signal::SIGKILL as i32) && !self.killed.load(Relaxed)
    }

    /// Kills the process and waits for its end. The probes end with it: one that meets the dying process would tell
    /// of a failed readiness that no kubelet has time to publish.
    pub(super) async fn kill(&mut self) -> Ended {
        self.end_probes();
        self.signal(Signal::SIGKILL);
        self.ended().await
    }

    /// Ends the probes.
    pub(super) fn end_probes(&mut self) {
        self.readiness.abort_all();
        self.others.abort_all();
    }

    /// Ends the probes and waits for the log's last line.
    pub(super) async fn close(mut self) {
        self.end_probes();
        let rest = async { while self.logs.join_next().await.is_some() {} };
        // Dropping the tasks after the limit ends the log.
        let _ = timeout(LOG_LIMIT, rest).await;
    }
}

/// Waits until the end is known.
pub(super) async fn wait(mut ended: watch::Receiver<Option<Ended>>) -> Ended {
    let found = match ended.wait_for(Option::is_some).await {
        Ok(ended) => *ended,
        Err(_) => None,
    };
    // Without a note the follower was dropped together with the process.
    found.unwrap_or_else(|| Ended {
        exit: Exit::Signal(Signal::SIGKILL as i32),
        at: Instant::now(),
        time: Timestamp::now(),
    })
}

fn follow(mut process: ContainerProcess, truth: ContainerTruth) -> watch::Receiver<Option<Ended>> {
    let (note, ended) = watch::channel(None);
    tokio::spawn(async move {
        let exit = process.exited().await;
        truth.note("exited", "code", || json!(exit.status_code()));
        note.send_replace(Some(Ended {
            exit,
            at: Instant::now(),
            time: Timestamp::now(),
        }));
        process.reap().await;
    });
    ended
}
