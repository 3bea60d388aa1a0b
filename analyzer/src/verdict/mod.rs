//! How the run ended for the pipeline. Nobody can make a run look clean that did not look.

mod shards;
mod validity;

use rollscope_records::{EndKind, Recording};

use crate::analysis::{
    Assertion, Burst, GapReport, RequestCounts, StageReport, Verdict, VerdictOutcome,
};
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
    pub(crate) bursts: &'a [Burst],
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
    let (failed, beyond) = failed(g);
    if failed > gate.max_failed {
        reasons.push(format!(
            "{} failed{beyond}, the gate allows {}",
            count(failed, "request"),
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

/// Failed requests that count: under a load of our own all of them; of production, which is never without any, those
/// beyond what fails without a deploy. With the words that say so.
fn failed(g: &Grounds<'_>) -> (u64, &'static str) {
    if g.recording.run.target.kind != "import" {
        return (g.counts.failed, "");
    }
    let beyond = g.bursts.iter().filter(|b| b.cause != "background");
    let beyond = beyond.map(|b| b.failed).sum();
    (beyond, " beyond what fails without a deploy")
}
