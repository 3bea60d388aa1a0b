//! Two runs as one Markdown table.

use std::collections::{BTreeMap, BTreeSet};

use rollscope_analyzer::{Analysis, MsLength, PodReport};

use super::escape::{code, inline};
use crate::text::{cause_code, count, length, millis, verdict, visible};

/// The table that compares `before` with `after` in Markdown (GitHub's flavour): verdict, failed requests and their
/// causes, the longest propagation lag, the tightest margin to a deadline, and latency. What a run does not know is `–`.
/// Text from outside can neither format nor link nor mention.
pub fn comparison_md(before: &Analysis, after: &Analysis) -> String {
    let runs = [before, after];
    let mut lines = vec![
        "| | before | after |".to_owned(),
        "|:--|--:|--:|".to_owned(),
        row("run", runs.map(|a| inline(&visible(&a.run.name, 100)))),
        row(
            "started",
            runs.map(|a| inline(&visible(&a.run.started_at, 40))),
        ),
        row(
            "verdict",
            runs.map(|a| {
                let verdict = verdict(a.verdict.outcome);
                format!("{verdict} (exit {})", a.verdict.exit_code)
            }),
        ),
        row("sent", runs.map(|a| count(a.requests.sent))),
        row("failed", runs.map(|a| count(a.requests.failed))),
    ];
    lines.extend(causes(before, after));
    lines.push(row(
        "failed in no burst",
        runs.map(|a| count(a.unattributed)),
    ));
    let pods =
        |get: fn(&PodReport) -> Option<MsLength>| runs.map(|a| a.pods.iter().filter_map(get));
    lines.push(row(
        "propagation lag, longest",
        pods(|p| p.propagation_lag_ms).map(|all| known(all.max())),
    ));
    lines.push(row(
        "margin to the deadline, tightest",
        pods(|p| p.margin_to_deadline_ms).map(|all| known(all.min())),
    ));
    lines.push(row(
        "latency p99 from the due time",
        runs.map(|a| millis(a.latency_ms.scheduled.p99)),
    ));
    lines.join("\n") + "\n"
}

fn row(name: &str, [before, after]: [String; 2]) -> String {
    format!("| {name} | {before} | {after} |")
}

/// A row for each cause of either run.
fn causes(before: &Analysis, after: &Analysis) -> Vec<String> {
    let runs = [before, after].map(|run| {
        let mut failed: BTreeMap<String, u64> = BTreeMap::new();
        for burst in &run.bursts {
            let name = cause_code(&burst.cause, burst.detail.as_deref());
            *failed.entry(name).or_default() += burst.failed;
        }
        failed
    });
    let names: BTreeSet<&String> = runs.iter().flat_map(BTreeMap::keys).collect();
    let of = |name: &String| {
        [&runs[0], &runs[1]].map(|run| count(run.get(name).copied().unwrap_or_default()))
    };
    names
        .into_iter()
        .map(|name| row(&format!("– {}", code(&visible(name, 100))), of(name)))
        .collect()
}

fn known(of: Option<MsLength>) -> String {
    of.map_or_else(|| "–".to_owned(), length)
}
