//! Each burst with its evidence in full.

use std::collections::BTreeMap;

use maud::{Markup, html};
use rollscope_analyzer::{Analysis, Burst};
use rollscope_records::{Recording, Request};

use super::first_screen::span;
use super::page::large;
use super::parts::{
    advice, cause_title, evidence, foreign, outcomes, part, pod_links, sentence, time_link,
};
use super::placement::Placement;
use crate::text::{count, counted, field, millis};

/// Requests of a burst that are listed in the page; the panel of the timeline has them all.
const MOST_REQUESTS: usize = 40;
/// Requests of all bursts together that are listed in the page.
const MOST_LISTED: usize = 1_000;
/// Bursts that are one part of a large page.
const BURSTS_OF_A_PART: usize = 4;

/// The section of bursts.
pub(super) fn section(a: &Analysis, recording: &Recording, placement: &Placement<'_>) -> Markup {
    let failed: BTreeMap<u64, Request<'_>> = recording
        .requests
        .iter()
        .filter(|r| r.outcome.is_failure())
        .map(|r| (r.seq, r))
        .collect();
    let listed = (MOST_LISTED / a.bursts.len().max(1)).clamp(3, MOST_REQUESTS);
    html! {
        section #bursts.waiting[large(a) && !a.bursts.is_empty()] aria-labelledby="bursts-title" {
            h2 #bursts-title { "Bursts of failed requests" }
            @if a.bursts.is_empty() { p.none { "None." } }
            @for bursts in a.bursts.chunks(BURSTS_OF_A_PART) {
                (part(large(a), &html! { @for b in bursts { (burst(a, b, &rows_of(b, &failed), placement, listed)) } }))
            }
            @if a.unattributed > 0 { (in_no_burst(a, &failed, placement)) }
        }
    }
}

fn burst(
    a: &Analysis,
    b: &Burst,
    rows: &[Request<'_>],
    placement: &Placement<'_>,
    listed: usize,
) -> Markup {
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
            (request_table(rows, placement, a, listed))
        }
    }
}

/// A burst's requests, in the order in which they were due.
fn rows_of<'a>(b: &Burst, failed: &BTreeMap<u64, Request<'a>>) -> Vec<Request<'a>> {
    let mut rows: Vec<_> = b
        .requests
        .iter()
        .filter_map(|seq| failed.get(seq).copied())
        .collect();
    rows.sort_by_key(|r| (r.scheduled, r.seq));
    rows
}

fn in_no_burst(
    a: &Analysis,
    failed: &BTreeMap<u64, Request<'_>>,
    placement: &Placement<'_>,
) -> Markup {
    let rows: Vec<_> = failed
        .values()
        .filter(|r| placement.of(r).burst.is_none())
        .copied()
        .collect();
    html! {
        article.burst {
            h3 { "In no burst" span.count { (count(a.unattributed)) " failed" } }
            (request_table(&rows, placement, a, MOST_REQUESTS))
        }
    }
}

fn request_table(
    rows: &[Request<'_>],
    placement: &Placement<'_>,
    a: &Analysis,
    listed: usize,
) -> Markup {
    let more = rows.len().saturating_sub(listed);
    html! {
        details.rows {
            summary { (counted(rows.len() as u64, "request record", "request records")) }
            div.scroll tabindex="0" role="group" aria-label="Request records" {
                table {
                    thead { tr { th scope="col" { "Slot" } th scope="col" { "Due, s" } th scope="col" { "Ended after" } th scope="col" { "Lane" } th scope="col" { "Request" } th scope="col" { "Outcome" } th scope="col" { "Phase" } th scope="col" { "Pod" } } }
                    tbody { @for r in rows.iter().take(listed) { (request_row(r, placement, a)) } }
                }
            }
            @if more > 0 { p.none { "and " (count(more as u64)) " more: the timeline has all of them." } }
        }
    }
}

fn request_row(r: &Request<'_>, placement: &Placement<'_>, a: &Analysis) -> Markup {
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
            td { (foreign(r.name)) }
            td { (r.outcome.as_str()) @if let Some(status) = r.status { " " (status) } @if let Some(errno) = r.errno { " errno " (errno) } }
            td { (r.phase.as_str()) }
            td { @if let Some(pod) = pod { (foreign(pod)) } @else { "not tied to one" } }
        }
    }
}
