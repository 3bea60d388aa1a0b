//! Outcomes and latency over time as a table: the charts of the timeline for those who do not see them.

use maud::{Markup, html};

use super::bins::{Bin, Level, SERIES};
use crate::text::{count, millis};

/// Rows of the table at most, where a level allows it.
const MOST_ROWS: usize = 60;

/// The section with the table.
pub(super) fn section(levels: &[Level]) -> Markup {
    let level = levels
        .iter()
        .find(|l| l.bins.len() <= MOST_ROWS)
        .or(levels.last());
    html! {
        section #over-time aria-labelledby="over-time-title" {
            h2 #over-time-title { "Requests over time" }
            @match level {
                None => { p.none { "No request was recorded." } },
                Some(level) => {
                    details {
                        summary { "Counts and latency from the due time, every " (millis(level.width_ms as f64)) }
                        div.scroll tabindex="0" role="group" aria-label="Requests over time, table" { (table(level)) }
                    }
                },
            }
        }
    }
}

fn table(level: &Level) -> Markup {
    let occurs = |series: &usize| level.bins.iter().any(|b| b.counts[*series] > 0);
    let shown: Vec<usize> = (0..SERIES.len()).filter(occurs).collect();
    html! {
        table {
            thead { tr {
                th scope="col" { "From, s" }
                @for series in &shown { th scope="col" { (SERIES[*series].1) } }
                th scope="col" { "p50" } th scope="col" { "p99" }
            } }
            tbody { @for (i, bin) in level.bins.iter().enumerate() { (row(level, i, bin, &shown)) } }
        }
    }
}

fn row(level: &Level, index: usize, bin: &Bin, shown: &[usize]) -> Markup {
    let from = level.from_ms + level.width_ms * i64::try_from(index).unwrap_or(0);
    html! {
        tr {
            th.num scope="row" { (format!("{:.3}", from as f64 / 1e3)) }
            @for series in shown { td.num { (count(bin.counts[*series])) } }
            td.num { (bin.p50.map(millis).unwrap_or_default()) }
            td.num { (bin.p99.map(millis).unwrap_or_default()) }
        }
    }
}
