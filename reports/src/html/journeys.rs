//! The users' journeys: what was recorded beside what goose counted.

use maud::{Markup, html};
use rollscope_analyzer::{Analysis, JourneyStepReport, Journeys, StepCounts};

use super::parts::foreign;
use crate::text::{count, counted, field, millis};

/// The section; nothing where the load has no journeys.
pub(super) fn section(a: &Analysis) -> Markup {
    html! {
        @if let Some(journeys) = &a.journeys {
            section #journeys aria-labelledby="journeys-title" {
                h2 #journeys-title { "Journeys" }
                (lead(journeys))
                @if !journeys.steps.is_empty() {
                    div.scroll tabindex="0" role="group" aria-label="Steps of journeys, table" { (table(&journeys.steps)) }
                }
            }
        }
    }
}

fn lead(j: &Journeys) -> Markup {
    html! {
        @if let Some(failure) = &j.failure { p.bad { "Not walked to the end: " (foreign(failure)) "." } }
        p.note {
            (counted(j.users, "user", "users")) ", run by goose, went through their steps one after the other: closed loop, a "
            "step is sent when the one before is over. They fill no slot and are no part of the latency above; a step that "
            "failed is a failed request. Each step had a connection of its own. Times are from sending to the response's head, "
            "or to the failure; goose's are whole milliseconds."
        }
        p {
            @if j.agree { span.good { "✓ goose counted the same as was recorded." } }
            @else { span.bad { "✗ goose did not count what was recorded." } }
        }
    }
}

fn table(steps: &[JourneyStepReport]) -> Markup {
    html! {
        table {
            thead { tr {
                th scope="col" { "Step" } th scope="col" { "Counted by" } th scope="col" { "Sent" } th scope="col" { "Failed" }
                th scope="col" { "By status" } th scope="col" { "Mean" } th scope="col" { "Min" } th scope="col" { "Max" }
            } }
            tbody {
                @for step in steps {
                    tr {
                        th scope="row" rowspan="2" { code { (field(&step.name)) } @if !step.agree { br; span.bad { "✗ they differ" } } }
                        td { "us" } (cells(&step.ours))
                    }
                    tr { td { "goose" } (cells(&step.goose)) }
                }
            }
        }
    }
}

fn cells(c: &StepCounts) -> Markup {
    let by_status: Vec<String> = c.by_status.iter().map(status).collect();
    html! {
        td.num { (count(c.count)) }
        td.num { (count(c.failed)) }
        td { (by_status.join(", ")) }
        td.num { (millis(c.mean_ms)) }
        td.num { (millis(c.min_ms)) }
        td.num { (millis(c.max_ms)) }
    }
}

fn status((status, n): (&u16, &u64)) -> String {
    match status {
        0 => format!("none: {}", count(*n)),
        status => format!("{status}: {}", count(*n)),
    }
}
