//! The first screen: verdict, counts, causes and what to change. A reader who stops here knows what to do.

use maud::{Markup, html};
use rollscope_analyzer::{Analysis, Burst, Ms, MsLength, VerdictOutcome};
use rollscope_records::Outcome;

use super::parts::{advice, cause_title, foreign, knob, outcomes, pod_links, sentence, time_link};
use crate::causes::{changes, groups, reasons_say_more};
use crate::text::{count, counted, field, length, millis, rate, seconds, verdict};

/// Bursts of one cause that are told on the first screen; the others are counted and linked.
const MOST_BURSTS: usize = 4;
/// Bursts that are linked beside one change.
const MOST_IDS: usize = 8;

/// The page's head: verdict in words and the counts behind it.
pub(super) fn head(a: &Analysis) -> Markup {
    let (class, sign) = look(a.verdict.outcome);
    html! {
        header.head.(class) {
            p.eyebrow {
                strong { (foreign(&a.run.name)) }
                @if let Some(workload) = &a.run.workload { " · " (foreign(workload)) }
                " · " (field(&a.run.target)) " · " time datetime=(field(&a.run.started_at)) { (field(&a.run.started_at)) }
            }
            h1 { span.sign aria-hidden="true" { (sign) } " " (verdict(a.verdict.outcome)) span.exit { " exit code " (a.verdict.exit_code) } }
            p.lead { (lead(a)) }
            @if !a.verdict.reasons.is_empty() && reasons_say_more(a) {
                ul.reasons { @for reason in &a.verdict.reasons { li { (foreign(reason)) } } }
            }
            (tiles(a))
        }
    }
}

const fn look(outcome: VerdictOutcome) -> (&'static str, &'static str) {
    match outcome {
        VerdictOutcome::Passed => ("passed", "✓"),
        VerdictOutcome::GateFailed => ("failed", "✗"),
        VerdictOutcome::Invalid => ("invalid", "⚠"),
        VerdictOutcome::Interrupted => ("invalid", "■"),
        VerdictOutcome::EnvironmentFailed => ("invalid", "⚠"),
    }
}

fn lead(a: &Analysis) -> String {
    let r = &a.requests;
    let allowed = count(a.run.max_failed);
    match (r.failed, a.verdict.outcome) {
        (0, VerdictOutcome::Passed) => {
            format!("None of {} failed.", counted(r.sent, "request", "requests"))
        }
        (0, VerdictOutcome::Invalid) => {
            format!(
                "None of {} failed, but the run cannot prove that the rollout is clean:",
                counted(r.sent, "request", "requests")
            )
        }
        (failed, _) => {
            format!(
                "{} of {} failed; the gate allows {allowed}.",
                count(failed),
                counted(r.sent, "request", "requests")
            )
        }
    }
}

fn tiles(a: &Analysis) -> Markup {
    let r = &a.requests;
    let tile = |label: &str, value: String, note: Markup, class: &str| {
        html! { div.tile.(class) { dt { (label) } dd { span.value { (value) } small { (note) } } } }
    };
    let bad = |n: u64| if n > 0 { "bad" } else { "quiet" };
    let of = |outcome: Outcome| r.by_outcome.get(outcome.as_str()).copied().unwrap_or(0);
    let (gave_up, unrouted) = (of(Outcome::GaveUp), of(Outcome::Unrouted));
    let aborted = r.aborted.saturating_sub(gave_up + unrouted);
    html! {
        dl.tiles {
            (tile("Failed", count(r.failed), html! { (failed_note(a)) }, bad(r.failed)))
            (tile("Sent", count(r.sent), html! { "of " (count(r.planned)) " planned at " (rate(a.run.rate_per_second)) }, "quiet"))
            (tile("Dropped", count(r.dropped), html! { "over the in-flight cap, not sent" }, bad(r.dropped)))
            @if aborted > 0 { (tile("Aborted", count(aborted), html! { "unfinished when interrupted" }, "bad")) }
            @if gave_up > 0 { (tile("Given up", count(gave_up), html! { "by the client in mid-answer, as the scenario says" }, "quiet")) }
            @if unrouted > 0 { (tile("Unrouted", count(unrouted), html! { "would have gone to another instance: the route was withdrawn" }, "quiet")) }
            (tile("p99", millis(a.latency_ms.scheduled.p99), html! { "from the due time; p50 " (millis(a.latency_ms.scheduled.p50)) ", max " (millis(a.latency_ms.scheduled.max)) }, "quiet"))
        }
    }
}

fn failed_note(a: &Analysis) -> String {
    let r = &a.requests;
    if r.failed == 0 {
        return format!("{} ok", count(r.ok));
    }
    let kinds = [
        (r.transport, "on the wire"),
        (r.non_2xx, "by status"),
        (r.truncated, "in the body"),
    ];
    let parts: Vec<_> = kinds
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", count(*n)))
        .collect();
    parts.join(", ")
}

/// Causes with what to change, or what was looked at when there is nothing to blame.
pub(super) fn causes(a: &Analysis) -> Markup {
    html! {
        section #causes aria-labelledby="causes-title" {
            @if a.bursts.is_empty() {
                h2 #causes-title { @if a.requests.failed == 0 { "What was looked at" } @else { "Causes" } }
                (looked_at(a))
            } @else {
                h2 #causes-title { "Why, and what to change" }
                div.answer {
                    div { @for group in groups(&a.bursts) { (cause_card(a, &group)) } }
                    (change_card(a))
                }
            }
            @if a.unattributed > 0 {
                p.warn { (counted(a.unattributed, "failed request is", "failed requests are")) " in no burst: see the lane “not tied to a pod”." }
            }
            (quiet_findings(a))
        }
    }
}

fn cause_card(a: &Analysis, group: &[&Burst]) -> Markup {
    let first = group[0];
    let failed: u64 = group.iter().map(|b| b.failed).sum();
    let in_bursts = if group.len() > 1 {
        format!(" in {} bursts", group.len())
    } else {
        String::new()
    };
    let (told, more) = group.split_at(group.len().min(MOST_BURSTS));
    html! {
        article.card {
            h3 { (cause_title(&first.cause, first.detail.as_deref())) span.count { (count(failed)) " failed" (in_bursts) } }
            ol.sentences {
                @for burst in told {
                    li {
                        a.burst-link href={ "#burst-" (burst.id) } data-select={ "burst-" (burst.id) } { "#" (burst.id) }
                        " " (sentence(&burst.summary)) " "
                        small.where {
                            (time_link(burst.from_ms, burst.to_ms, &span(burst.from_ms, burst.to_ms)))
                            @if !burst.pods.is_empty() { " · " (pod_links(&burst.pods, &a.pods)) }
                            " · confidence " (format!("{:.2}", burst.confidence))
                        }
                    }
                }
                @if !more.is_empty() {
                    li { a href="#bursts" { "and " (counted(more.len() as u64, "more burst", "more bursts")) " of this cause" } }
                }
            }
        }
    }
}

/// What to change, once for all bursts.
fn change_card(a: &Analysis) -> Markup {
    let changes = changes(&a.bursts);
    html! {
        article.card.change {
            h3 { "Change" }
            @if changes.is_empty() { p.none { "No advice: the evidence does not point at one thing to change." } }
            ul.advice {
                @for (change, bursts) in changes {
                    li {
                        (knob(&change.field)) " " (sentence(&change.text)) " "
                        (for_bursts(&bursts))
                    }
                }
            }
        }
    }
}

/// The bursts that ask for a change: some of them linked, all of them counted.
fn for_bursts(ids: &[u32]) -> Markup {
    let (told, more) = ids.split_at(ids.len().min(MOST_IDS));
    html! {
        small.where {
            "for "
            @for (i, id) in told.iter().enumerate() { @if i > 0 { ", " } a href={ "#burst-" (id) } data-select={ "burst-" (id) } { "#" (id) } }
            @if !more.is_empty() { " and " a href="#bursts" { (counted(more.len() as u64, "more burst", "more bursts")) } }
        }
    }
}

/// `12.345–13.100 s`.
pub(super) fn span(from: Ms, to: Ms) -> String {
    format!("{}–{} s", seconds(from), seconds(to))
}

/// What a clean run rests on, so that "clean" is believed.
fn looked_at(a: &Analysis) -> Markup {
    let deleted: Vec<_> = a
        .pods
        .iter()
        .filter(|p| p.deletion_requested_ms.is_some())
        .collect();
    let in_flight: Vec<_> = deleted
        .iter()
        .map(|p| p.in_flight_at_signal.map_or("unknown".to_owned(), count))
        .collect();
    let lags = deleted.iter().filter_map(|p| p.propagation_lag_ms).max();
    let margins = deleted.iter().filter_map(|p| p.margin_to_deadline_ms).min();
    html! {
        ul.looked {
            li { (counted(a.requests.sent, "request", "requests")) " sent at " (rate(a.run.rate_per_second)) " over " (length(a.run.duration_ms)) ", " (count(a.requests.dropped)) " dropped: " (outcomes(&a.requests.by_outcome)) "." }
            @if deleted.is_empty() {
                li { "No pod was seen terminating." }
            } @else {
                li { (counted(deleted.len() as u64, "pod", "pods")) " terminated under load; in flight at the signal: " (in_flight.join(", ")) "." }
            }
            @if let Some(lag) = lags { li { "New connections still reached a terminating pod up to " strong { (length(lag)) } " after the request of its deletion" @if a.requests.failed == 0 { ", and were answered" } "." } }
            @if let Some(margin) = margins { li { (tightest(margin)) } }
            @if let Some(generator) = a.generator.as_ref().filter(|g| g.lateness_us.max > 0) {
                li { "The generator was at most " (millis(generator.lateness_us.max as f64 / 1e3)) " late (p99 " (millis(generator.lateness_us.p99 as f64 / 1e3)) ")." }
            }
            li { (gaps(a)) }
        }
    }
}

fn tightest(margin: MsLength) -> Markup {
    html! {
        @if margin.0 < 0 { "A pod ended " strong { (length(MsLength(-margin.0))) } " after its deadline: it was killed." }
        @else { "The tightest end was " strong { (length(margin)) } " before its deadline." }
    }
}

fn gaps(a: &Analysis) -> String {
    let matter = a.gaps.iter().filter(|g| g.matters).count();
    match (a.gaps.len(), matter) {
        (0, _) => "No gap in the observation.".to_owned(),
        (n, 0) => format!(
            "{} in the observation, none of which matters.",
            counted(n as u64, "gap", "gaps")
        ),
        (n, m) => format!(
            "{} in the observation, {m} of which matter.",
            counted(n as u64, "gap", "gaps")
        ),
    }
}

/// Findings in a line each, under the causes: they cost no request this time.
fn quiet_findings(a: &Analysis) -> Markup {
    html! {
        @if !a.findings.is_empty() {
            details.findings-short open[a.bursts.is_empty()] {
                summary { (counted(a.findings.len() as u64, "finding", "findings")) " without a failed request" }
                ul { @for finding in &a.findings { li { (cause_title(&finding.cause, finding.detail.as_deref())) ": " (sentence(&finding.summary)) @if a.bursts.is_empty() { (advice(&finding.advice)) } } } }
            }
        }
    }
}
