//! The stages of a shutdown as every report tells them.

use rollscope_analyzer::{PodReport, Shutdown};

use crate::text::{count, length};

/// The stages in the right order: outside in, dependencies last.
pub(crate) const COLUMNS: [&str; 7] = [
    "signal",
    "readiness_off",
    "listener_closed",
    "drained",
    "jobs_returned",
    "pool_closed",
    "exit",
];

/// A stage that was reached.
pub(crate) struct Reached {
    /// After the latest moment of the signal: `5.02 s`.
    pub(crate) after: String,
    /// From the stage before.
    pub(crate) took: String,
    /// How often it ran.
    pub(crate) runs: u64,
}

/// When `stage` was first reached; `None` where nothing tells of it.
pub(crate) fn reached(pod: &PodReport, shutdown: &Shutdown, stage: &str) -> Option<Reached> {
    let first = shutdown.stages.iter().find(|s| s.stage == stage)?;
    let of_stage = shutdown.stages.iter().filter(|s| s.stage == stage);
    let signal = pod.signal_ms.map_or(first.at_ms.0, |s| s.0.hi);
    let after = first.at_ms.0.nanos_since(signal).max(0);
    Some(Reached {
        after: length(rollscope_analyzer::MsLength(after)),
        took: length(first.took_ms),
        runs: of_stage.map(|s| s.run).max().unwrap_or(1),
    })
}

/// How the order of the stages is: a class of the page, and words.
pub(crate) const fn order(shutdown: &Shutdown) -> (&'static str, &'static str) {
    match shutdown.in_order {
        Some(true) => ("good", "in order"),
        Some(false) => ("bad", "out of order"),
        None => ("none", "order not told"),
    }
}

/// `1`, or `2: the same stages twice`.
pub(crate) fn owners(shutdown: &Shutdown) -> String {
    match shutdown.owners {
        n if n > 1 => format!("{}: the same stages came again", count(n)),
        n => count(n),
    }
}
