//! Hostile text in the reports for pipelines.

use quick_xml::events::Event;
use quick_xml::{Reader, XmlVersion};
use rollscope_reports::{
    Figure, Format, MARKDOWN_LINES, comparison_md, github_annotations, junit_xml, latency_hlog,
    summary_md, trace_json, without_github_commands, write_reports,
};
use serde_json::Value;

use super::{HOSTILE, poisoned};

/// Control characters, line separators and reordering marks, but for the line ends that a format is made of.
fn acting(text: &str) -> Option<char> {
    text.chars().find(|c| {
        (c.is_control() && *c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}')
    })
}

#[test]
fn no_text_format_has_a_character_that_acts_on_its_surroundings() {
    let (a, r) = poisoned();
    let mut texts = vec![
        ("junit", junit_xml(&a)),
        ("md", summary_md(&a, &r, Some("figures/timeline.png"))),
        ("comparison", comparison_md(&a, &a)),
        ("trace", trace_json(&a, &r)),
        ("annotations", github_annotations(&a)),
        ("hlog", String::from_utf8(latency_hlog(&r)).unwrap()),
    ];
    for figure in Figure::ALL {
        texts.push((figure.name(), figure.svg(&a, &r).unwrap()));
    }
    for (name, text) in texts {
        assert_eq!(acting(&text), None, "{name}");
        assert!(text.len() < 2_000_000, "{name}: {} bytes", text.len());
    }
}

/// Names of the elements and attributes of an XML text; panics where it is not well-formed.
fn elements(xml: &str) -> Vec<(String, Vec<String>)> {
    let mut reader = Reader::from_str(xml);
    let mut found = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(e) | Event::Empty(e) => {
                let name = String::from_utf8(e.name().as_ref().to_vec()).unwrap();
                let attributes = e.attributes().map(|a| {
                    let a = a.unwrap();
                    assert!(a.normalized_value(XmlVersion::Explicit1_0).is_ok());
                    String::from_utf8(a.key.as_ref().to_vec()).unwrap()
                });
                found.push((name, attributes.collect()));
            }
            Event::Text(text) => assert!(text.decode().is_ok()),
            Event::Eof => return found,
            _ => {}
        }
    }
}

#[test]
fn figures_have_no_element_and_no_attribute_but_their_own() {
    let (a, r) = poisoned();
    let drawn = ["svg", "rect", "line", "polyline", "text"];
    for figure in Figure::ALL {
        for (element, attributes) in elements(&figure.svg(&a, &r).unwrap()) {
            assert!(drawn.contains(&element.as_str()), "<{element}>");
            for attribute in attributes {
                let acts = attribute.starts_with("on") || attribute.contains("href");
                assert!(!acts && attribute != "style", "{attribute} on <{element}>");
            }
        }
    }
}

#[test]
fn junit_stays_well_formed_and_has_no_other_element() {
    let (a, _) = poisoned();
    let ours = [
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
        "error",
        "skipped",
        "system-out",
    ];
    for (element, _) in elements(&junit_xml(&a)) {
        assert!(ours.contains(&element.as_str()), "<{element}>");
    }
}

/// What is left of a Markdown text without the markup that the summary is made of.
fn without_own_markup(text: &str) -> String {
    let mut text = text.replace("![Timeline of the rollout](figures/timeline.png)", "");
    for own in [
        "<code>",
        "</code>",
        "<sub>",
        "</sub>",
        "<!-- -->",
        "**",
        "`timeline.html`",
    ] {
        text = text.replace(own, "");
    }
    text
}

#[test]
fn the_summary_formats_links_and_mentions_nothing_of_others() {
    let (mut a, r) = poisoned();
    a.run.name =
        "[click](javascript:alert(1)) @everyone fixes #12 https://evil.example/ www.evil.example"
            .to_owned();
    let text = summary_md(&a, &r, Some("figures/timeline.png"));
    let fence = text.find("```text\n").unwrap();
    let fenced = &text[fence..fence + text[fence..].find("\n```\n").unwrap()];
    assert_eq!(fenced.matches("```").count(), 1, "the fence is closed once");
    let rest = without_own_markup(&text.replace(fenced, "").replace("```", ""));
    for sign in ["<", "](", "*", "`", "://", "www.", "@", "\\"] {
        assert!(!rest.contains(sign), "{sign:?} in {rest}");
    }
    assert!(text.lines().count() <= MARKDOWN_LINES, "{text}");
}

#[test]
fn the_comparison_is_a_table_of_three_columns_and_nothing_else() {
    let (mut a, _) = poisoned();
    a.run.name = "a | b [click](javascript:alert(1)) @everyone `x` <b>".to_owned();
    for burst in &mut a.bursts {
        burst.cause.push_str(" | `<b>` @everyone\n| x | y | z |");
    }
    let text = comparison_md(&a, &a);
    for line in text.lines() {
        assert_eq!(line.matches('|').count(), 4, "{line}");
    }
    let rest = without_own_markup(&text);
    for sign in ["<", "](", "*", "`", "://", "@", "\\"] {
        assert!(!rest.contains(sign), "{sign:?} in {rest}");
    }
}

#[test]
fn annotations_are_one_command_a_line() {
    let (mut a, _) = poisoned();
    a.verdict.reasons = vec!["x\n::set-env name=PATH::/evil\r\n##[add-path]/evil".to_owned()];
    let text = github_annotations(&a);
    assert!(text.lines().count() >= 2);
    for line in text.lines() {
        assert!(line.starts_with("::error title=Rollscope%3A "), "{line}");
        assert!(!line.contains("##["), "{line}");
        let title = line["::error title=".len()..].split("::").next().unwrap();
        assert!(!title.contains([':', ',']), "{title}");
    }
}

#[test]
fn printed_text_commands_nothing() {
    let text = without_github_commands(&format!(
        "{HOSTILE}\n::error::x\n\t ::add-mask::y ##[error]z"
    ));
    for line in text.lines() {
        assert!(!line.trim_start().starts_with("::"), "{line}");
        assert!(!line.contains("##["), "{line}");
    }
}

#[test]
fn the_trace_parses_back_with_every_failure() {
    let (a, r) = poisoned();
    let trace: Value = serde_json::from_str(&trace_json(&a, &r)).unwrap();
    let begun = trace["traceEvents"].as_array().unwrap().iter();
    let begun = begun.filter(|e| e["ph"] == "b" && e["cat"] == "failed request");
    assert_eq!(begun.count() as u64, a.requests.failed);
}

#[test]
fn every_format_is_written_of_a_hostile_run() {
    let dir = tempfile::tempdir().unwrap();
    let (a, r) = poisoned();
    let written = write_reports(dir.path(), &Format::ALL, &a, &r).unwrap();
    assert_eq!(written.files.len(), 7 + 2 * Figure::ALL.len());
    for (_, path) in written.files {
        assert!(std::fs::metadata(path).unwrap().len() > 0);
    }
}

#[test]
fn the_longest_summary_is_a_screen() {
    let (mut a, r) = poisoned();
    let burst = a.bursts[0].clone();
    for n in 0..9 {
        let mut other = burst.clone();
        other.cause = format!("cause_{n}");
        other.advice[0].field = format!("field_{n}");
        a.bursts.push(other);
        a.findings.push(a.findings[0].clone());
        a.verdict.reasons.push("x".repeat(5_000));
    }
    a.unattributed = 5;
    let text = summary_md(&a, &r, Some("figures/timeline.png"));
    assert_eq!(text.lines().count(), MARKDOWN_LINES, "{text}");
    assert!(text.len() < 30_000, "{} bytes", text.len());
}
