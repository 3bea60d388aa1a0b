//! The table of pods: every measurement, as intervals where they are.

use maud::{Markup, html};
use rollscope_analyzer::{Analysis, EndpointState, Ms, MsInterval, MsLength, PodReport};

use super::first_screen::span;
use super::page::large;
use super::parts::{foreign, part};
use super::shutdowns;
use crate::text::{count, counted, field, interval, length, moment};

/// The section of pods: pods that ended first, as cards of measurements that also read on a narrow screen.
pub(super) fn section(a: &Analysis) -> Markup {
    html! {
        section #pods.waiting[large(a) && !a.pods.is_empty()] aria-labelledby="pods-title" {
            h2 #pods-title { "Pods" }
            @if a.pods.is_empty() { p.none { "No pod was observed." } }
            @else {
                p.note { "Times are seconds of the run; lo–hi where a time is only known to lie between two moments." }
                div.scroll tabindex="0" role="group" aria-label="Measurements of each pod" { (part(large(a), &table(a))) }
                (shutdowns::table(a))
            }
        }
    }
}

/// One row a measurement, one column a pod would be wide; pods are few and measurements many, so pods are the columns
/// up to a handful, and rows beyond it.
fn table(a: &Analysis) -> Markup {
    html! {
        table.pods {
            thead {
                tr { th scope="col" { "Pod" } @for (name, unit) in MEASUREMENTS { th scope="col" { (name) @if !unit.is_empty() { small { " " (unit) } } } } }
            }
            tbody {
                @for (index, pod) in a.pods.iter().enumerate() {
                    tr #{ "pod-" (index) } {
                        th scope="row" {
                            a href={ "#pod-" (index) } data-select={ "pod-" (index) } { (foreign(&pod.name)) }
                            small { @if pod.old { "○ old " } @else { "● new " } code { (field(&pod.template_hash)) } }
                        }
                        @for cell in cells(pod) { td { (cell) } }
                    }
                }
            }
        }
    }
}

const MEASUREMENTS: [(&str, &str); 27] = [
    ("Failed", ""),
    ("Served", ""),
    ("Cut", "no definite answer"),
    ("In flight at signal", ""),
    ("In flight at end", ""),
    ("Deletion requested", ""),
    ("Signal", ""),
    ("First drain sign", ""),
    ("Not Ready", "after deletion"),
    ("Listener closed", "first refusal"),
    ("Last new connection", "after deletion"),
    ("Propagation lag", "deletion to last new connection"),
    ("Last reused request", "after deletion"),
    ("End", ""),
    ("Exit", "code, reason"),
    ("Deadline", "SIGKILL due"),
    ("Margin", "end to deadline"),
    ("Grace", ""),
    ("preStop", ""),
    ("Phases", ""),
    ("preStop took", "deletion to signal"),
    ("Endpoint", ""),
    ("Left the endpoints", "after deletion"),
    ("Earlier exits", ""),
    ("First seen", ""),
    ("Log marks", ""),
    ("Shutdown stages", "from its log"),
];

fn cells(p: &PodReport) -> [Markup; 27] {
    let text = |shown: Option<String>| html! { @match shown { Some(shown) => { (shown) }, None => { span.none { "–" } } } };
    let at = |ms: Option<Ms>| text(ms.map(moment));
    let within = |ms: Option<MsInterval>| text(ms.map(interval));
    let long = |ms: Option<MsLength>| text(ms.map(length));
    let number = |n: Option<u64>| text(n.map(count));
    [
        html! { @if p.failed > 0 { strong.bad { (count(p.failed)) } } @else { "0" } },
        number(Some(p.served)),
        html! { @if p.cut > 0 { strong.bad { (count(p.cut)) } } @else { "0" } },
        number(p.in_flight_at_signal),
        number(p.in_flight_at_exit),
        within(p.deletion_requested_ms),
        within(p.signal_ms),
        html! { @match &p.first_drain_sign { Some(sign) => { code { (field(sign.kind)) } " " (interval(sign.at_ms)) small { (foreign(&sign.what)) } }, None => { span.none { "none seen" } } } },
        at(p.not_ready_ms),
        at(p.listener_closed_ms),
        at(p.last_new_connection_ms),
        long(p.propagation_lag_ms),
        at(p.last_reused_request_ms),
        within(p.exit.as_ref().map(|e| e.at_ms)),
        html! { @match &p.exit { Some(exit) => { (exit.code) " " (foreign(&exit.reason)) }, None => { span.none { "–" } } } },
        within(p.deadline_ms),
        long(p.margin_to_deadline_ms),
        text(p.grace_seconds.map(|s| format!("{s} s"))),
        text(p.pre_stop.as_deref().map(field)),
        phases(p),
        text(
            p.pre_stop_took_ms
                .map(|(least, most)| format!("{}–{}", length(least), length(most))),
        ),
        endpoint(p),
        left_endpoints(p),
        html! { @if p.earlier_exits.is_empty() { "0" } @else { @for exit in &p.earlier_exits { div { (exit.code) " " (foreign(&exit.reason)) " at " (interval(exit.at_ms)) } } } },
        at(Some(p.first_seen_ms)),
        log_marks(p),
        shutdowns::cell(p),
    ]
}

/// When its endpoint was not ready, stopped serving and was removed.
fn left_endpoints(p: &PodReport) -> Markup {
    let moments = [
        ("not ready", p.endpoint_not_ready_ms),
        ("not serving", p.endpoint_not_serving_ms),
        ("removed", p.endpoint_removed_ms),
    ];
    html! {
        @if moments.iter().all(|(_, at)| at.is_none()) { span.none { "–" } }
        @for (what, at) in moments { @if let Some(at) = at { div { (what) " " (moment(at)) } } }
    }
}

/// `12.345–13.100 s`, or where it began when it lasts.
fn stretch(from: Ms, to: Option<Ms>) -> String {
    match to {
        Some(to) => span(from, to),
        None => format!("from {}", moment(from)),
    }
}

fn phases(p: &PodReport) -> Markup {
    html! {
        details {
            summary { (counted(p.phases.len() as u64, "phase", "phases")) }
            ul.lines { @for phase in &p.phases { li { b { (phase.phase.replace('_', " ")) } " " (stretch(phase.from_ms, phase.to_ms)) } } }
        }
    }
}

fn endpoint(p: &PodReport) -> Markup {
    let state = |e: &EndpointState| match (e.ready, e.serving, e.terminating) {
        (true, _, _) => "ready",
        (false, true, true) => "serving, terminating",
        (false, true, false) => "serving, not ready",
        (false, false, true) => "terminating, not serving",
        (false, false, false) => "not ready",
    };
    html! {
        @if p.endpoint.is_empty() { span.none { "never in" } }
        @else {
            details {
                summary { (counted(p.endpoint.len() as u64, "state", "states")) }
                ul.lines { @for e in &p.endpoint { li { b { (state(e)) } " " (stretch(e.from_ms, e.to_ms)) } } }
            }
        }
    }
}

fn log_marks(p: &PodReport) -> Markup {
    html! {
        @if p.log_marks.is_empty() { span.none { "none" } }
        @else {
            details {
                summary { (counted(p.log_marks.len() as u64, "line", "lines")) }
                ul.lines { @for mark in &p.log_marks { li { (moment(mark.at_ms)) " " b { (field(&mark.mark)) } " " code { (foreign(&mark.line)) } } } }
            }
        }
    }
}
