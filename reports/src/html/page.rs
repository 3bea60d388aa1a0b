//! The page as a whole.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use rollscope_analyzer::Analysis;
use rollscope_records::Recording;

use super::placement::Placement;
use super::{
    assets, balancers, bins, bursts, checks, data, first_screen, held_open, jobs, journeys,
    over_time, pods, shutdowns, signal,
};
use crate::text::{field, utc, verdict};

/// The HTML timeline: one self-contained page, byte for byte the same for the same input.
pub fn timeline_html(analysis: &Analysis, recording: &Recording) -> String {
    let script = assets::script();
    let policy = assets::policy(assets::STYLE, Some(&script));
    let levels = bins::levels(recording);
    let placement = Placement::new(analysis);
    let body = body(analysis, recording, &levels, &placement);
    let data = data::embedded(analysis, recording, &levels, &placement, body.0.len());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{}: {} · Rollscope", verdict(analysis.verdict.outcome), field(&analysis.run.name)), &policy))
            body class=[large(analysis).then_some("large")] {
                (body)
                script #data type="application/json" { (PreEscaped(&data.drawn)) }
                script #records type="application/json" { (PreEscaped(&data.records)) }
                script type="module" { (PreEscaped(&script)) }
            }
        }
    };
    page.into_string() + "\n"
}

/// Whether the page is so long that a browser should lay out its sections only when they are near, and make elements of
/// the longest of them after the timeline is drawn.
pub(super) fn large(a: &Analysis) -> bool {
    a.pods.len() > 60 || a.bursts.len() > 40
}

fn head(title: &str, policy: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="referrer" content="no-referrer";
            title { (title) }
            style { (PreEscaped(assets::STYLE)) }
        }
    }
}

/// A page without a script.
pub(super) struct Document<'a> {
    /// Its title, neutralised.
    pub(super) title: &'a str,
    /// What its body holds.
    pub(super) body: &'a Markup,
}

/// Such a page as text.
pub(super) fn document(page: &Document<'_>) -> String {
    let policy = assets::policy(assets::STYLE, None);
    let page = html! {
        (DOCTYPE)
        html lang="en" { (head(page.title, &policy)) body { (page.body) } }
    };
    page.into_string() + "\n"
}

fn body(
    a: &Analysis,
    recording: &Recording,
    levels: &[bins::Level],
    placement: &Placement<'_>,
) -> Markup {
    html! {
        a.skip href="#timeline" { "Skip to the timeline" }
        div.page {
            (first_screen::head(a))
            main {
                (first_screen::causes(a))
                (signal::section(a))
                (timeline())
                (bursts::section(a, recording, placement))
                (pods::section(a))
                (checks::findings(a))
                (checks::assertions(a))
                (shutdowns::needs(a))
                (checks::stages(a))
                (over_time::section(levels))
                (held_open::section(a))
                (jobs::section(a))
                (journeys::section(a))
                (balancers::section(a))
                (checks::trust(a, recording))
            }
            (footer(a, recording))
        }
        aside #panel hidden tabindex="-1" aria-label="Details of the selection" {}
    }
}

/// The place of the timeline: the script fills it.
fn timeline() -> Markup {
    html! {
        section #timeline aria-labelledby="timeline-title" {
            h2 #timeline-title { "Timeline" }
            p.note.tables {
                "The same as tables: " a href="#bursts" { "bursts" } ", " a href="#pods" { "pods" } ", " a href="#stages" { "stages" } ", "
                a href="#over-time" { "requests and latency over time" } ", " a href="#trust" { "what could not be seen" } "."
            }
            div #chart.waiting { p.note.without-script { "The drawing needs JavaScript. Everything in it is also in the tables below." } }
        }
    }
}

fn footer(a: &Analysis, recording: &Recording) -> Markup {
    let wall = i128::from(recording.run.wall_start_unix_nanos);
    html! {
        footer {
            "Run " code { (field(&a.run.id)) } ", recorded by " (field(&a.run.tool)) ", second 0 is " (utc(wall))
            ". The same facts for machines: " code { "report.json" } " (" (field(a.schema)) ")."
        }
    }
}
