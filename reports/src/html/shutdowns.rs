//! The stages of each pod's shutdown, as its log tells them, and what the terminations of the run need.

use maud::{Markup, html};
use rollscope_analyzer::{Analysis, Budget, PodReport, Shutdown, ShutdownStage};

use super::parts::{advice, foreign, pod_links};
use crate::stages::{COLUMNS, order, owners, reached};
use crate::text::{count, field, length, moment, stage_words};

/// The table of stages, one row a pod; nothing where no log tells of any.
pub(super) fn table(a: &Analysis) -> Markup {
    let told: Vec<(&PodReport, &Shutdown)> = a
        .pods
        .iter()
        .filter_map(|p| Some((p, p.shutdown.as_ref()?)))
        .collect();
    html! {
        @if !told.is_empty() {
            h3 #shutdown-stages { "Shutdown stages" }
            p.note { "As each pod's log tells them: seconds after its signal, and how long the stage took. The right order is from left to right; jobs may be returned while requests are drained." }
            div.scroll tabindex="0" role="group" aria-label="Shutdown stages of each pod" { table.stages {
                thead { tr { th scope="col" { "Pod" } @for stage in COLUMNS { th scope="col" { (stage_words(stage)) } } th scope="col" { "Order" } th scope="col" { "Owners" } } }
                tbody { @for (pod, shutdown) in told { (row(a, pod, shutdown)) } }
            } }
        }
    }
}

fn row(a: &Analysis, pod: &PodReport, shutdown: &Shutdown) -> Markup {
    html! {
        tr {
            th scope="row" { (pod_links(std::slice::from_ref(&pod.name), &a.pods)) }
            @for stage in COLUMNS {
                td.num {
                    @match reached(pod, shutdown, stage) {
                        Some(r) => { (r.after) small { " took " (r.took) @if r.runs > 1 { strong.bad { " ×" (count(r.runs)) } } } }
                        None => { span.none { "–" } }
                    }
                }
            }
            td { @let (class, words) = order(shutdown); span.(class) { (words) } @for what in &shutdown.out_of_order { br; small { (foreign(what)) } } }
            td { @if shutdown.owners > 1 { strong.bad { (owners(shutdown)) } } @else { (owners(shutdown)) } }
        }
    }
}

/// The stages of one pod, for its row of measurements.
pub(super) fn cell(p: &PodReport) -> Markup {
    html! {
        @match &p.shutdown {
            None => { span.none { "none told" } }
            Some(shutdown) => {
                details {
                    summary { (count(shutdown.stages.len() as u64)) ", " (order(shutdown).1) }
                    ul.lines { @for stage in &shutdown.stages { li { (line(stage)) } } }
                }
            }
        }
    }
}

fn line(stage: &ShutdownStage) -> Markup {
    html! {
        (moment(stage.at_ms)) " " b { (stage_words(stage.stage)) } @if stage.run > 1 { " (run " (count(stage.run)) ")" }
        " after " (length(stage.took_ms))
        @for (name, value) in &stage.values { " " (field(name)) "=" (foreign(value)) }
        @if let Some(line) = &stage.line { " " code { (foreign(line)) } }
    }
}

/// Budget and advice from every termination of the run.
pub(super) fn needs(a: &Analysis) -> Markup {
    html! {
        @if !a.advice.is_empty() {
            section #needs aria-labelledby="needs-title" {
                h2 #needs-title { "What these terminations need" }
                @if let Some(budget) = &a.budget { (sum(budget)) }
                (advice(&a.advice))
            }
        }
    }
}

fn sum(b: &Budget) -> Markup {
    html! {
        p.budget {
            "preStop " (length(b.pre_stop_ms)) " + longest drain " (length(b.longest_drain_ms)) " + margin " (length(b.margin_ms))
            " = " b { (length(b.needed_ms)) } "; grace " (length(b.grace_ms)) ": "
            @if b.fits { strong.good { "fits" } } @else { strong.bad { "does not fit" } }
            small { " (" (foreign(&b.of)) ")" }
        }
    }
}
