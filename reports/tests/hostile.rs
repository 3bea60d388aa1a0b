//! Hostile text in every field that can carry some does nothing but stand there.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../examples/sample/mod.rs"]
mod sample;

#[path = "hostile/pipeline.rs"]
mod pipeline;

use rollscope_reports::{report_json, summary, timeline_html};
use sample::poison::{HOSTILE, poisoned};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A start tag with its attributes and, for `script` and `style`, its text.
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
}

/// The page's start tags, read as a browser reads them; panics at anything that is neither a tag nor text.
fn tags(page: &str) -> Vec<Tag> {
    let mut found = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if let Some(after) = rest.strip_prefix('/') {
            rest = &after[after.find('>').unwrap() + 1..];
            continue;
        }
        let name: String = rest
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        assert!(!name.is_empty(), "a stray < before {:?}", &rest[..40]);
        rest = &rest[name.len()..];
        let mut attributes = Vec::new();
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('>') {
                rest = after;
                break;
            }
            let end = rest.find(['=', '>', ' ']).unwrap();
            let attribute = rest[..end].to_owned();
            rest = &rest[end..];
            let value = match rest.strip_prefix("=\"") {
                Some(value) => {
                    let end = value.find('"').unwrap();
                    rest = &value[end + 1..];
                    value[..end].to_owned()
                }
                None => String::new(),
            };
            attributes.push((attribute, value));
        }
        let raw = ["script", "style"].contains(&name.as_str());
        let text = if raw {
            rest[..rest.find(&format!("</{name}")).unwrap()].to_owned()
        } else {
            String::new()
        };
        rest = &rest[text.len()..];
        found.push(Tag {
            name,
            attributes,
            text,
        });
    }
    found
}

const TAGS: [&str; 47] = [
    "html", "head", "meta", "title", "style", "body", "a", "div", "header", "p", "strong", "time",
    "h1", "h2", "h3", "h4", "span", "ul", "ol", "li", "dl", "dt", "dd", "small", "main", "section",
    "article", "code", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "bdi",
    "b", "br", "footer", "aside", "script", "noscript", "svg", "em", "wbr", "i",
];

#[test]
fn the_page_has_no_element_and_no_handler_but_its_own() {
    let (a, r) = poisoned();
    let tags = tags(&timeline_html(&a, &r));
    for tag in &tags {
        assert!(TAGS.contains(&tag.name.as_str()), "<{}>", tag.name);
        for (name, value) in &tag.attributes {
            assert!(
                !name.starts_with("on") && name != "style" && name != "src",
                "{name} on <{}>",
                tag.name
            );
            assert!(name != "href" || value.starts_with('#'), "href {value}");
        }
    }
    // Its code, what is drawn, and the records behind that.
    assert_eq!(tags.iter().filter(|t| t.name == "script").count(), 3);
    assert_eq!(tags.iter().filter(|t| t.name == "style").count(), 1);
}

#[test]
fn nothing_in_the_page_acts_on_what_stands_around_it() {
    let (a, r) = poisoned();
    let page = timeline_html(&a, &r);
    let acts = |c: &char| {
        (c.is_control() && *c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}')
    };
    assert_eq!(page.chars().find(acts), None);
    assert!(page.contains("\\u{202e}"), "it is shown instead");
}

#[test]
fn lines_of_a_megabyte_leave_the_page_small() {
    let (a, r) = poisoned();
    let size = timeline_html(&a, &r).len();
    assert!(size < 3_000_000, "{size} bytes");
}

#[test]
fn the_embedded_data_parses_back() {
    let (a, r) = poisoned();
    let tags = tags(&timeline_html(&a, &r));
    let data = tags
        .iter()
        .find(|t| t.attributes.contains(&("id".into(), "data".into())))
        .unwrap();
    let data: Value = serde_json::from_str(&data.text).unwrap();
    assert_eq!(data["pods"].as_array().unwrap().len(), a.pods.len());
    assert_eq!(data["failed"]["count"], a.requests.failed);
}

#[test]
fn the_policy_names_the_hash_of_this_style_and_this_script() {
    let (a, r) = poisoned();
    let tags = tags(&timeline_html(&a, &r));
    let policy = &tags
        .iter()
        .find(|t| {
            t.attributes
                .iter()
                .any(|(_, v)| v == "Content-Security-Policy")
        })
        .unwrap()
        .attributes;
    let policy = policy
        .iter()
        .find(|(name, _)| name == "content")
        .unwrap()
        .1
        .replace("&quot;", "\"");
    let hash = |tag: &Tag| base64(&Sha256::digest(tag.text.as_bytes()));
    let style = tags.iter().find(|t| t.name == "style").unwrap();
    let script = tags
        .iter()
        .find(|t| t.attributes.contains(&("type".into(), "module".into())))
        .unwrap();
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    assert!(
        policy.contains(&format!("style-src 'sha256-{}'", hash(style))),
        "{policy}"
    );
    assert!(
        policy.contains(&format!("script-src 'sha256-{}'", hash(script))),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.encode(bytes)
}

#[test]
fn report_json_keeps_hostile_text_as_it_is() {
    let (a, _) = poisoned();
    let text = report_json(&a);
    assert!(!text.contains('\u{1b}'), "a raw escape");
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["pods"][0]["name"], a.pods[0].name);
    assert_eq!(report["bursts"][0]["summary"], a.bursts[0].summary);
}

#[test]
fn the_terminal_gets_no_control_character() {
    let (a, _) = poisoned();
    let path = format!("/tmp/{HOSTILE}/timeline.html");
    for width in [10, 40, 80, 200] {
        let text = summary(&a, &path, width, false);
        assert_eq!(
            text.chars().find(|c| c.is_control() && *c != '\n'),
            None,
            "{text:?}"
        );
        assert!(!text.contains('\u{202e}'));
        assert!(text.lines().count() <= 24, "{text}");
    }
}
