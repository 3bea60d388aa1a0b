//! What one program did with its stop signal.

use maud::{Markup, html};
use rollscope_analyzer::{Analysis, SignalReport, SignalledProcess};

use super::parts::foreign;
use crate::text::{count, field, interval, length, seconds};

/// The section; nothing where the run is of another kind.
pub(super) fn section(a: &Analysis) -> Markup {
    html! {
        @if let Some(signal) = &a.signal {
            section #signal aria-labelledby="signal-title" {
                h2 #signal-title { "The program and its signal" }
                p { (foreign(&signal.summary)) "." }
                (facts(signal))
                @if !signal.processes.is_empty() {
                    div.scroll tabindex="0" role="group" aria-label="Processes at the signal, table" { (processes(&signal.processes)) }
                }
                p.note {
                    "The program was the only instance. Connections were made to it as long as its endpoint was ready, and until "
                    "that change had arrived; a request that wanted a connection later is " code { "unrouted" } ": another "
                    "instance would have got it, and it is no failure. Connections that were open stayed with the program."
                }
            }
        }
    }
}

fn facts(s: &SignalReport) -> Markup {
    let (flight, idle, new) = (&s.in_flight, &s.idle, &s.new_connections);
    let sent: Vec<String> = s.sent_ms.iter().map(|at| interval(*at)).collect();
    html! {
        dl.facts {
            div { dt { "Signal" } dd { (field(&s.signal)) ", sent at " (sent.join(" and ")) } }
            div { dt { "Exit code" } dd { @if let Some(code) = s.exit_code { (code) } @else { "not seen" } @if s.killed { ", by SIGKILL" } } }
            @if let Some(took) = s.took_ms { div { dt { "Took" } dd { (length(took)) " after the signal; the grace was " (length(s.grace_ms)) } } }
            div { dt { "In flight" } dd {
                (count(flight.at_signal)) " at the signal, " (count(flight.in_body)) " of them in mid-body: "
                (count(flight.answered)) " answered, " (count(flight.failed)) " failed"
            } }
            div { dt { "Idle connections" } dd {
                (count(idle.at_signal)) " at the signal: " (count(idle.answered)) " used again, " (count(idle.failed))
                " failed at the next request, " (count(idle.closed)) " closed by the program, " (count(idle.held)) " open to its end"
            } }
            div { dt { "New connections" } dd {
                (count(new.attempted)) " after the signal: " (count(new.answered)) " answered, " (count(new.failed)) " failed; "
                (count(new.unrouted)) " unrouted"
                @if let Some(at) = s.route_withdrawn_ms { ", from " (seconds(at)) " s on" }
            } }
        }
    }
}

fn processes(all: &[SignalledProcess]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "Pid" } th scope="col" { "Process" } th scope="col" { "At the signal" } } }
            tbody {
                @for p in all {
                    tr { td.num { (p.pid) } td { code { (foreign(&p.name)) } } td { (action(&p.action)) } }
                }
            }
        }
    }
}

fn action(name: &str) -> Markup {
    let words = match name {
        "handler" => "has a handler",
        "ignored" => "ignores it",
        "blocked" => "blocks it",
        "default" => "has no handler",
        other => return foreign(other),
    };
    html! { (words) }
}
