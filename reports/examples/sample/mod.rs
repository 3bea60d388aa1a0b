//! A hand-made run: three pods that close their listener at SIGTERM while traffic is still routed to them, and the
//! same run with nothing to blame.
#![allow(
    dead_code,
    reason = "shared by the example and the tests, each of which uses a part"
)]

mod analysis;
mod load;
pub(crate) mod poison;

use rollscope_analyzer::{Analysis, GapReport, Ms, VerdictOutcome};
use rollscope_records::{Recording, RunOffset};

pub(crate) use analysis::at;

/// The run in which requests fail, with `slots` requests at 200/s.
pub(crate) fn early_close(slots: u64) -> (Analysis, Recording) {
    let recording = load::recording(slots, true);
    (analysis::analysis(&recording), recording)
}

/// The run in which nothing fails.
pub(crate) fn clean() -> (Analysis, Recording) {
    let recording = load::recording(4_400, false);
    (analysis::analysis(&recording), recording)
}

/// The clean run with a gap in its observation that matters.
pub(crate) fn invalid() -> (Analysis, Recording) {
    let (mut analysis, recording) = clean();
    analysis.verdict.outcome = VerdictOutcome::Invalid;
    analysis.verdict.exit_code = 3;
    analysis.verdict.reasons = vec![
        "the watch of pods was blind from 8.1 s to 12.4 s, while 2 pods ended: their ends were not seen".to_owned(),
        "187.2 of 200 requests/s were sent in time (93.6 %); at least 99 % are needed".to_owned(),
    ];
    analysis.gaps.push(GapReport {
        source: "watch/Pod".to_owned(),
        from_ms: at(8.1),
        to_ms: Some(at(12.4)),
        reason: "the watch was closed with 410 Gone and listed again".to_owned(),
        matters: true,
    });
    (analysis, recording)
}

/// A moment of `seconds`.
pub(crate) fn offset(seconds: f64) -> RunOffset {
    RunOffset((seconds * 1e9) as i64)
}

/// The end of the load with `slots` requests.
pub(crate) fn load_end(recording: &Recording) -> Ms {
    Ms(recording
        .requests
        .last()
        .map_or(RunOffset::ZERO, |r| r.scheduled))
}
