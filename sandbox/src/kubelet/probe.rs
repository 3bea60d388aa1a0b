//! The probes of a running container.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, Probe};
use tokio::sync::{mpsc, watch};
use tokio::time::{Duration, Instant, sleep_until};

use super::events::EventType;
use super::pod::Pod;
use super::probe_action::{Attempt, attempt};
use crate::process::ProcessHandle;

/// The three kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeKind {
    Startup,
    Liveness,
    Readiness,
}

impl ProbeKind {
    const fn title(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Liveness => "Liveness",
            Self::Readiness => "Readiness",
        }
    }
}

/// Counts attempts up to the thresholds.
#[derive(Debug)]
pub(super) struct Thresholds {
    success: u32,
    failure: u32,
    last: Option<bool>,
    run: u32,
}

impl Thresholds {
    fn of(probe: &Probe) -> Self {
        let positive =
            |n: Option<i32>, default: u32| n.filter(|n| *n > 0).map_or(default, i32::unsigned_abs);
        Self {
            success: positive(probe.success_threshold, 1),
            failure: positive(probe.failure_threshold, 3),
            last: None,
            run: 0,
        }
    }

    /// The verdict, once enough attempts in a row agree.
    fn count(&mut self, success: bool) -> Option<bool> {
        if self.last == Some(success) {
            self.run = self.run.saturating_add(1);
        } else {
            (self.last, self.run) = (Some(success), 1);
        }
        let needed = if success { self.success } else { self.failure };
        (self.run >= needed).then_some(success)
    }
}

/// One probe of one run of a container.
#[derive(Debug)]
pub(super) struct ProbeWorker {
    pub(super) pod: Arc<Pod>,
    pub(super) container: Arc<Container>,
    pub(super) field_path: String,
    pub(super) process: ProcessHandle,
    pub(super) kind: ProbeKind,
    pub(super) probe: Probe,
    /// Whether the startup probe has succeeded.
    pub(super) started: watch::Sender<bool>,
    /// Where a container is reported that is to be restarted.
    pub(super) unhealthy: mpsc::Sender<ProbeKind>,
    pub(super) run_started: Instant,
}

impl ProbeWorker {
    /// Probes until the container ends (then the task is aborted), or for a startup probe until the first verdict.
    pub(super) async fn run(self) {
        let mut thresholds = Thresholds::of(&self.probe);
        let seconds = |n: Option<i32>, default: u32| {
            Duration::from_secs(n.map_or(default, i32::unsigned_abs).into())
        };
        let period = seconds(self.probe.period_seconds.filter(|n| *n > 0), 10);
        let earliest = self.run_started + seconds(self.probe.initial_delay_seconds, 0);
        let mut next = self.first(earliest, period);
        // The sync that follows the container's start probes an unready container once more.
        let mut resync = (self.kind == ProbeKind::Readiness)
            .then(|| self.pod.node.relist_after(self.run_started))
            .filter(|at| *at >= earliest);
        loop {
            let at = resync.map_or(next, |r| r.min(next));
            sleep_until(at).await;
            if resync.is_some_and(|r| r <= at) {
                resync = None;
            }
            if self.kind != ProbeKind::Startup
                && self.started.subscribe().wait_for(|s| *s).await.is_err()
            {
                return;
            }
            next = Instant::now() + period;
            let verdict = self.attempt(&mut thresholds).await;
            if verdict == Some(true) {
                resync = None;
            }
            if self.apply(verdict).await {
                return;
            }
        }
    }

    /// Readiness and startup probes start with the container; liveness waits for its first period.
    fn first(&self, earliest: Instant, period: Duration) -> Instant {
        let mut first = self.run_started;
        if self.kind == ProbeKind::Liveness {
            first += period;
        }
        while first < earliest {
            first += period;
        }
        first
    }

    async fn attempt(&self, thresholds: &mut Thresholds) -> Option<bool> {
        let title = self.kind.title();
        let result = attempt(&self.pod, &self.container, &self.process, &self.probe).await;
        let (success, told) = match result {
            Attempt::Success => return thresholds.count(true),
            Attempt::Failure(output) => (Some(false), format!("{title} probe failed: {output}")),
            Attempt::Error(error) => (None, format!("{title} probe errored: {error}")),
        };
        self.pod
            .event(&self.field_path, EventType::Warning, "Unhealthy", &told);
        success.and_then(|success| thresholds.count(success))
    }

    /// Acts on a verdict; true when this probe's work is done.
    async fn apply(&self, verdict: Option<bool>) -> bool {
        let name = &self.container.name;
        match (self.kind, verdict) {
            (_, None) | (ProbeKind::Liveness, Some(true)) => false,
            (ProbeKind::Readiness, Some(ready)) => {
                self.pod.change_container(name, |c| c.ready = ready);
                false
            }
            (ProbeKind::Startup, Some(true)) => {
                let ready = self.container.readiness_probe.is_none();
                self.pod.change_container(name, |c| {
                    c.started = true;
                    c.ready = ready;
                });
                self.started.send_replace(true);
                true
            }
            (ProbeKind::Startup | ProbeKind::Liveness, Some(false)) => {
                // A full channel means that the restart is already asked for.
                let _ = self.unhealthy.try_send(self.kind);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_as_many_attempts_in_a_row_as_the_threshold_says() {
        let mut thresholds = Thresholds::of(&Probe {
            success_threshold: Some(2),
            failure_threshold: Some(3),
            ..Probe::default()
        });
        let attempts = [true, true, false, false, true, false, false, false, false];
        let verdicts: Vec<_> = attempts.iter().map(|a| thresholds.count(*a)).collect();
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(verdicts, [None, yes, None, None, None, None, None, no, no]);
    }
}
