//! How the run ended for the pipeline. Nobody can make a run look clean that did not look.

mod shards;
mod validity;

use rollscope_records::{EndKind, Recording};

use crate::analysis::{Assertion, GapReport, RequestCounts, StageReport, Verdict, VerdictOutcome};
use crate::timeline::Timeline;
use crate::words::count;

/// What a verdict rests on.
pub(crate) struct Grounds<'a> {
    pub(crate) recording: &'a Recording,
    pub(crate) counts: &'a RequestCounts,
    pub(crate) timeline: &'a Timeline,
    pub(crate) gaps: &'a [GapReport],
    pub(crate) stages: &'a [StageReport],
    pub(crate) assertions: &'a [Assertion],
}

/// The verdict: an interruption comes first (the user knows best why), then failures over the limit, then a failed
/// environment, then an invalid run.
pub(crate) fn verdict(g: &Grounds<'_>) -> Verdict {
    let mut reasons = gate_reasons(g);
    let end = g.recording.run.end.as_ref();
    let words = |what: &str| {
        let reason = end.and_then(|e| e.reason.clone());
        reason.map_or_else(|| what.to_owned(), |r| format!("{what}: {r}"))
    };
    let invalid = validity::reasons(g);
    let (outcome, exit_code) = match end.map(|e| e.how) {
        Some(EndKind::Interrupted) => {
            reasons.insert(0, words("the run was interrupted"));
            (VerdictOutcome::Interrupted, 130)
        }
        _ if !reasons.is_empty() => (VerdictOutcome::GateFailed, 1),
        Some(EndKind::EnvironmentFailed) => {
            reasons.push(words("the environment failed"));
            (VerdictOutcome::EnvironmentFailed, 4)
        }
        _ if !invalid.is_empty() => (VerdictOutcome::Invalid, 3),
        _ => (VerdictOutcome::Passed, 0),
    };
    reasons.extend(invalid);
    Verdict {
        outcome,
        exit_code,
        reasons,
    }
}

fn gate_reasons(g: &Grounds<'_>) -> Vec<String> {
    let gate = &g.recording.run.gate;
    let mut reasons = Vec::new();
    if g.counts.failed > gate.max_failed {
        reasons.push(format!(
            "{} failed, the gate allows {}",
            count(g.counts.failed, "request"),
            gate.max_failed
        ));
    }
    if gate.assertions_fail {
        for a in g.assertions.iter().filter(|a| a.held == Some(false)) {
            reasons.push(format!("assertion {}: {}", a.id, a.why));
        }
    }
    reasons
}
