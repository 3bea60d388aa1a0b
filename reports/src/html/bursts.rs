//! Each burst with its evidence in full.

use std::collections::BTreeSet;

use maud::{Markup, html};
use rollscope_analyzer::{Analysis, Burst};
use rollscope_records::{Recording, RequestRecord};

use super::first_screen::span;
use super::parts::{
    advice, cause_title, evidence, foreign, outcomes, pod_links, sentence, time_link,
};
use super::placement::Placement;
use crate::text::{count, counted, field, millis};

/// Requests of a burst that are listed in the page; the panel of the timeline has them all.
const MOST_REQUESTS: usize = 40;

/// The section of bursts.
pub(super) fn section(a: &Analysis, recording: &Recording) -> Markup {
    let placement = Placement::new(a, recording);
    html! {
        section #bursts aria-labelledby="bursts-title" {
            h2 #bursts-title { "Bursts of failed requests" }
            @if a.bursts.is_empty() { p.none { "None." } }
            @for b in &a.bursts { (burst(a, b, recording, &placement)) }
            @if a.unattributed > 0 { (in_no_burst(a, recording, &placement)) }
        }
    }
}

fn burst(a: &Analysis, b: &Burst, recording: &Recording, placement: &Placement<'_>) -> Markup {
    html! {
        article.burst #{ "burst-" (b.id) } {
            h3 { "#" (b.id) " " (cause_title(&b.cause, b.detail.as_deref())) span.count { (count(b.failed)) " failed" } }
            p { (sentence(&b.summary)) }
            dl.facts {
                div { dt { "When" } dd { (time_link(b.from_ms, b.to_ms, &span(b.from_ms, b.to_ms))) } }
                div { dt { "Pods" } dd { @if b.pods.is_empty() { "not known" } @else { (pod_links(&b.pods, &a.pods)) } } }
                div { dt { "Outcomes" } dd { (outcomes(&b.by_outcome)) } }
                div { dt { "Confidence" } dd { (format!("{:.2}", b.confidence)) } }
            }
            div.columns {
                div { h4 { "Evidence for" } (evidence(&b.evidence, "None.")) }
                div {
                    h4 { "Evidence against" } (evidence(&b.against, "Looked for, none found."))
                    h4 { "Ruled out" }
                    @if b.ruled_out.is_empty() { p.none { "No other cause was weighed." } }
                    @else { dl.ruled { @for r in &b.ruled_out { div { dt { code { (field(&r.cause)) } } dd { (sentence(&r.why)) } } } } }
                }
            }
            @if !b.advice.is_empty() { h4 { "Change" } (advice(&b.advice)) }
            (requests(b, recording, placement, a))
        }
    }
}

fn requests(b: &Burst, recording: &Recording, placement: &Placement<'_>, a: &Analysis) -> Markup {
    let wanted: BTreeSet<u64> = b.requests.iter().copied().collect();
    let rows: Vec<_> = recording
        .requests
        .iter()
        .filter(|r| wanted.contains(&r.seq))
        .collect();
    request_table(&rows, placement, a)
}

fn in_no_burst(a: &Analysis, recording: &Recording, placement: &Placement<'_>) -> Markup {
    let failed = recording.requests.iter().filter(|r| r.outcome.is_failure());
    let rows: Vec<_> = failed.filter(|r| placement.of(r).burst.is_none()).collect();
    html! {
        article.burst {
            h3 { "In no burst" span.count { (count(a.unattributed)) " failed" } }
            (request_table(&rows, placement, a))
        }
    }
}

fn request_table(rows: &[&RequestRecord], placement: &Placement<'_>, a: &Analysis) -> Markup {
    let more = rows.len().saturating_sub(MOST_REQUESTS);
    html! {
        details.rows {
            summary { (counted(rows.len() as u64, "request record", "request records")) }
            div.scroll {
                table {
                    thead { tr { th scope="col" { "Slot" } th scope="col" { "Due, s" } th scope="col" { "Ended after" } th scope="col" { "Lane" } th scope="col" { "Request" } th scope="col" { "Outcome" } th scope="col" { "Phase" } th scope="col" { "Pod" } } }
                    tbody { @for r in rows.iter().take(MOST_REQUESTS) { (request_row(r, placement, a)) } }
                }
            }
            @if more > 0 { p.none { "and " (count(more as u64)) " more: the timeline has all of them." } }
        }
    }
}

fn request_row(r: &RequestRecord, placement: &Placement<'_>, a: &Analysis) -> Markup {
    let pod = placement.of(r).pod.map(|index| a.pods[index].name.as_str());
    let after = r
        .ended
        .map(|ended| millis(ended.nanos_since(r.scheduled) as f64 / 1e6));
    html! {
        tr {
            td.num { (r.seq) }
            td.num { (format!("{:.3}", r.scheduled.nanos() as f64 / 1e9)) }
            td.num { (after.unwrap_or_default()) }
            td { (r.lane.as_str()) @if r.reused { " (reused)" } }
            td { (foreign(&r.name)) }
            td { (r.outcome.as_str()) @if let Some(status) = r.status { " " (status) } @if let Some(errno) = r.errno { " errno " (errno) } }
            td { (r.phase.as_str()) }
            td { @if let Some(pod) = pod { (foreign(pod)) } @else { "not tied to one" } }
        }
    }
}
