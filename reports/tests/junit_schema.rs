//! `junit.xml` against the schema of Jenkins' xUnit plugin (its junit-10.xsd): elements, order, attributes and times.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../examples/sample/mod.rs"]
mod sample;

use std::collections::BTreeMap;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use rollscope_analyzer::{Analysis, VerdictOutcome};
use rollscope_reports::junit_xml;

#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    children: Vec<Element>,
    text: String,
}

impl Element {
    fn of(start: &BytesStart<'_>) -> Self {
        let attributes = start.attributes().map(|a| {
            let a = a.unwrap();
            let key = String::from_utf8(a.key.as_ref().to_vec()).unwrap();
            (
                key,
                a.normalized_value(XmlVersion::Explicit1_0)
                    .unwrap()
                    .into_owned(),
            )
        });
        Self {
            name: String::from_utf8(start.name().as_ref().to_vec()).unwrap(),
            attributes: attributes.collect(),
            ..Self::default()
        }
    }

    fn parse(xml: &str) -> Self {
        let mut reader = Reader::from_str(xml);
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event().unwrap() {
                Event::Start(start) => open.push(Self::of(&start)),
                Event::Empty(start) => open.last_mut().unwrap().children.push(Self::of(&start)),
                Event::End(_) => {
                    let closed = open.pop().unwrap();
                    open.last_mut().unwrap().children.push(closed);
                }
                Event::Text(text) => open.last_mut().unwrap().text += &text.decode().unwrap(),
                Event::GeneralRef(reference) => {
                    let name = reference.decode().unwrap();
                    let text = quick_xml::escape::resolve_predefined_entity(&name);
                    open.last_mut().unwrap().text += text.unwrap_or_else(|| panic!("&{name};"));
                }
                Event::Eof => break,
                _ => {}
            }
        }
        let mut roots = open.pop().unwrap().children;
        assert_eq!((open.len(), roots.len()), (0, 1));
        roots.pop().unwrap()
    }

    fn number(&self, attribute: &str) -> usize {
        self.attributes[attribute].parse().unwrap()
    }

    /// This element and all below it.
    fn all(&self) -> Vec<&Self> {
        std::iter::once(self)
            .chain(self.children.iter().flat_map(Self::all))
            .collect()
    }

    fn count(&self, name: &str) -> usize {
        self.all().iter().filter(|e| e.name == name).count()
    }
}

/// What an element may have: attributes it must have, others it may have, children, and whether it has text.
type Rule = (
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
    bool,
);

fn rule(element: &str) -> Rule {
    match element {
        "testsuites" => (
            &[],
            &["name", "time", "tests", "failures", "errors"],
            &["testsuite"],
            false,
        ),
        "testsuite" => (
            &["name", "tests", "failures", "errors"],
            &[
                "group",
                "time",
                "skipped",
                "timestamp",
                "hostname",
                "id",
                "package",
                "file",
                "log",
                "url",
            ],
            &[
                "testsuite",
                "properties",
                "testcase",
                "system-out",
                "system-err",
            ],
            false,
        ),
        "testcase" => (
            &["name"],
            &["time", "classname", "group"],
            &["skipped", "error", "failure", "system-out", "system-err"],
            false,
        ),
        "failure" | "error" | "skipped" => (&[], &["type", "message"], &[], true),
        "system-out" | "system-err" => (&[], &[], &[], true),
        other => panic!("<{other}> is not in the schema"),
    }
}

/// Digits with at most three between commas, then at most one point with digits.
fn is_surefire_time(time: &str) -> bool {
    let (whole, fraction) = time.split_once('.').unwrap_or((time, ""));
    whole.chars().all(|c| c.is_ascii_digit()) && fraction.chars().all(|c| c.is_ascii_digit())
}

fn check(element: &Element) {
    let (must, may, children, text) = rule(&element.name);
    for attribute in must {
        assert!(
            element.attributes.contains_key(*attribute),
            "<{}> has no {attribute}",
            element.name
        );
    }
    for (attribute, value) in &element.attributes {
        let known = must.contains(&attribute.as_str()) || may.contains(&attribute.as_str());
        assert!(known, "{attribute} is not allowed on <{}>", element.name);
        assert!(
            attribute != "time" || is_surefire_time(value),
            "time {value}"
        );
    }
    assert!(
        text || element.text.trim().is_empty(),
        "text in <{}>",
        element.name
    );
    for child in &element.children {
        assert!(
            children.contains(&child.name.as_str()),
            "<{}> in <{}>",
            child.name,
            element.name
        );
        check(child);
    }
}

/// Each total is the number of such cases below it.
fn check_totals(element: &Element) {
    for (attribute, name) in [
        ("tests", "testcase"),
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ] {
        if element.attributes.contains_key(attribute) {
            assert_eq!(
                element.number(attribute),
                element.count(name),
                "{attribute}"
            );
        }
    }
    element
        .children
        .iter()
        .filter(|c| c.name == "testsuite")
        .for_each(check_totals);
}

fn valid(a: &Analysis) -> Element {
    let root = Element::parse(&junit_xml(a));
    assert_eq!(root.name, "testsuites");
    check(&root);
    check_totals(&root);
    root
}

#[test]
fn every_verdict_gives_a_valid_file() {
    for (mut a, _) in [
        sample::early_close(4_400),
        sample::clean(),
        sample::invalid(),
    ] {
        for outcome in [
            VerdictOutcome::Passed,
            VerdictOutcome::GateFailed,
            VerdictOutcome::Invalid,
            VerdictOutcome::Interrupted,
            VerdictOutcome::EnvironmentFailed,
        ] {
            a.verdict.outcome = outcome;
            valid(&a);
        }
    }
}

#[test]
fn a_run_with_nothing_in_it_gives_a_valid_file() {
    let (mut a, _) = sample::clean();
    a.stages.clear();
    a.assertions.clear();
    assert_eq!(valid(&a).count("testcase"), 1, "the gate");
}

#[test]
fn there_is_a_case_for_the_gate_each_stage_and_each_assertion() {
    let (a, _) = sample::early_close(4_400);
    let root = valid(&a);
    assert_eq!(
        root.count("testcase"),
        1 + a.stages.len() + a.assertions.len()
    );
    let broken = a
        .assertions
        .iter()
        .filter(|x| x.held == Some(false))
        .count();
    assert_eq!(root.count("failure"), 1 + broken);
    let unseen = a.assertions.iter().filter(|x| x.held.is_none()).count();
    assert_eq!(root.count("skipped"), unseen);
}

#[test]
fn a_failed_gate_tells_cause_evidence_and_advice() {
    let (a, _) = sample::early_close(4_400);
    let root = valid(&a);
    let failures = root.all().into_iter().filter(|e| e.name == "failure");
    let gate = failures.map(|e| e.text.clone()).next().unwrap();
    let burst = &a.bursts[0];
    for text in [
        &burst.summary,
        &burst.evidence[0].id,
        &burst.advice[0].field,
    ] {
        assert!(gate.contains(text.as_str()), "{text} is not in {gate}");
    }
}

#[test]
fn a_run_that_proves_nothing_is_an_error_and_no_failure() {
    let (a, _) = sample::invalid();
    let root = valid(&a);
    let gate = &root.children[0].children[0];
    assert_eq!(gate.count("error"), 1);
    assert_eq!(gate.count("failure"), 0);
}

#[test]
fn a_failed_stage_fails_its_case_with_the_reason() {
    let (mut a, _) = sample::clean();
    a.stages[1].end = "failed";
    a.stages[1].detail = Some("not complete within 2m: 1 of 3 updated".to_owned());
    let root = valid(&a);
    let stage = &root.children[1].children[1];
    assert_eq!(stage.children[0].name, "failure");
    assert_eq!(
        stage.children[0].text,
        "not complete within 2m: 1 of 3 updated"
    );
}
