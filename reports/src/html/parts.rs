//! Small pieces that several sections of the page use.

use maud::{Markup, html};
use rollscope_analyzer::{Advice, Evidence, Ms, MsInterval};
use rollscope_records::RunOffset;

use crate::text::{cause, cause_code, count, field, interval};

/// A part of a section; that of a `large` page is only text to a browser with scripts until its script makes elements
/// of it, so that the page opens without waiting for it. A browser without scripts reads it at once.
pub(super) fn part(large: bool, content: &Markup) -> Markup {
    html! { @if large { noscript.later { (content) } } @else { (content) } }
}

/// Text from outside, neutralised and isolated, so that its writing direction stays its own.
pub(super) fn foreign(text: &str) -> Markup {
    html! { bdi { (field(text)) } }
}

/// A cause: in words where they are known, and always its name.
pub(super) fn cause_title(name: &str, detail: Option<&str>) -> Markup {
    html! {
        @if let Some(words) = cause(name) { span.cause-words { (words) } " " }
        code.cause-code { (cause_code(name, detail)) }
    }
}

/// A link that moves the timeline to an interval; without the script it leads to the timeline.
pub(super) fn time_link(from: Ms, to: Ms, label: &str) -> Markup {
    let seconds = |at: Ms| at.0.nanos() as f64 / 1e9;
    let margin = ((seconds(to) - seconds(from)) * 0.25).max(0.25);
    html! {
        a.time-link href="#timeline" data-from=(format!("{:.3}", seconds(from) - margin))
            data-to=(format!("{:.3}", seconds(to) + margin)) title="Show in the timeline" { (label) }
    }
}

/// Counts of outcomes: `connect_refused 10, eof_before_headers 2`.
pub(super) fn outcomes<'a>(by_outcome: impl IntoIterator<Item = (&'a String, &'a u64)>) -> String {
    let parts: Vec<_> = by_outcome
        .into_iter()
        .map(|(name, n)| format!("{} {}", field(name), count(*n)))
        .collect();
    parts.join(", ")
}

/// A sentence of the analysis; what stands between backticks is code.
pub(super) fn sentence(text: &str) -> Markup {
    let text = field(text);
    let parts: Vec<&str> = text.split('`').collect();
    html! {
        bdi {
            @if parts.len().is_multiple_of(2) { (text) }
            @else {
                @for (i, part) in parts.iter().enumerate() { @if !i.is_multiple_of(2) { code { (part) } } @else { (part) } }
            }
        }
    }
}

/// The name of what to change, breakable after its dots.
pub(super) fn knob(name: &str) -> Markup {
    let name = field(name);
    html! {
        code.knob { @for (i, part) in name.split('.').enumerate() { @if i > 0 { "." wbr; } (part) } }
    }
}

/// A list of evidence; `none` stands where there is none.
pub(super) fn evidence(items: &[Evidence], none: &str) -> Markup {
    html! {
        @if items.is_empty() { p.none { (none) } }
        @else {
            ul.evidence {
                @for item in items {
                    li data-evidence=(field(&item.id)) data-at=[item.at_ms.map(bounds)] data-pod=[item.pod.as_deref().map(field)] {
                        (sentence(&item.text))
                        small.where {
                            code { (field(&item.id)) }
                            @if let Some(at) = item.at_ms {
                                " · " (time_link(Ms(at.0.lo), Ms(at.0.hi), &interval(at)))
                            }
                            @if let Some(pod) = &item.pod { " · " (foreign(pod)) }
                        }
                    }
                }
            }
        }
    }
}

/// An interval as the script reads it: milliseconds, `lo_hi`.
fn bounds(at: MsInterval) -> String {
    let ms = |at: RunOffset| (at.nanos() as f64 / 1e3).round() / 1e3;
    format!("{}_{}", ms(at.0.lo), ms(at.0.hi))
}

/// What to change.
pub(super) fn advice<'a>(items: impl IntoIterator<Item = &'a Advice>) -> Markup {
    html! {
        ul.advice {
            @for item in items {
                li { (knob(&item.field)) " " (sentence(&item.text)) }
            }
        }
    }
}

/// Names of pods with links to their rows.
pub(super) fn pod_links(names: &[String], all: &[rollscope_analyzer::PodReport]) -> Markup {
    html! {
        @for (i, name) in names.iter().enumerate() {
            @if i > 0 { ", " }
            @if let Some(index) = all.iter().position(|pod| pod.name == *name) {
                a.pod-link href={ "#pod-" (index) } data-select={ "pod-" (index) } { (foreign(name)) }
            } @else { (foreign(name)) }
        }
    }
}
