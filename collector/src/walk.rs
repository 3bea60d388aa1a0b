//! Takes a run through its stages.

use std::ops::ControlFlow;
use std::time::Duration;

use rollscope_records::{RecordingWriter, RunClock, StageEvent, StageRecord, marks};
use rollscope_scenarios::{Stage, StageKind};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::templates::OwnTemplates;
use crate::{Cluster, ClusterState, Progress, stages};

/// How a walk ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WalkEnd {
    /// All stages were walked.
    Completed,
    /// A stage failed; the later ones were not begun.
    StageFailed {
        /// Its index in the scenario.
        stage: usize,
        /// Why, in words.
        reason: String,
    },
    /// The environment refused what a stage needs (API server unreachable, permission, no such command).
    EnvironmentFailed {
        /// The stage's index in the scenario.
        stage: usize,
        /// Why, in words.
        reason: String,
    },
    /// It was cancelled.
    Interrupted,
}

/// Why a stage stops before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    Cancelled,
    Failed(String),
    Environment(String),
}

/// Walks the stages in order. Without a cluster only `warmup`, `exec` and `settle` can be walked. Everything that happens
/// is recorded as [`StageRecord`]s. Observation and load are the caller's and go on.
///
/// `cancel` turning true ends the walk at once; a command of an `exec` stage is killed with its process group.
pub async fn walk(
    stages: &[Stage],
    cluster: Option<&Cluster>,
    clock: RunClock,
    recorder: &RecordingWriter,
    progress: &watch::Sender<Progress>,
    cancel: watch::Receiver<bool>,
) -> WalkEnd {
    let mut walk = Walk::new(stages, cluster, clock, recorder, progress, cancel);
    for (index, stage) in stages.iter().enumerate() {
        walk.begin(index, stage);
        let ended = stages::run(&mut walk, stage).await;
        if let Some(end) = walk.end(ended) {
            return end;
        }
    }
    walk.progress.send_modify(|p| p.done = true);
    WalkEnd::Completed
}

/// A walk while it goes on: what all stages share.
pub(crate) struct Walk<'a> {
    pub(crate) cluster: Option<&'a Cluster>,
    pub(crate) clock: RunClock,
    pub(crate) recorder: &'a RecordingWriter,
    /// Readers of commands that left somebody behind who holds their output open. They end with the walk.
    pub(crate) readers: JoinSet<()>,
    /// The index of the stage.
    pub(crate) stage: usize,
    progress: &'a watch::Sender<Progress>,
    cancel: watch::Receiver<bool>,
    state: Option<watch::Receiver<ClusterState>>,
    kind: &'static str,
    first_template: Value,
    own: OwnTemplates,
    /// While a change of ours is under way, changes of the template are not judged.
    judging: bool,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The cluster's state changed.
    StateChanged,
    /// The time is over.
    TimeOver,
}

impl<'a> Walk<'a> {
    fn new(
        stages: &[Stage],
        cluster: Option<&'a Cluster>,
        clock: RunClock,
        recorder: &'a RecordingWriter,
        progress: &'a watch::Sender<Progress>,
        cancel: watch::Receiver<bool>,
    ) -> Self {
        let state = cluster.map(|c| c.state.clone());
        let mut own = OwnTemplates::default();
        let mut first_template = Value::Null;
        if let Some(state) = &state {
            let state = state.borrow();
            own.accept_all(&state);
            first_template = state.baseline().template;
        }
        let planned = stages.iter().map(planned).sum();
        progress.send_modify(|p| {
            *p = Progress {
                stages: stages.len(),
                walk_started: clock.now(),
                planned,
                ..Progress::default()
            };
        });
        Self {
            cluster,
            clock,
            recorder,
            readers: JoinSet::new(),
            stage: 0,
            progress,
            cancel,
            state,
            kind: "",
            first_template,
            own,
            judging: true,
        }
    }

    fn begin(&mut self, index: usize, stage: &Stage) {
        (self.stage, self.kind) = (index, stage.kind.as_str());
        let now = self.clock.now();
        self.progress.send_modify(|p| {
            (p.stage, p.kind, p.stage_started) = (index, stage.kind.as_str(), now);
            p.stage_planned = planned(stage);
        });
        self.record(StageEvent::Started, String::new());
        self.look();
    }

    fn end(&mut self, ended: Result<(), Stop>) -> Option<WalkEnd> {
        let stage = self.stage;
        let (reason, end) = match ended {
            Ok(()) => {
                self.record(StageEvent::Completed, String::new());
                return None;
            }
            Err(Stop::Cancelled) => ("interrupted".to_owned(), WalkEnd::Interrupted),
            Err(Stop::Failed(reason)) => (reason.clone(), WalkEnd::StageFailed { stage, reason }),
            Err(Stop::Environment(reason)) => {
                (reason.clone(), WalkEnd::EnvironmentFailed { stage, reason })
            }
        };
        self.record(StageEvent::Failed, reason);
        self.progress.send_modify(|p| p.done = true);
        Some(end)
    }

    fn record(&self, event: StageEvent, detail: String) {
        self.recorder.stage(StageRecord {
            at: self.clock.now(),
            stage: self.stage,
            kind: self.kind.to_owned(),
            event,
            detail,
        });
    }

    /// Records a mark of the current stage.
    pub(crate) fn mark(&self, name: &str) {
        self.record(StageEvent::Mark, name.to_owned());
        self.progress
            .send_modify(|p| p.last_mark = Some(name.to_owned()));
    }

    /// A look at the cluster: progress, and whether somebody else changed the template.
    fn look(&mut self) {
        let Some(receiver) = &mut self.state else {
            return;
        };
        let (pods, foreign) = {
            let state = receiver.borrow_and_update();
            let foreign = self.judging.then(|| self.own.foreign(&state)).flatten();
            (state.counts(&self.first_template), foreign)
        };
        self.progress.send_if_modified(|p| {
            let changed = p.pods != Some(pods);
            p.pods = Some(pods);
            changed
        });
        if foreign.is_some() {
            self.mark(marks::FOREIGN_ROLLOUT);
        }
    }

    /// Stops judging changes of the template: one of ours is under way.
    pub(crate) const fn expect_own_change(&mut self) {
        self.judging = false;
    }

    /// Our change is through and this is the template that it made (`None`: it was refused). Changes are judged again.
    pub(crate) fn own_change_made(&mut self, template: Option<Value>) {
        if let Some(template) = template {
            self.own.accept(template);
        }
        self.judging = true;
        self.look();
    }

    /// Our change is through; every template seen so far is ours. Changes are judged again.
    pub(crate) fn own_changes_over(&mut self) {
        if let Some(state) = &self.state {
            self.own.accept_all(&state.borrow());
        }
        self.judging = true;
    }

    /// Waits for a change of the cluster's state or the end of the time, whatever comes first.
    pub(crate) async fn wait(&mut self, until: Option<Instant>) -> Result<Waited, Stop> {
        let time_over = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        let state = &mut self.state;
        let changed = async {
            if let Some(state) = state
                && state.changed().await.is_ok()
            {
                return;
            }
            std::future::pending().await
        };
        let waited = tokio::select! {
            biased;
            () = cancelled(&mut self.cancel) => return Err(Stop::Cancelled),
            () = time_over => Waited::TimeOver,
            () = changed => Waited::StateChanged,
        };
        self.look();
        Ok(waited)
    }

    /// Waits until `check` breaks with a result, for at most until `deadline`: then the result is `None`.
    pub(crate) async fn wait_for<T>(
        &mut self,
        deadline: Instant,
        mut check: impl FnMut(&ClusterState) -> ControlFlow<T>,
    ) -> Result<Option<T>, Stop> {
        loop {
            if let Some(state) = &self.state
                && let ControlFlow::Break(found) = check(&state.borrow())
            {
                return Ok(Some(found));
            }
            if self.wait(Some(deadline)).await? == Waited::TimeOver {
                return Ok(None);
            }
        }
    }

    /// Waits until `holds`, for at most until `deadline`; whether it did.
    pub(crate) async fn wait_until(
        &mut self,
        deadline: Instant,
        holds: impl Fn(&ClusterState) -> bool,
    ) -> Result<bool, Stop> {
        let held = self.wait_for(deadline, |state| match holds(state) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        Ok(held.await?.is_some())
    }

    /// Waits for `work`, unless the walk is cancelled.
    pub(crate) async fn uncancelled<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = cancelled(&mut self.cancel) => Err(Stop::Cancelled),
            done = work => Ok(done),
        }
    }

    /// The state of the cluster now; an empty one without a cluster.
    pub(crate) fn with_state<T>(&self, read: impl FnOnce(&ClusterState) -> T) -> T {
        match &self.state {
            Some(state) => read(&state.borrow()),
            None => read(&ClusterState::default()),
        }
    }
}

async fn cancelled(cancel: &mut watch::Receiver<bool>) {
    if cancel.wait_for(|cancel| *cancel).await.is_err() {
        // Nobody can cancel any more.
        std::future::pending().await
    }
}

/// The stage's length, or the longest that it may take.
fn planned(stage: &Stage) -> Duration {
    match stage.kind {
        StageKind::Warmup(length) | StageKind::Settle(length) => length,
        StageKind::Restart | StageKind::Exec(_) | StageKind::Signal => stage.complete_within,
    }
}
