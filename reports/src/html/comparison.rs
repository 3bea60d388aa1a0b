//! Two runs side by side: what became better, what became worse, what is new and what is gone.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use rollscope_analyzer::{Analysis, MsLength, PodReport};

use super::page::{Document, document};
use super::parts::{cause_title, foreign, sentence};
use crate::text::{count, counted, field, length, millis, rate, verdict};

/// The page that compares `before` with `after`. Both are shown as they are; which one is right is not decided here.
pub fn comparison_html(before: &Analysis, after: &Analysis) -> String {
    let names = [before, after].map(|a| field(&a.run.name));
    let title = if names[0] == names[1] {
        format!("{}: two runs · Rollscope", names[0])
    } else {
        format!("{} and {} · Rollscope", names[0], names[1])
    };
    document(&Document {
        title: &title,
        body: &html! {
            div.page {
                header.head.plain {
                    h1 { "Two runs compared" }
                    p.lead { (lead(before, after)) }
                }
                main {
                    (section("runs", "The runs", &runs(before, after)))
                    (section("causes", "Causes of failed requests", &causes(before, after)))
                    (section("measures", "Measurements", &measures(before, after)))
                    (section("pods", "Pods that ended", &pods(before, after)))
                    (section("assertions", "Shutdown assertions", &assertions(before, after)))
                    (section("findings", "Findings", &findings(before, after)))
                }
            }
        },
    })
}

fn section(id: &str, title: &str, content: &Markup) -> Markup {
    let title_id = format!("{id}-title");
    html! { section id=(id) aria-labelledby=(title_id) { h2 id=(title_id) { (title) } (content) } }
}

/// The difference in a sentence.
fn lead(before: &Analysis, after: &Analysis) -> String {
    let [b, a] = [before, after].map(|run| run.requests.failed);
    let share = |run: &Analysis| 1e2 * run.requests.failed as f64 / run.requests.sent.max(1) as f64;
    let failed = match (b, a) {
        (0, 0) => "No request failed in either run".to_owned(),
        (1, 0) => "The failed request is gone".to_owned(),
        (b, 0) => format!("The {} failed requests are gone", count(b)),
        (0, a) => format!("{} failed, none before", counted(a, "request", "requests")),
        (b, a) => format!(
            "{} failed before, {} after",
            counted(b, "request", "requests"),
            count(a)
        ),
    };
    format!(
        "{failed} ({:.2} % of those sent, then {:.2} %).",
        share(before),
        share(after)
    )
}

/// A table with a row for each thing, a column for each run.
fn table(caption: &str, rows: &[Row]) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label=(caption) {
            table.compared {
                thead { tr { th scope="col" { (caption) } th scope="col" { "Before" } th scope="col" { "After" } th scope="col" { "Difference" } } }
                tbody {
                    @for row in rows {
                        tr { th scope="row" { (row.name) } td.num { (row.before) } td.num { (row.after) } td.num { (row.difference()) } }
                    }
                }
            }
        }
    }
}

/// A number of a run, or of one of its pods.
type Get<T, N> = fn(&T) -> N;

/// A length of a pod's end, ms, where it is known, and its name.
type Measured = (&'static str, Get<PodReport, Option<f64>>);

/// Which way a difference is good.
#[derive(Clone, Copy)]
enum Better {
    Less,
    Neither,
}

struct Row {
    name: Markup,
    before: String,
    after: String,
    /// The difference in words with its sign, and whether it is for the better; `None` where it cannot be told.
    change: Option<(String, Option<bool>)>,
}

impl Row {
    /// A number of each run.
    fn number(
        name: &str,
        [before, after]: [Option<f64>; 2],
        better: Better,
        shown: impl Fn(f64) -> String,
    ) -> Self {
        let text = |n: Option<f64>| n.map_or("–".to_owned(), &shown);
        let change = before.zip(after).map(|(before, after)| {
            let by = after - before;
            let sign = if by > 0.0 { "+" } else { "−" };
            let good = match better {
                Better::Less => Some(by < 0.0),
                Better::Neither => None,
            };
            if by == 0.0 {
                ("same".to_owned(), None)
            } else {
                (format!("{sign}{}", shown(by.abs())), good)
            }
        });
        Self {
            name: html! { (name) },
            before: text(before),
            after: text(after),
            change,
        }
    }

    /// A text of each run.
    fn text(name: &str, [before, after]: [String; 2]) -> Self {
        let change = (before == after).then(|| ("same".to_owned(), None));
        Self {
            name: html! { (name) },
            before,
            after,
            change,
        }
    }

    fn difference(&self) -> Markup {
        html! {
            @match &self.change {
                Some((words, Some(true))) => { span.good { "▲ better " (words) } },
                Some((words, Some(false))) => { span.bad { "▼ worse " (words) } },
                Some((words, None)) => { (words) },
                None => { },
            }
        }
    }
}

fn of_both<T>(before: &Analysis, after: &Analysis, get: impl Fn(&Analysis) -> T) -> [T; 2] {
    [get(before), get(after)]
}

fn runs(before: &Analysis, after: &Analysis) -> Markup {
    let both = |get: fn(&Analysis) -> String| of_both(before, after, get);
    table(
        "Run",
        &[
            Row::text("Scenario", both(|a| field(&a.run.name))),
            Row::text("Started", both(|a| field(&a.run.started_at))),
            Row::text(
                "Workload",
                both(|a| a.run.workload.as_deref().map(field).unwrap_or_default()),
            ),
            Row::text(
                "Verdict",
                both(|a| {
                    format!(
                        "{} (exit {})",
                        verdict(a.verdict.outcome),
                        a.verdict.exit_code
                    )
                }),
            ),
            Row::text("Planned rate", both(|a| rate(a.run.rate_per_second))),
            Row::text("Length", both(|a| length(a.run.duration_ms))),
        ],
    )
}

fn causes(before: &Analysis, after: &Analysis) -> Markup {
    let by_cause = |a: &Analysis| {
        let mut failed: BTreeMap<(String, Option<String>), u64> = BTreeMap::new();
        for burst in &a.bursts {
            *failed
                .entry((burst.cause.clone(), burst.detail.clone()))
                .or_default() += burst.failed;
        }
        failed
    };
    let [b, a] = of_both(before, after, by_cause);
    let all: BTreeSet<_> = b.keys().chain(a.keys()).collect();
    let rows: Vec<Row> = all
        .into_iter()
        .map(|key| {
            let of = |failed: &BTreeMap<_, u64>| Some(failed.get(key).copied().unwrap_or(0) as f64);
            let mut row = Row::number("", [of(&b), of(&a)], Better::Less, |n| count(n as u64));
            row.name = cause_title(&key.0, key.1.as_deref());
            row
        })
        .collect();
    html! {
        @if rows.is_empty() { p.none { "None in either run." } } @else { (table("Cause", &rows)) }
        @for (title, run) in [("Before", before), ("After", after)] {
            @if !run.bursts.is_empty() {
                h3 { (title) }
                ul { @for burst in run.bursts.iter().take(8) { li { (sentence(&burst.summary)) } } }
                @if run.bursts.len() > 8 { p.none { "and " (count((run.bursts.len() - 8) as u64)) " more bursts" } }
            }
        }
    }
}

fn measures(before: &Analysis, after: &Analysis) -> Markup {
    let both = |get: &dyn Fn(&Analysis) -> Option<f64>| of_both(before, after, get);
    let whole = |n: f64| count(n as u64);
    let counts: [(&str, Get<Analysis, u64>, Better); 6] = [
        ("Requests sent", |a| a.requests.sent, Better::Neither),
        ("Failed", |a| a.requests.failed, Better::Less),
        ("Failed in no burst", |a| a.unattributed, Better::Less),
        (
            "Hidden by clients that re-send",
            |a| a.requests.maskable,
            Better::Less,
        ),
        ("Dropped, not sent", |a| a.requests.dropped, Better::Less),
        (
            "Gaps that matter",
            |a| a.gaps.iter().filter(|g| g.matters).count() as u64,
            Better::Less,
        ),
    ];
    let latencies: [(&str, Get<Analysis, f64>); 3] = [
        ("Latency p50 from the due time", |a| {
            a.latency_ms.scheduled.p50
        }),
        ("Latency p99", |a| a.latency_ms.scheduled.p99),
        ("Latency max", |a| a.latency_ms.scheduled.max),
    ];
    let mut rows: Vec<_> = counts
        .iter()
        .map(|(name, get, better)| {
            Row::number(name, both(&|a| Some(get(a) as f64)), *better, whole)
        })
        .collect();
    rows.extend(latencies.iter().map(|(name, get)| {
        let values = both(&|a| Some(get(a)));
        Row::number(name, values, by_much(values), millis)
    }));
    table("Measurement", &rows)
}

/// Less is better, where two latencies are so far apart that a run made again would hardly join them: 10 % and 1 ms.
fn by_much(values: [Option<f64>; 2]) -> Better {
    match values {
        [Some(a), Some(b)] if (a - b).abs() > (a.max(b) / 10.0).max(1.0) => Better::Less,
        _ => Better::Neither,
    }
}

/// Lengths of the ends of pods: least, median, most. A short one is good after a drain and bad without one, so that none
/// is called better here.
fn pods(before: &Analysis, after: &Analysis) -> Markup {
    let measured: [Measured; 4] = [
        ("Propagation lag", |p| p.propagation_lag_ms.map(ms)),
        ("Deletion to end", to_end),
        ("Margin to the deadline", |p| {
            p.margin_to_deadline_ms.map(ms)
        }),
        ("Deletion to first drain sign", to_drain),
    ];
    let mut rows = Vec::new();
    for (name, get) in measured {
        let sorted = of_both(before, after, |a| {
            let mut values: Vec<f64> = a.pods.iter().filter_map(get).collect();
            values.sort_by(f64::total_cmp);
            values
        });
        for (which, pick) in [("least", 0), ("median", 1), ("most", 2)] {
            let of = |values: &Vec<f64>| {
                let last = values.len().checked_sub(1)?;
                values.get([0, last / 2, last][pick]).copied()
            };
            let values = [of(&sorted[0]), of(&sorted[1])];
            rows.push(Row::number(
                &format!("{name}, {which}"),
                values,
                Better::Neither,
                millis,
            ));
        }
    }
    let ended = |a: &Analysis| {
        a.pods
            .iter()
            .filter(|p| p.deletion_requested_ms.is_some())
            .count()
    };
    let [b, a] = of_both(before, after, ended);
    html! {
        p.note { (b) " pods were told to end before, " (a) " after." }
        (table("Measurement", &rows))
    }
}

fn ms(length: MsLength) -> f64 {
    length.0 as f64 / 1e6
}

/// From the middle of what is known of a deletion to the middle of what is known of the end, ms.
fn to_end(pod: &PodReport) -> Option<f64> {
    let from = pod.deletion_requested_ms?.0;
    let to = pod.exit.as_ref()?.at_ms.0;
    Some(between(from, to))
}

fn to_drain(pod: &PodReport) -> Option<f64> {
    let from = pod.deletion_requested_ms?.0;
    let to = pod.first_drain_sign.as_ref()?.at_ms.0;
    Some(between(from, to))
}

fn between(from: rollscope_records::Interval, to: rollscope_records::Interval) -> f64 {
    let middle =
        |at: rollscope_records::Interval| (at.lo.as_millis_f64() + at.hi.as_millis_f64()) / 2.0;
    middle(to) - middle(from)
}

fn assertions(before: &Analysis, after: &Analysis) -> Markup {
    let held = |a: &Analysis| -> BTreeMap<String, (Option<bool>, String)> {
        let of = |x: &rollscope_analyzer::Assertion| (x.id.clone(), (x.held, x.text.clone()));
        a.assertions.iter().map(of).collect()
    };
    let [b, a] = of_both(before, after, held);
    let ids: BTreeSet<_> = b.keys().chain(a.keys()).collect();
    let words = |held: Option<&(Option<bool>, String)>| match held {
        Some((Some(true), _)) => "✓ held",
        Some((Some(false), _)) => "✗ broken",
        Some((None, _)) => "? not seen",
        None => "–",
    };
    let rows: Vec<_> = ids
        .into_iter()
        .map(|id| {
            let held = [b.get(id), a.get(id)];
            let mut row = Row::text("", held.map(|h| words(h).to_owned()));
            let broken = held.map(|h| h.and_then(|h| h.0));
            if let [Some(before), Some(after)] = broken
                && before != after
            {
                row.change = Some((String::new(), Some(after)));
            }
            let text = held.into_iter().flatten().map(|h| h.1.as_str()).next();
            row.name = html! { (foreign(text.unwrap_or_default())) br; code { (field(id)) } };
            row
        })
        .collect();
    html! { @if rows.is_empty() { p.none { "None: no pod was seen terminating." } } @else { (table("Assertion", &rows)) } }
}

fn findings(before: &Analysis, after: &Analysis) -> Markup {
    let names = |a: &Analysis| -> BTreeSet<(String, Option<String>)> {
        let of = |f: &rollscope_analyzer::Finding| (f.cause.clone(), f.detail.clone());
        a.findings.iter().map(of).collect()
    };
    let [b, a] = of_both(before, after, names);
    let list = |title: &str, found: Vec<&(String, Option<String>)>| {
        html! {
            @if !found.is_empty() {
                h3 { (title) }
                ul { @for (cause, detail) in found { li { (cause_title(cause, detail.as_deref())) } } }
            }
        }
    };
    html! {
        @if a.is_empty() && b.is_empty() { p.none { "None in either run." } }
        (list("New", a.difference(&b).collect()))
        (list("Gone", b.difference(&a).collect()))
        (list("In both", a.intersection(&b).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::fixtures::analysis_of;

    fn run(failed: u64, lag_ms: i64) -> Analysis {
        let mut analysis = analysis_of(&["a"], &[(1, &["a"])]);
        (analysis.requests.sent, analysis.requests.failed) = (200, failed);
        analysis.bursts[0].failed = failed;
        analysis.bursts.retain(|b| b.failed > 0);
        analysis.pods[0].propagation_lag_ms = Some(MsLength(lag_ms * 1_000_000));
        analysis
    }

    #[test]
    fn fewer_failures_are_better_and_shorter_lags_are_only_shorter() {
        let page = comparison_html(&run(12, 2_000), &run(0, 500));
        assert!(
            page.contains("The 12 failed requests are gone (6.00 % of those sent, then 0.00 %).")
        );
        assert!(page.contains("▲ better −12"));
        assert!(page.contains("<td class=\"num\">−1.50 s</td>"));
        assert!(!page.contains("▼ worse"));
    }

    #[test]
    fn more_failures_are_worse() {
        let page = comparison_html(&run(1, 500), &run(12, 500));
        assert!(page.contains("1 request failed before, 12 after"));
        assert!(page.contains("▼ worse +11"));
    }

    #[test]
    fn a_cause_of_one_run_alone_is_shown_as_none_in_the_other() {
        let page = comparison_html(&run(0, 500), &run(3, 500));
        let causes = &page[page.find("id=\"causes\"").unwrap_or(0)..];
        assert!(
            causes.contains("<td class=\"num\">0</td><td class=\"num\">3</td>"),
            "{causes}"
        );
    }

    #[test]
    fn hostile_text_stays_text() {
        let mut hostile = run(3, 500);
        hostile.run.name = "</title><script>alert(1)</script>\u{202e}".to_owned();
        hostile.bursts[0].summary = hostile.run.name.clone();
        hostile.bursts[0].cause = hostile.run.name.clone();
        let page = comparison_html(&hostile, &run(0, 1));
        assert!(!page.contains("<script"));
        assert!(!page.contains('\u{202e}'));
    }
}
