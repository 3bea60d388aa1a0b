//! The connections that were held open, by name.

use std::collections::BTreeMap;

use maud::{Markup, html};
use rollscope_analyzer::{Analysis, StreamReport};

use super::parts::foreign;
use crate::text::{count, length};

/// The section with their table; nothing where none were held open.
pub(super) fn section(a: &Analysis) -> Markup {
    html! {
        @if !a.streams.is_empty() {
            section #held-open aria-labelledby="held-open-title" {
                h2 #held-open-title { "Connections held open" }
                p.note { "A silence is more than twice the cadence without a message. What resumed took another's place; the time is from the end of that one to the first message." }
                div.scroll tabindex="0" role="group" aria-label="Connections held open" { table {
                    thead { tr {
                        @for column in ["Name", "Cadence", "Connections", "Messages", "Silences", "Longest", "Ended", "Close codes", "Resumed", "Longest"] {
                            th scope="col" { (column) }
                        }
                    } }
                    tbody { @for stream in &a.streams { (row(stream)) } }
                } }
            }
        }
    }
}

fn row(s: &StreamReport) -> Markup {
    html! {
        tr {
            th scope="row" { (foreign(&s.name)) }
            td.num { (length(s.cadence_ms)) }
            td.num { (count(s.connections)) }
            td.num { (count(s.messages)) }
            td.num { (count(s.silences)) }
            td.num { (length(s.longest_silence_ms)) }
            td { (counts(&s.ends)) }
            td { (counts(&s.close_codes)) }
            td.num { (count(s.resumed)) }
            td.num { @match s.longest_resumption_ms { Some(l) => { (length(l)) } None => { span.none { "–" } } } }
        }
    }
}

fn counts(of: &BTreeMap<String, u64>) -> Markup {
    html! {
        @if of.is_empty() { span.none { "–" } }
        @for (i, (what, n)) in of.iter().enumerate() { @if i > 0 { ", " } (foreign(&what.replace('_', " "))) " ×" (count(*n)) }
    }
}

#[cfg(test)]
mod tests {
    use rollscope_records::{StreamEnd, StreamRecord};

    use crate::html::fixtures::recording_of;

    #[test]
    fn what_was_held_open_has_a_table() {
        let mut recording = recording_of(Vec::new());
        let page = |recording: &_| {
            crate::timeline_html(&rollscope_analyzer::analyze(recording), recording)
        };
        assert!(!page(&recording).contains("id=\"held-open\""));
        recording.streams.push(StreamRecord {
            seq: 1,
            name: "chat".to_owned(),
            place: 0,
            cadence_nanos: 250_000_000,
            messages: 7,
            first_message: None,
            last_message: None,
            silences: 1,
            longest_silence_nanos: 900_000_000,
            end: StreamEnd::Closed,
            close_code: Some(1001),
            resumes: Some(0),
            resumption_nanos: Some(1_200_000_000),
        });
        let page = page(&recording);
        for part in [
            "id=\"held-open\"",
            "chat",
            ">closed</bdi> ×1",
            ">1001</bdi> ×1",
            "900 ms",
            "1.20 s",
        ] {
            assert!(page.contains(part), "{part} is not in the page");
        }
    }
}
