//! What the screen shows at one moment.

use std::time::Duration;

use rollscope_collector::{ClusterState, Progress};
use rollscope_loadgen::LoadStats;
use rollscope_records::RunOffset;

use super::events::EventLine;
use super::pods::{self, PodLine};

/// A run at one moment. Text from outside is made harmless on its way in.
#[derive(Debug, Clone, Default)]
pub(in crate::run) struct View {
    /// The scenario's name.
    pub(super) name: String,
    /// Where the walk is.
    pub(super) progress: Progress,
    /// Since the walk began.
    pub(super) elapsed: Duration,
    /// Since the stage began.
    pub(super) stage_elapsed: Duration,
    /// Requests a second that the scenario wants.
    pub(super) planned_rate: f64,
    /// What the load has done.
    pub(super) stats: LoadStats,
    /// The workload's pods; `None` where nothing is known of pods.
    pub(super) pods: Option<Vec<PodLine>>,
    /// The last events, oldest first.
    pub(super) events: Vec<EventLine>,
    /// Whether the user has asked to stop.
    pub(super) stopping: bool,
}

impl View {
    /// The run `now`, by its name and the rate that it wants.
    pub(in crate::run) fn of(
        (name, planned_rate): (&str, f64),
        now: RunOffset,
        progress: &Progress,
        stats: &LoadStats,
        state: Option<&ClusterState>,
    ) -> Self {
        Self {
            name: tame(name),
            progress: progress.clone(),
            elapsed: progress.elapsed(now),
            stage_elapsed: progress.stage_elapsed(now),
            planned_rate,
            stats: *stats,
            pods: state.map(pods::lines),
            events: Vec::new(),
            stopping: false,
        }
    }

    /// The same with what has happened lately, and whether the run is to stop.
    pub(in crate::run) fn with(mut self, events: Vec<EventLine>, stopping: bool) -> Self {
        self.events = events;
        self.stopping = stopping;
        self
    }
}

/// Characters of one text from outside at most.
const MOST_CHARS: usize = 300;

/// Text from outside that can neither command the terminal nor reorder what is read.
pub(super) fn tame(text: &str) -> String {
    rollscope_reports::visible(text, MOST_CHARS)
}
