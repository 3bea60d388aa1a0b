//! The last log lines of each pod, for messages.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Lines kept for a pod.
const KEPT: usize = 8;

/// Characters kept of a line.
const WIDTH: usize = 240;

/// The last lines of each pod (secrets redacted already). Clones share the same lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogTail {
    lines: Arc<Mutex<BTreeMap<String, VecDeque<String>>>>,
}

impl LogTail {
    pub(crate) fn push(&self, pod: &str, line: &str) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let of_pod = match lines.get_mut(pod) {
            Some(of_pod) => of_pod,
            None => lines.entry(pod.to_owned()).or_default(),
        };
        if of_pod.len() == KEPT {
            of_pod.pop_front();
        }
        of_pod.push_back(line.chars().take(WIDTH).collect());
    }

    /// The last lines of a pod, oldest first.
    pub(crate) fn of(&self, pod: &str) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.get(pod).into_iter().flatten().cloned().collect()
    }
}
