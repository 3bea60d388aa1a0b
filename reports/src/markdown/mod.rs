//! `summary.md`: a screen for a job's summary or a pull request comment.

mod comparison;
mod escape;
mod jobs;
mod journeys;
mod sparks;
mod stages;

use rollscope_analyzer::{Analysis, Burst, VerdictOutcome};
use rollscope_records::Recording;

use crate::causes::{changes, groups, reasons_say_more};
use crate::text::{cause, cause_code, count, counted, length, millis, rate, verdict, visible};
use escape::{code, inline};

pub use comparison::comparison_md;

/// Lines of the summary at most.
pub const MARKDOWN_LINES: usize = 40;
/// Causes, pieces of advice and reasons that are told; the rest is counted.
const MOST: usize = 3;
/// Findings that are told.
const MOST_FINDINGS: usize = 2;

/// The run in Markdown (GitHub's flavour), at most [`MARKDOWN_LINES`] lines: verdict and counts, the causes with what
/// to change, failures over time in text, and the timeline as a picture where `figure` names one, relative to the file.
/// Text from outside can neither format nor link nor mention.
pub fn summary_md(a: &Analysis, recording: &Recording, figure: Option<&str>) -> String {
    let mut lines = vec![headline(a), String::new(), lead(a), String::new()];
    if reasons_say_more(a) && !a.verdict.reasons.is_empty() {
        let reasons = a.verdict.reasons.iter();
        lines.extend(reasons.take(MOST).map(|r| format!("- {}", inline(r))));
        lines.extend(more(
            a.verdict.reasons.len(),
            MOST,
            "more reason",
            "more reasons",
        ));
        lines.push(String::new());
    }
    lines.extend(table(a));
    if let Some(signal) = &a.signal {
        lines.push(format!("{}.", inline(&visible(&signal.summary, 300))));
        lines.push(String::new());
    }
    lines.extend(jobs::line(a));
    lines.extend(causes(a));
    lines.extend(advice(a));
    lines.extend(findings(a));
    lines.extend(sparks::figure(a, recording));
    let after = if figure.is_some() { 3 } else { 1 };
    let room = |lines: &[String]| MARKDOWN_LINES.saturating_sub(lines.len() + after);
    lines.extend(journeys::table(a, room(&lines)));
    lines.extend(stages::table(a, room(&lines)));
    if let Some(figure) = figure {
        lines.push(format!("![Timeline of the rollout]({figure})"));
        lines.push(String::new());
    }
    lines.push(format!(
        "<sub>{} · {} · `timeline.html` has the evidence</sub>",
        inline(&visible(&a.run.tool, 60)),
        inline(&visible(&a.run.started_at, 40))
    ));
    lines.join("\n") + "\n"
}

fn headline(a: &Analysis) -> String {
    let sign = match a.verdict.outcome {
        VerdictOutcome::Passed => "✅",
        VerdictOutcome::GateFailed => "❌",
        _ => "⚠️",
    };
    format!(
        "### {sign} {}: {}",
        verdict(a.verdict.outcome),
        inline(&visible(&a.run.name, 100))
    )
}

fn lead(a: &Analysis) -> String {
    let workload = a.run.workload.as_deref();
    let workload = workload.map(|w| format!(", {}", code(&visible(w, 100))));
    format!(
        "**{} of {} failed**; the gate allows {} (exit code {}). {} at {} on target {}{}.",
        count(a.requests.failed),
        counted(a.requests.sent, "request", "requests"),
        count(a.run.max_failed),
        a.verdict.exit_code,
        length(a.run.duration_ms),
        rate(a.run.rate_per_second),
        code(&visible(&a.run.target, 40)),
        workload.unwrap_or_default()
    )
}

fn table(a: &Analysis) -> Vec<String> {
    let r = &a.requests;
    let latency = &a.latency_ms.scheduled;
    let held = |held| a.assertions.iter().filter(|x| x.held == held).count();
    let ended = a.pods.iter().filter(|p| p.deletion_requested_ms.is_some());
    vec![
        "| planned | sent | ok | failed | dropped | aborted | p50 | p99 | pods ended | assertions |".to_owned(),
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|:--|".to_owned(),
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} of {} | {} held, {} broken |",
            count(r.planned),
            count(r.sent),
            count(r.ok),
            count(r.failed),
            count(r.dropped),
            count(r.aborted),
            millis(latency.p50),
            millis(latency.p99),
            ended.count(),
            a.pods.len(),
            held(Some(true)),
            held(Some(false))
        ),
        String::new(),
    ]
}

fn causes(a: &Analysis) -> Vec<String> {
    let groups = groups(&a.bursts);
    let mut lines: Vec<_> = groups.iter().take(MOST).map(|g| cause_line(g)).collect();
    lines.extend(more(groups.len(), MOST, "more cause", "more causes"));
    if a.unattributed > 0 {
        let what = counted(a.unattributed, "failed request", "failed requests");
        lines.push(format!("- {what} in no burst"));
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn cause_line(group: &[&Burst]) -> String {
    let largest = group.iter().max_by_key(|b| b.failed).unwrap_or(&group[0]);
    let failed: u64 = group.iter().map(|b| b.failed).sum();
    let words = cause(&largest.cause).map_or(String::new(), |words| format!(" {words}."));
    let name = cause_code(&largest.cause, largest.detail.as_deref());
    format!(
        "- **{}** ({} failed, {}).{words} {}",
        code(&visible(&name, 100)),
        count(failed),
        counted(group.len() as u64, "burst", "bursts"),
        inline(&visible(&largest.summary, 400))
    )
}

fn advice(a: &Analysis) -> Vec<String> {
    let changes = changes(&a.bursts);
    if changes.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["**What to change**".to_owned(), String::new()];
    lines.extend(changes.iter().take(MOST).map(|(advice, _)| {
        let (field, text) = (visible(&advice.field, 100), visible(&advice.text, 400));
        format!("- {}: {}", code(&field), inline(&text))
    }));
    lines.extend(more(changes.len(), MOST, "more change", "more changes"));
    lines.push(String::new());
    lines
}

fn findings(a: &Analysis) -> Vec<String> {
    let mut lines: Vec<_> = a
        .findings
        .iter()
        .take(MOST_FINDINGS)
        .map(|f| {
            let name = cause_code(&f.cause, f.detail.as_deref());
            let summary = inline(&visible(&f.summary, 300));
            format!(
                "- {}, without a failed request: {summary}",
                code(&visible(&name, 100))
            )
        })
        .collect();
    lines.extend(more(
        a.findings.len(),
        MOST_FINDINGS,
        "more finding",
        "more findings",
    ));
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn more(all: usize, told: usize, one: &str, many: &str) -> Option<String> {
    let left = all.checked_sub(told).filter(|left| *left > 0)?;
    Some(format!("- and {}", counted(left as u64, one, many)))
}
