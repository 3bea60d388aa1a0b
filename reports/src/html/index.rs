//! `index.html` of a folder of runs: every run, and how failures, lags and margins went from run to run.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::page::{Document, document};
use super::parts::foreign;
use super::run_entry::RunEntry;
use super::trend::{Point, trend};
use crate::text::{cause, count, counted, field, millis};

/// Runs of one scenario that a trend shows at most, the last ones.
const MOST_POINTS: usize = 60;

/// The index of `runs`: a section for each scenario with its trend, and a table of its runs, the last one first.
pub fn index_html(runs: &[RunEntry]) -> String {
    let mut by_name: BTreeMap<&str, Vec<&RunEntry>> = BTreeMap::new();
    for run in runs {
        by_name.entry(&run.name).or_default().push(run);
    }
    for runs in by_name.values_mut() {
        runs.sort_by(|a, b| (&a.started_at, &a.timeline).cmp(&(&b.started_at, &b.timeline)));
    }
    let failed = runs.iter().filter(|run| run.outcome != "passed").count();
    document(&Document {
        title: &format!("{} · Rollscope", counted(runs.len() as u64, "run", "runs")),
        body: &html! {
            div.page {
                header.head.plain {
                    h1 { (counted(runs.len() as u64, "run", "runs")) }
                    p.lead { (count((runs.len() - failed) as u64)) " passed, " (count(failed as u64)) " did not." }
                }
                main {
                    @if runs.is_empty() { p.none { "No report.json was found." } }
                    @for (i, (name, runs)) in by_name.iter().enumerate() { (scenario(i, name, runs)) }
                }
            }
        },
    })
}

fn scenario(index: usize, name: &str, runs: &[&RunEntry]) -> Markup {
    let id = format!("scenario-{index}");
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (foreign(name)) }
            (trends(runs))
            div.scroll tabindex="0" role="group" aria-label="Runs, the last one first" { (table(runs)) }
        }
    }
}

fn trends(runs: &[&RunEntry]) -> Markup {
    let shown = &runs[runs.len().saturating_sub(MOST_POINTS)..];
    html! {
        div.trends {
            (chart("Failed requests", shown, |run| Some(run.failed as f64), |n| count(n as u64)))
            (chart("Longest propagation lag", shown, |run| run.longest_lag_ms, millis))
            (chart("Tightest margin to the deadline", shown, |run| run.tightest_margin_ms, millis))
        }
        p.note {
            "From left to right in order of time. ✕: the run did not pass. ?: not known."
            @if shown.len() < runs.len() { " The last " (shown.len()) " of " (count(runs.len() as u64)) " runs." }
        }
    }
}

fn chart(
    name: &str,
    runs: &[&RunEntry],
    value: fn(&RunEntry) -> Option<f64>,
    label: fn(f64) -> String,
) -> Markup {
    let point = |run: &&RunEntry| {
        let value = value(run);
        let shown = value.map_or("not known".to_owned(), label);
        Point {
            value,
            bad: run.outcome != "passed",
            title: field(&format!(
                "{}: {shown}, {}",
                run.started_at,
                words(&run.outcome)
            )),
        }
    };
    let points: Vec<_> = runs.iter().map(point).collect();
    trend(name, &points, label)
}

fn table(runs: &[&RunEntry]) -> Markup {
    html! {
        table.runs {
            thead { tr {
                @for name in ["Started (UTC)", "Verdict", "Failed", "of", "Causes", "Longest lag", "Tightest margin", "Workload"] { th scope="col" { (name) } }
            } }
            tbody { @for run in runs.iter().rev() { (row(run)) } }
        }
    }
}

fn row(run: &RunEntry) -> Markup {
    let (class, sign) = look(&run.outcome);
    let length = |ms: Option<f64>| ms.map_or("–".to_owned(), millis);
    html! {
        tr {
            th scope="row" {
                @if let Some(href) = run.href() { a href=(href) { (foreign(&run.started_at)) } }
                @else { (foreign(&run.started_at)) }
            }
            td { span.(class) { (sign) " " (words(&run.outcome)) } " " small { "exit " (run.exit_code) } }
            td.num { @if run.failed > 0 { strong.bad { (count(run.failed)) } } @else { "0" } }
            td.num { (count(run.sent)) }
            td {
                @for (name, failed) in &run.causes {
                    div { @if let Some(words) = cause(name) { (words) " " } code { (field(name)) } " " (count(*failed)) }
                }
            }
            td.num { (length(run.longest_lag_ms)) }
            td.num { (length(run.tightest_margin_ms)) }
            td { @if let Some(workload) = &run.workload { (foreign(workload)) } }
        }
    }
}

fn look(outcome: &str) -> (&'static str, &'static str) {
    match outcome {
        "passed" => ("good", "✓"),
        "gate_failed" => ("bad", "✗"),
        _ => ("warn", "⚠"),
    }
}

/// An outcome in words; one that is not known here stands for itself.
fn words(outcome: &str) -> String {
    match outcome {
        "passed" => "passed".to_owned(),
        "gate_failed" => "gate failed".to_owned(),
        "invalid" => "run invalid".to_owned(),
        "interrupted" => "interrupted".to_owned(),
        "environment_failed" => "environment failed".to_owned(),
        other => field(other),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use crate::html::fixtures::analysis_of;
    use crate::report_json;

    fn entry(name: &str, day: u32, failed: u64) -> RunEntry {
        let report = report_json(&analysis_of(&["a"], &[(1, &["a"])]));
        RunEntry {
            name: name.to_owned(),
            started_at: format!("2026-11-{day:02}T10:00:00Z"),
            failed,
            ..RunEntry::from_report(&report, Some(format!("{name}-{day}/timeline.html"))).unwrap()
        }
    }

    #[test]
    fn runs_of_a_scenario_stand_together_the_last_one_first() {
        let page = index_html(&[entry("b", 3, 1), entry("a", 2, 7), entry("a", 9, 0)]);
        let place = |text: &str| page.find(text).unwrap();
        assert!(place("./a-9/timeline.html") < place("./a-2/timeline.html"));
        assert!(place("./a-2/timeline.html") < place("./b-3/timeline.html"));
        assert_eq!(page.matches("<figure").count(), 6);
    }

    #[test]
    fn the_trend_goes_from_the_first_run_to_the_last() {
        let page = index_html(&[entry("a", 9, 0), entry("a", 2, 7)]);
        let chart = &page[page.find("<figure").unwrap()..page.find("</figure>").unwrap()];
        let first = chart.find("2026-11-02T10:00:00Z: 7").unwrap();
        assert!(first < chart.find("2026-11-09T10:00:00Z: 0").unwrap());
    }

    #[test]
    fn hostile_names_stay_text() {
        let hostile = "</style><script>alert(1)</script>\" onclick='x' \u{202e}";
        let page = index_html(&[entry(hostile, 1, 1)]);
        assert!(!page.contains("<script"), "a script");
        assert!(!page.contains('\u{202e}'));
        assert!(page.contains("&lt;script&gt;"));
    }
}
