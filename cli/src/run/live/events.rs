//! What happened lately: events of the cluster and marks of the logs, with the time at which they were first seen here.

use std::collections::VecDeque;
use std::time::Duration;

use rollscope_collector::{ClusterState, EventNote, Progress};

use super::view::tame;

/// Events that are kept: more than a screen shows.
const KEPT: usize = 100;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::run) struct EventLine {
    /// When it was seen, since the walk began.
    pub(super) at: Duration,
    /// What it was.
    pub(super) text: String,
    /// Whether the cluster warns of it.
    pub(super) warning: bool,
}

/// The latest events.
#[derive(Debug, Default)]
pub(in crate::run) struct Events {
    lines: VecDeque<EventLine>,
    seen: VecDeque<(String, i64)>,
    stage: Option<usize>,
    mark: Option<String>,
}

impl Events {
    /// Takes in what is new at `at`.
    pub(in crate::run) fn update(
        &mut self,
        at: Duration,
        progress: &Progress,
        state: Option<&ClusterState>,
    ) {
        if self.stage != Some(progress.stage) {
            self.stage = Some(progress.stage);
            self.add(at, format!("stage {} begins", progress.kind), false);
        }
        for note in state.iter().flat_map(|s| &s.events) {
            let key = (note.uid.clone(), note.count);
            if !self.seen.contains(&key) {
                self.seen.push_back(key);
                self.add(at, words(note), note.severity == "Warning");
            }
        }
        if self.mark != progress.last_mark {
            self.mark.clone_from(&progress.last_mark);
            if let Some(mark) = &self.mark {
                let text = format!("mark {}", tame(mark));
                self.add(at, text, false);
            }
        }
        if let Some(state) = state {
            // An event that the cluster's state has dropped does not come back.
            self.seen
                .retain(|(uid, _)| state.events.iter().any(|e| e.uid == *uid));
        }
    }

    /// The latest ones, oldest first.
    pub(in crate::run) fn lines(&self) -> Vec<EventLine> {
        self.lines.iter().cloned().collect()
    }

    fn add(&mut self, at: Duration, text: String, warning: bool) {
        self.lines.push_back(EventLine { at, text, warning });
        if self.lines.len() > KEPT {
            self.lines.pop_front();
        }
    }
}

fn words(note: &EventNote) -> String {
    let times = if note.count > 1 {
        format!(" (x{})", note.count)
    } else {
        String::new()
    };
    tame(&format!(
        "{}{times} {}: {}",
        note.reason, note.about, note.message
    ))
}
