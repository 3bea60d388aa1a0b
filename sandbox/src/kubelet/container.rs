//! A container of a pod: its runs, its restarts, and its end with the pod.

use std::convert::Infallible;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Container;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::backoff::Backoff;
use super::environment;
use super::events::EventType;
use super::pod::{Orders, Pod, stopped};
use super::probe::ProbeKind;
use super::run::{Ended, Run, wait};
use super::status::{ContainerState, Terminated};
use super::stop::{Stop, post_start};
use crate::process::{ContainerCommand, LaunchError};

/// The exit code of a container whose command could not be started.
const START_ERROR: i32 = 128;

/// How far a container is, for those that wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Not started yet.
    Waiting,
    /// A start has been tried.
    Tried,
    /// It runs, and its startup probe (if any) has succeeded.
    Started,
    /// It will not run any more; whether it ended with exit code 0.
    Done { clean: bool },
}

impl Progress {
    pub(super) const fn is_done(&self) -> bool {
        matches!(self, Self::Done { .. })
    }
}

/// What a container is in its pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Runs to completion before the next one starts.
    Init,
    /// An init container with `restartPolicy: Always`: runs beside the main containers and ends after them.
    Sidecar,
    /// A main container.
    Main,
}

/// Runs one container.
#[derive(Debug)]
pub(super) struct ContainerRunner {
    pub(super) pod: Arc<Pod>,
    pub(super) container: Arc<Container>,
    pub(super) role: Role,
    pub(super) progress: watch::Sender<Progress>,
    /// The containers that end before this one does.
    pub(super) after: Vec<watch::Receiver<Progress>>,
    pub(super) field_path: String,
}

/// How a run ended.
#[derive(Debug)]
struct RunEnd {
    terminated: Terminated,
    started: Instant,
    ended: Instant,
}

impl ContainerRunner {
    /// Runs the container until it has ended for good, or the pod has.
    pub(super) async fn run(self) {
        let mut orders = self.pod.orders.clone();
        let mut backoff = Backoff::default();
        let mut clean = false;
        while *orders.borrow_and_update() == Orders::Run {
            let command = match environment::command(&self.pod, &self.container) {
                Ok(command) => command,
                Err(message) => {
                    self.cannot_start(&message);
                    stopped(&mut orders).await;
                    break;
                }
            };
            let Some(end) = self.run_once(command, &mut orders).await else {
                break;
            };
            clean = end.terminated.code == 0;
            if *orders.borrow() != Orders::Run || !self.restarts(clean) {
                self.note_end(&end.terminated, *orders.borrow() == Orders::Run);
                break;
            }
            tokio::select! {
                () = self.wait_for_restart(&end, &mut backoff) => {}
                _ = stopped(&mut orders) => break,
            }
        }
        self.progress.send_replace(Progress::Done { clean });
    }

    fn restarts(&self, clean: bool) -> bool {
        let policy = self.pod.spec.restart_policy.as_deref().unwrap_or("Always");
        match (self.role, policy) {
            (Role::Sidecar, _) => true,
            (Role::Init, "Never") | (Role::Main, "Never") => false,
            (Role::Init, _) | (Role::Main, "OnFailure") => !clean,
            (Role::Main, _) => true,
        }
    }

    fn event(&self, kind: EventType, reason: &'static str, message: &str) {
        self.pod.event(&self.field_path, kind, reason, message);
    }

    fn cannot_start(&self, message: &str) {
        self.event(EventType::Warning, "Failed", &format!("Error: {message}"));
        self.pod.change_container(&self.container.name, |c| {
            c.state = ContainerState::Waiting {
                reason: "CreateContainerConfigError",
                message: Some(message.to_owned()),
            };
        });
        self.tried();
    }

    fn tried(&self) {
        self.progress.send_if_modified(|p| {
            let first = *p == Progress::Waiting;
            if first {
                *p = Progress::Tried;
            }
            first
        });
    }

    /// Starts the container and sees it through to its end. `None`: the pod was stopped before the start.
    async fn run_once(
        &self,
        command: ContainerCommand,
        orders: &mut watch::Receiver<Orders>,
    ) -> Option<RunEnd> {
        let image = self.container.image.as_deref().unwrap_or_default();
        let pulled = format!(
            "Container image {image:?} already present on machine and can be accessed by the pod"
        );
        self.event(EventType::Normal, "Pulled", &pulled);
        for (millis, reason, message) in
            [(10..40, "Created", "Container created"), (20..80, "", "")]
        {
            tokio::select! {
                () = sleep(self.pod.delay(millis)) => {}
                _ = stopped(orders) => return None,
            }
            if !reason.is_empty() {
                self.event(EventType::Normal, reason, message);
            }
        }
        match Run::start(&self.pod, &self.container, command).await {
            Ok(run) => Some(self.see_through(run, orders).await),
            Err(error) => Some(self.start_failed(&error)),
        }
    }

    fn start_failed(&self, error: &LaunchError) -> RunEnd {
        let message = format!("failed to start container: {error}");
        self.event(EventType::Warning, "Failed", &format!("Error: {message}"));
        let terminated = Terminated {
            code: START_ERROR,
            reason: "StartError".to_owned(),
            message: Some(message.clone()),
            started: Some(Timestamp::UNIX_EPOCH),
            finished: Some(Timestamp::now()),
            id: self.pod.container_id(),
        };
        self.pod.change_container(&self.container.name, |c| {
            c.restarts += u32::from(c.last.is_some());
            c.state = ContainerState::Waiting {
                reason: "RunContainerError",
                message: Some(message),
            };
            c.last = Some(terminated.clone());
        });
        self.tried();
        let now = Instant::now();
        RunEnd {
            terminated,
            started: now,
            ended: now,
        }
    }

    async fn see_through(&self, mut run: Run, orders: &mut watch::Receiver<Orders>) -> RunEnd {
        self.note_start(&run);
        self.event(EventType::Normal, "Started", "Container started");
        let hook = self
            .container
            .lifecycle
            .as_ref()
            .and_then(|l| l.post_start.clone());
        if let Some(handler) = hook
            && let Err(error) = post_start(&self.pod, &self.container, &run, &handler).await
        {
            let message = format!("PostStartHook failed: {error}");
            self.event(EventType::Warning, "FailedPostStartHook", &message);
            let ended = self
                .restart(&mut run, orders, "FailedPostStartHook", None)
                .await;
            return self.closed(run, ended).await;
        }
        run.probe(&self.pod, &self.container, &self.field_path);
        self.tried();
        let end = run.end();
        let report = self.report_started(run.startup());
        let ended = tokio::select! {
            ended = wait(end) => ended,
            Some(kind) = run.unhealthy.recv() => self.unhealthy(&mut run, orders, kind).await,
            orders_now = stopped(orders) => self.stop(&mut run, orders, orders_now).await,
            never = report => match never {},
        };
        self.closed(run, ended).await
    }

    /// Tells those who wait for this container once its startup probe has succeeded.
    async fn report_started(&self, mut startup: watch::Receiver<bool>) -> Infallible {
        if startup.wait_for(|s| *s).await.is_ok() {
            self.progress.send_replace(Progress::Started);
        }
        std::future::pending().await
    }

    fn note_start(&self, run: &Run) {
        let container = &self.container;
        let started = container.startup_probe.is_none();
        let (time, id) = (run.started_time, run.id.clone());
        let ip = self.pod.ip.clone();
        self.pod.change(|model| {
            model.ip = Some(ip);
            let Some(c) = model.container(&container.name) else {
                return;
            };
            if let ContainerState::Terminated(end) = &c.state {
                c.last = Some(end.clone());
            }
            c.restarts += u32::from(c.last.is_some());
            c.state = ContainerState::Running(time);
            c.started = started;
            c.ready = started && container.readiness_probe.is_none() && !c.is_init;
            c.id = id;
        });
    }

    async fn stop(
        &self,
        run: &mut Run,
        orders: &mut watch::Receiver<Orders>,
        now: Orders,
    ) -> Ended {
        let Orders::Stop { grace, .. } = now else {
            return run.kill().await;
        };
        let message = format!("Stopping container {}", self.container.name);
        let stop = Stop {
            pod: &self.pod,
            container: &self.container,
            field_path: &self.field_path,
            message: &message,
            after: &self.after,
        };
        stop.run(run, grace, orders).await
    }

    async fn unhealthy(
        &self,
        run: &mut Run,
        orders: &mut watch::Receiver<Orders>,
        kind: ProbeKind,
    ) -> Ended {
        let (word, probe) = match kind {
            ProbeKind::Startup => ("startup", &self.container.startup_probe),
            ProbeKind::Liveness | ProbeKind::Readiness => {
                ("liveness", &self.container.liveness_probe)
            }
        };
        let grace = probe
            .as_ref()
            .and_then(|p| p.termination_grace_period_seconds);
        self.restart(run, orders, &format!("failed {word} probe"), grace)
            .await
    }

    async fn restart(
        &self,
        run: &mut Run,
        orders: &mut watch::Receiver<Orders>,
        why: &str,
        grace: Option<i64>,
    ) -> Ended {
        let message = format!("Container {} {why}, will be restarted", self.container.name);
        let stop = Stop {
            pod: &self.pod,
            container: &self.container,
            field_path: &self.field_path,
            message: &message,
            after: &[],
        };
        let seconds = grace.unwrap_or_else(|| self.pod.grace_seconds());
        stop.run(run, seconds, orders).await
    }

    async fn closed(&self, run: Run, ended: Ended) -> RunEnd {
        let code = ended.exit.status_code();
        let terminated = Terminated {
            code,
            reason: self.reason(&run, ended).to_owned(),
            message: None,
            started: Some(run.started_time),
            finished: Some(ended.time),
            id: run.id.clone(),
        };
        let started = run.started;
        run.close().await;
        if *self.pod.orders.borrow() != Orders::Run {
            self.pod.acknowledged().await;
        }
        // What the kubelet knows; it is written with the next sync.
        self.pod.note_container(&self.container.name, |c| {
            c.state = ContainerState::Terminated(terminated.clone());
            c.ready = c.is_init && code == 0;
            c.started = false;
        });
        RunEnd {
            terminated,
            started,
            ended: ended.at,
        }
    }

    fn reason(&self, run: &Run, ended: Ended) -> &'static str {
        let limits = self.container.resources.as_ref();
        let limits = limits.and_then(|r| r.limits.as_ref());
        let limited = limits.is_some_and(|l| l.contains_key("memory"));
        match ended.exit.status_code() {
            0 => "Completed",
            _ if limited && run.killed_by_others(ended.exit) => "OOMKilled",
            _ => "Error",
        }
    }

    /// The end for good. While the pod goes on it is written at once; else the pod's worker writes it.
    fn note_end(&self, end: &Terminated, write: bool) {
        let set = |c: &mut super::status::ContainerModel| {
            c.state = ContainerState::Terminated(end.clone());
            if c.last.as_ref() == Some(end) {
                c.last = None;
            }
        };
        if write {
            self.pod.change_container(&self.container.name, set);
        } else {
            self.pod.note_container(&self.container.name, set);
        }
    }

    /// The way to the next start: seen at the next relist, then the back-off.
    async fn wait_for_restart(&self, end: &RunEnd, backoff: &mut Backoff) {
        let name = &self.container.name;
        sleep_until(self.pod.node.relist_after(end.ended)).await;
        self.pod.change(|_| ());
        sleep(self.pod.delay(20..60)).await;
        let delay = backoff.after_run(end.started, end.ended);
        if delay.is_zero() {
            return;
        }
        let reference = &self.pod.reference;
        let who = format!(
            "container={name} pod={}_{}({})",
            reference.name, reference.namespace, reference.uid
        );
        self.pod.change_container(name, |c| {
            c.last = Some(end.terminated.clone());
            c.state = ContainerState::Waiting {
                reason: "CrashLoopBackOff",
                message: Some(format!(
                    "back-off {}s restarting failed {who}",
                    delay.as_secs()
                )),
            };
        });
        let told = format!(
            "Back-off restarting failed container {name} in pod {}",
            reference.name
        );
        self.event(EventType::Warning, "BackOff", &told);
        sleep_until(end.ended + delay).await;
    }
}
