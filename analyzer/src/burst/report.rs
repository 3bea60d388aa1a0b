//! Bursts as the report shows them.

use std::collections::BTreeMap;

use rollscope_records::RunOffset;

use super::{Cell, Merged};
use crate::analysis::{Burst, Evidence, Ms, RuledOut, StageReport};
use crate::context::Context;
use crate::signatures::{Group, by_name, undecided_summary};

/// Facts of one kind about many pods: this many are shown.
const SHOWN: usize = 12;

/// One report for each burst, numbered in order of time.
pub(crate) fn burst_reports(bursts: &[Merged], cells: &[Cell], cx: &Context<'_>) -> Vec<Burst> {
    let mut reports: Vec<Burst> = bursts.iter().map(|b| report(b, cells, cx)).collect();
    reports.sort_by(|a, b| (a.from_ms, &a.requests).cmp(&(b.from_ms, &b.requests)));
    for (i, r) in reports.iter_mut().enumerate() {
        r.id = u32::try_from(i + 1).unwrap_or(u32::MAX);
    }
    reports
}

fn report(b: &Merged, cells: &[Cell], cx: &Context<'_>) -> Burst {
    let group = Group {
        detail: b.detail.as_deref(),
        pods: &b.pods,
        failures: &b.failures,
    };
    let failures = || b.failures.iter().map(|i| &cx.traffic.failures[*i]);
    let requests = || failures().map(|f| cx.traffic.request(f));
    let mut by_outcome = BTreeMap::new();
    for r in requests() {
        *by_outcome.entry(r.outcome.as_str().to_owned()).or_insert(0) += 1;
    }
    let mut seqs: Vec<u64> = requests().map(|r| r.seq).collect();
    seqs.sort_unstable();
    let signature = by_name(&b.cause);
    let mine = || b.cells.iter().map(|c| &cells[*c].judgement);
    let stage = stage(failures().map(|f| f.at).min(), cx);
    let summary = match signature {
        Some(s) => (s.summary)(&group, cx),
        None => undecided_summary(&b.cause, b.detail.as_deref(), &group, cx),
    };
    Burst {
        id: 0,
        from_ms: Ms(requests().map(|r| r.scheduled).min().unwrap_or_default()),
        to_ms: Ms(failures().map(|f| f.ended).max().unwrap_or_default()),
        failed: b.failures.len() as u64,
        by_outcome,
        pods: cx.timeline.names(&b.pods),
        requests: seqs,
        cause: b.cause.clone(),
        detail: b.detail.clone(),
        summary: match &stage {
            // Without a watched workload, the stage is what the failures can be tied to.
            Some(stage) if cx.target == "none" => during(&summary, stage),
            _ => summary,
        },
        stage,
        confidence: confidence(b, cells),
        evidence: unique(mine().flat_map(|j| &j.evidence)),
        against: unique(mine().flat_map(|j| &j.against)),
        ruled_out: ruled_out(mine().flat_map(|j| &j.ruled_out)),
        advice: signature.map_or_else(Vec::new, |s| (s.advice)(&group, cx)),
    }
}

/// `10 requests cut during stage 2 (exec): ...`
fn during(summary: &str, stage: &str) -> String {
    match summary.split_once(": ") {
        Some((what, why)) => format!("{what} during {stage}: {why}"),
        None => format!("{summary} (during {stage})"),
    }
}

/// The latest stage that had begun by `at` and does something; waiting before or after one does not. Without such a
/// stage, the latest that had begun.
fn stage(at: Option<RunOffset>, cx: &Context<'_>) -> Option<String> {
    let at = at?;
    let begun = cx
        .stages
        .iter()
        .enumerate()
        .filter(|(_, s)| s.from_ms.0 <= at);
    let does = |s: &StageReport| !matches!(s.kind.as_str(), "warmup" | "settle");
    let (i, stage) = begun.max_by_key(|(i, s)| (does(s), s.from_ms.0, *i))?;
    Some(format!("stage {} ({})", i + 1, stage.kind))
}

/// The mean over the burst's requests, to three decimals.
fn confidence(b: &Merged, cells: &[Cell]) -> f64 {
    let n: usize = b.cells.iter().map(|c| cells[*c].failures.len()).sum();
    let sum: f64 = b
        .cells
        .iter()
        .map(|c| cells[*c].judgement.confidence * cells[*c].failures.len() as f64)
        .sum();
    if n == 0 {
        return 0.0;
    }
    (sum / n as f64 * 1e3).round() / 1e3
}

/// Each fact once, by its name, pod and text; of one name no more than are read.
pub(crate) fn unique<'e>(facts: impl Iterator<Item = &'e Evidence>) -> Vec<Evidence> {
    let mut kept: Vec<Evidence> = Vec::new();
    let mut shown: BTreeMap<String, usize> = BTreeMap::new();
    for fact in facts {
        let n = shown.entry(fact.id.clone()).or_insert(0);
        let known = kept
            .iter()
            .any(|k| k.id == fact.id && k.pod == fact.pod && k.text == fact.text);
        if !known && *n < SHOWN {
            *n += 1;
            kept.push(fact.clone());
        }
    }
    kept
}

fn ruled_out<'e>(all: impl Iterator<Item = &'e RuledOut>) -> Vec<RuledOut> {
    let mut kept: Vec<RuledOut> = Vec::new();
    for r in all {
        if !kept.iter().any(|k| k.cause == r.cause) {
            kept.push(r.clone());
        }
    }
    kept
}
