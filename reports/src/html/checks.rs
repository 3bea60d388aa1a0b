//! What else the run says: findings, assertions, clocks, the generator, gaps and notes.

use maud::{Markup, html};
use rollscope_analyzer::{Analysis, Assertion, ClockReport, Finding, GapReport};
use rollscope_records::{GeneratorRecord, Recording};

use super::parts::{advice, cause_title, evidence, foreign, pod_links, sentence};
use crate::text::{count, counted, field, length, millis, moment};

/// Findings: what is wrong without a failed request.
pub(super) fn findings(a: &Analysis) -> Markup {
    html! {
        section #findings aria-labelledby="findings-title" {
            h2 #findings-title { "Findings" }
            @if a.findings.is_empty() { p.none { "None: nothing is wrong that did not also fail a request." } }
            @for f in &a.findings { (finding(f, a)) }
        }
    }
}

fn finding(f: &Finding, a: &Analysis) -> Markup {
    html! {
        article.burst {
            h3 { (cause_title(&f.cause, f.detail.as_deref())) }
            p { (sentence(&f.summary)) }
            @if !f.pods.is_empty() { p { (pod_links(&f.pods, &a.pods)) } }
            (evidence(&f.evidence, "No evidence is listed."))
            @if !f.advice.is_empty() { h4 { "Change" } (advice(&f.advice)) }
        }
    }
}

/// Shutdown assertions.
pub(super) fn assertions(a: &Analysis) -> Markup {
    html! {
        section #assertions aria-labelledby="assertions-title" {
            h2 #assertions-title { "Shutdown assertions" }
            @if a.assertions.is_empty() { p.none { "None: no pod was seen terminating." } }
            @else {
                div.scroll tabindex="0" role="group" aria-label="Shutdown assertions, table" { table {
                    thead { tr { th scope="col" { "Held" } th scope="col" { "What should be true" } th scope="col" { "What was seen" } th scope="col" { "Broken by" } } }
                    tbody { @for item in &a.assertions { (assertion(item, a)) } }
                } }
            }
        }
    }
}

fn assertion(item: &Assertion, a: &Analysis) -> Markup {
    let (class, sign) = match item.held {
        Some(true) => ("good", "✓ held"),
        Some(false) => ("bad", "✗ broken"),
        None => ("none", "? not seen"),
    };
    html! {
        tr {
            td { span.(class) { (sign) } }
            td { (foreign(&item.text)) br; code { (field(&item.id)) } }
            td { (foreign(&item.why)) }
            td { (pod_links(&item.pods, &a.pods)) }
        }
    }
}

/// How far the run can be trusted: generator, clocks, gaps, notes.
pub(super) fn trust(a: &Analysis, recording: &Recording) -> Markup {
    html! {
        section #trust aria-labelledby="trust-title" {
            h2 #trust-title { "How far to trust this run" }
            h3 { "Load generator" } (generator(a.generator.as_ref(), a.run.rate_shape.as_deref()))
            h3 { "Clocks" } (clocks(&a.clocks))
            h3 { "Gaps in the observation" } (gaps(&a.gaps))
            h3 { "Notes" }
            @if a.notes.is_empty() && recording.losses.is_empty() { p.none { "None." } }
            ul {
                @for note in &a.notes { li { (foreign(note)) } }
                @for loss in &recording.losses { li { "Read with a loss: " code { (foreign(&loss.file)) } ": " (foreign(&loss.what)) } }
            }
        }
    }
}

fn generator(record: Option<&GeneratorRecord>, rate_shape: Option<&str>) -> Markup {
    let micros = |us: u64| millis(us as f64 / 1e3);
    let Some(g) = record else {
        return html! { p.warn { "It left no account of itself: it ended before it could." } };
    };
    let load_ms = g.to.nanos_since(g.from) as f64 / 1e6;
    let cpu = if load_ms > 0.0 {
        format!("{:.0} % of one core", g.cpu_us as f64 / 10.0 / load_ms)
    } else {
        String::new()
    };
    html! {
        dl.facts {
            div { dt { "Slots" } dd { (count(g.planned)) " planned, " (count(g.sent)) " sent, " (count(g.dropped)) " dropped" } }
            @if let Some(shape) = rate_shape { div { dt { "Rate" } dd { (foreign(shape)) } } }
            div { dt { "Behind the schedule" } dd { @if g.lateness_us.max == 0 { "not recorded" } @else { "p50 " (micros(g.lateness_us.p50)) ", p99 " (micros(g.lateness_us.p99)) ", p99.9 " (micros(g.lateness_us.p999)) ", max " (micros(g.lateness_us.max)) } } }
            @if let Some(tolerance) = g.tolerance_us {
                div { dt { "Tolerance" } dd { @if tolerance == 0 { "none: every slot was woken for exactly" } @else { (micros(tolerance)) ": slots due within it went together" } } }
            }
            div { dt { "Own CPU" } dd { @if g.cpu_us == 0 { "not recorded" } @else { (micros(g.cpu_us)) @if !cpu.is_empty() { " (" (cpu) ")" } @if g.threads > 1 { ", " (count(g.threads.into())) " threads" } } } }
            div { dt { "Most in flight" } dd { (count(g.max_in_flight)) } }
            div { dt { "Idle closes" } dd { (counted(g.idle_closes, "connection", "connections")) " closed by the peer while idle; the request went to a fresh one" } }
            div { dt { "Lost records" } dd { (count(g.lost_records)) } }
        }
    }
}

fn clocks(clocks: &[ClockReport]) -> Markup {
    html! {
        @if clocks.is_empty() { p.none { "No other clock was compared." } }
        @else {
            div.scroll tabindex="0" role="group" aria-label="Clocks, table" { table {
                thead { tr { th scope="col" { "Clock" } th scope="col" { "Offset to ours" } th scope="col" { "Known to" } th scope="col" { "Samples" } } }
                tbody {
                    @for c in clocks {
                        tr {
                            td { (foreign(&c.clock)) }
                            td.num { (millis(c.offset_ms.0)) " to " (millis(c.offset_ms.1)) }
                            td.num { "±" (millis((c.offset_ms.1 - c.offset_ms.0) / 2.0)) }
                            td.num { (count(c.samples)) }
                        }
                    }
                }
            } }
        }
    }
}

fn gaps(gaps: &[GapReport]) -> Markup {
    html! {
        @if gaps.is_empty() { p.none { "None: watches and logs were seen without a break." } }
        @else {
            div.scroll tabindex="0" role="group" aria-label="Gaps in the observation, table" { table {
                thead { tr { th scope="col" { "What" } th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "Why" } th scope="col" { "Matters" } } }
                tbody {
                    @for g in gaps {
                        tr {
                            td { (foreign(&g.source)) }
                            td.num { (moment(g.from_ms)) }
                            td.num { (g.to_ms.map_or("never seen again".to_owned(), moment)) }
                            td { (foreign(&g.reason)) }
                            td { @if g.matters { strong.bad { "yes" } } @else { "no" } }
                        }
                    }
                }
            } }
        }
    }
}

/// The stages and their marks.
pub(super) fn stages(a: &Analysis) -> Markup {
    html! {
        section #stages aria-labelledby="stages-title" {
            h2 #stages-title { "Stages" }
            @if a.stages.is_empty() { p.none { "None was recorded." } }
            @else {
                div.scroll tabindex="0" role="group" aria-label="Stages, table" { table {
                    thead { tr { th scope="col" { "Stage" } th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "Marks" } th scope="col" { "End" } } }
                    tbody {
                        @for s in &a.stages {
                            tr {
                                td { (field(&s.kind)) }
                                td.num { (moment(s.from_ms)) }
                                td.num { (s.to_ms.map_or("–".to_owned(), moment)) }
                                td { @for m in &s.marks { div { (field(&m.mark)) " at " (moment(m.at_ms)) } } }
                                td { (field(s.end)) @if let Some(detail) = &s.detail { ": " (foreign(detail)) } }
                            }
                        }
                    }
                } }
                p.note { "The whole run took " (length(a.run.duration_ms)) "." }
            }
        }
    }
}
