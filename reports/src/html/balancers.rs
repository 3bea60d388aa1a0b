//! What the balancers' own logs say.

use std::collections::BTreeMap;

use maud::{Markup, html};
use rollscope_analyzer::{Analysis, BalancerReport, NearMiss};

use crate::text::{cause_code, count, counted, field, seconds};

/// The section; nothing where no log was recorded.
pub(super) fn section(a: &Analysis) -> Markup {
    html! {
        @if !a.balancers.is_empty() {
            section #balancers aria-labelledby="balancers-title" {
                h2 #balancers-title { "Balancer's log" }
                @for balancer in &a.balancers { (one(balancer)) }
            }
        }
    }
}

fn one(b: &BalancerReport) -> Markup {
    html! {
        p {
            code { (field(&b.name)) } " logged " (counted(b.requests, "request", "requests")) "; "
            (count(b.joined)) " of them are requests of the load. By status: " (tally(&b.by_status))
            ". Made by: " (tally(&b.by_emitter)) ". Tries: " (tally(&b.tries)) "."
            @if b.unnamed_tries > 0 { " " (counted(b.unnamed_tries, "failed try is", "failed tries are")) " logged without the upstream." }
            @if b.malformed > 0 { " " span.bad { (counted(b.malformed, "line", "lines")) " could not be read." } }
        }
        @if b.near_misses > 0 {
            p { span.bad { (counted(b.near_misses, "near miss", "near misses")) } ": answered well although a try had failed. Without retries clients would have seen:" }
            div.scroll tabindex="0" role="group" aria-label="Near misses, table" { (table(&b.near)) }
        }
    }
}

fn table(near: &[NearMiss]) -> Markup {
    html! {
        table {
            thead { tr {
                th scope="col" { "Cause" } th scope="col" { "Requests" } th scope="col" { "From" } th scope="col" { "To" }
                th scope="col" { "Pods" } th scope="col" { "Change" }
            } }
            tbody {
                @for n in near {
                    tr {
                        th scope="row" { code { (cause_code(&n.cause, n.detail.as_deref())) } }
                        td.num { (count(n.count)) }
                        td.num { (seconds(n.from_ms)) " s" } td.num { (seconds(n.to_ms)) " s" }
                        td { @for pod in &n.pods { code { (field(pod)) } " " } }
                        td { @for advice in &n.advice { p { code { (field(&advice.field)) } ": " (field(&advice.text)) } } }
                    }
                }
            }
        }
    }
}

fn tally(counts: &BTreeMap<String, u64>) -> String {
    let parts: Vec<String> = counts
        .iter()
        .map(|(name, n)| format!("{} {}", field(name), count(*n)))
        .collect();
    match parts.is_empty() {
        true => "none".to_owned(),
        false => parts.join(", "),
    }
}
