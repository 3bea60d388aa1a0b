//! How a running container is stopped: Killing event, preStop, its turn, stop signal, SIGKILL.

use std::future::Future;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, LifecycleHandler};
use nix::sys::signal::Signal;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::container::Progress;
use super::events::EventType;
use super::grace::Grace;
use super::hooks;
use super::pod::{Orders, Pod};
use super::run::{Ended, Run, wait};
use super::witness::{Witness, again_after};

/// The container to stop, and why.
#[derive(Debug)]
pub(super) struct Stop<'a> {
    pub(super) pod: &'a Arc<Pod>,
    pub(super) container: &'a Arc<Container>,
    pub(super) field_path: &'a str,
    pub(super) message: &'a str,
    /// The containers that must have ended before this one's signal; the turn of a sidecar.
    pub(super) after: &'a [watch::Receiver<Progress>],
}

impl Stop<'_> {
    /// Stops the container within `seconds` (and the two that it gets in any case).
    pub(super) async fn run(
        &self,
        run: &mut Run,
        seconds: i64,
        orders: &mut watch::Receiver<Orders>,
    ) -> Ended {
        run.stop_liveness_and_startup_probes();
        self.event(EventType::Normal, "Killing", self.message);
        run.truth.note("stopping", "why", || json!(self.message));
        let mut grace = Grace::new(seconds, Instant::now());
        let hook = self.pre_stop(run).filter(|_| grace.is_left());
        if let Some(mut hook) = hook {
            run.truth
                .note("pre_stop_started", "is_sleep", || json!(hook.is_sleep));
            let done = within(&mut grace, orders, &mut hook.task).await;
            run.truth
                .note("pre_stop_ended", "overran", || json!(done.is_none()));
            grace.spend(Instant::now());
            if hook.is_sleep {
                hook.task.abort();
            }
        }
        if !self.after.is_empty() && grace.is_left() {
            within(&mut grace, orders, turn(self.after)).await;
            grace.spend(Instant::now());
        }
        if abandoned(orders) {
            return run.kill().await;
        }
        let mut witness = Witness::of(self.pod);
        let signal = stop_signal(self.container);
        witness.send(self.pod, run, signal);
        let mut grace = grace.for_signal();
        let ended = self.signalled(run, signal, &mut witness);
        match within(&mut grace, orders, ended).await {
            Some(ended) => ended,
            None if abandoned(orders) => run.kill().await,
            None => {
                run.end_probes();
                witness.send(self.pod, run, Signal::SIGKILL);
                run.ended().await
            }
        }
    }

    /// Waits for the end after the stop signal, which is sent once more where the pod asks for it.
    async fn signalled(&self, run: &Run, signal: Signal, witness: &mut Witness) -> Ended {
        if let Some(after) = again_after(self.pod) {
            tokio::select! {
                ended = run.ended() => return ended,
                () = sleep(after) => witness.send(self.pod, run, signal),
            }
        }
        run.ended().await
    }

    fn event(&self, kind: EventType, reason: &'static str, message: &str) {
        self.pod.event(self.field_path, kind, reason, message);
    }

    /// Starts the preStop hook. It may outlast the grace period: an exec hook then fails when the container dies.
    fn pre_stop(&self, run: &Run) -> Option<PreStop> {
        let handler = self.container.lifecycle.as_ref()?.pre_stop.clone()?;
        let is_sleep = handler.sleep.is_some();
        let ended = run.end();
        let (pod, container) = (Arc::clone(self.pod), Arc::clone(self.container));
        let process = run.process.clone();
        let field_path = self.field_path.to_owned();
        let task = tokio::spawn(async move {
            let hook = hooks::run(&pod, &container, &process, &handler);
            let failed = tokio::select! {
                result = hook => result.is_err(),
                _ = wait(ended), if !is_sleep => true,
            };
            if failed && !abandoned(&pod.orders) {
                let message = "PreStopHook failed";
                pod.event(
                    &field_path,
                    EventType::Warning,
                    "FailedPreStopHook",
                    message,
                );
            }
        });
        Some(PreStop { task, is_sleep })
    }
}

#[derive(Debug)]
struct PreStop {
    task: JoinHandle<()>,
    /// A sleep has nothing to fail at, and goes on when the container ends by itself.
    is_sleep: bool,
}

/// Runs a postStart hook.
pub(super) async fn post_start(
    pod: &Pod,
    container: &Container,
    run: &Run,
    handler: &LifecycleHandler,
) -> Result<(), String> {
    tokio::select! {
        result = hooks::run(pod, container, &run.process, handler) => result,
        _ = run.ended() => Err("the container ended".to_owned()),
    }
}

fn abandoned(orders: &watch::Receiver<Orders>) -> bool {
    *orders.borrow() == Orders::Abandon || orders.has_changed().is_err()
}

/// Waits for `done` as long as the grace lasts, which a second deletion may shorten and the sandbox's stop ends.
async fn within<T>(
    grace: &mut Grace,
    orders: &mut watch::Receiver<Orders>,
    done: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(done);
    loop {
        tokio::select! {
            value = &mut done => return Some(value),
            () = sleep_until(grace.deadline()) => return None,
            changed = orders.changed() => match *orders.borrow_and_update() {
                Orders::Stop { grace: seconds, at } if changed.is_ok() => {
                    grace.shorten(seconds, at);
                }
                Orders::Run if changed.is_ok() => {}
                _ => return None,
            },
        }
    }
}

async fn turn(after: &[watch::Receiver<Progress>]) {
    for other in after {
        // A container that never was started has no sender left, and has ended in that sense.
        let _ = other.clone().wait_for(Progress::is_done).await;
    }
}

/// The signal that asks the container to end.
fn stop_signal(container: &Container) -> Signal {
    let named = container
        .lifecycle
        .as_ref()
        .and_then(|l| l.stop_signal.as_deref());
    named
        .and_then(|name| name.parse().ok())
        .unwrap_or(Signal::SIGTERM)
}
