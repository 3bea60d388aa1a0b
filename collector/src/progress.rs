//! What a terminal shows of a walk while it goes on.

use std::time::Duration;

use rollscope_records::RunOffset;

/// How far a walk has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// The stage's index in the scenario, from 0.
    pub stage: usize,
    /// How many stages there are.
    pub stages: usize,
    /// The stage's kind; empty before the first one.
    pub kind: &'static str,
    /// When the walk began.
    pub walk_started: RunOffset,
    /// When the stage began.
    pub stage_started: RunOffset,
    /// The stage's length (`warmup`, `settle`), or the longest that it may take.
    pub stage_planned: Duration,
    /// The same for all stages together.
    pub planned: Duration,
    /// The workload's pods; `None` without a cluster.
    pub pods: Option<PodCounts>,
    /// The name of the last mark.
    pub last_mark: Option<String>,
    /// Whether the walk is over.
    pub done: bool,
}

impl Progress {
    /// How long the walk has gone on.
    pub fn elapsed(&self, now: RunOffset) -> Duration {
        since(now, self.walk_started)
    }

    /// How long the stage has gone on.
    pub fn stage_elapsed(&self, now: RunOffset) -> Duration {
        since(now, self.stage_started)
    }
}

fn since(now: RunOffset, then: RunOffset) -> Duration {
    Duration::from_nanos(u64::try_from(now.nanos_since(then)).unwrap_or(0))
}

/// The pods of a workload: each is counted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PodCounts {
    /// Of the template that a rollout replaces (before a rollout: of the current one), not terminating.
    pub old: usize,
    /// Of the new template, not terminating.
    pub new: usize,
    /// Terminating.
    pub terminating: usize,
}
