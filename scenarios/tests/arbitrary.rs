//! Whatever stands in a file, reading it ends with a scenario or with problems, never with a panic.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::Path;

use proptest::prelude::*;
use rollscope_scenarios::{Place, parse, redacted};

const VALID: &str = include_str!("../sigkill-overrun.yaml");
const BAD: &str = include_str!("bad/several_at_once.yaml");

/// A cut, a repetition or an insertion somewhere in the text.
#[derive(Debug, Clone)]
enum Change {
    Delete { from: usize, length: usize },
    Insert { at: usize, text: String },
    Repeat { from: usize, length: usize },
}

fn change() -> impl Strategy<Value = Change> {
    let yaml = prop_oneof![
        "[-:{}\\[\\],#&*!|>'\"%@`?~<\\t\\r\\n 0-9a-z.µ\u{feff}\u{85}\u{2028}\\\\]{1,6}",
        any::<String>(),
        Just("\n---\n".to_owned()),
        Just("<<: *a".to_owned()),
        Just("99999999999999999999999999999999".to_owned()),
        Just("0.0000000000000000000000000000001h".to_owned()),
    ];
    prop_oneof![
        (0..2000_usize, 1..200_usize).prop_map(|(from, length)| Change::Delete { from, length }),
        (0..2000_usize, yaml).prop_map(|(at, text)| Change::Insert { at, text }),
        (0..2000_usize, 1..200_usize).prop_map(|(from, length)| Change::Repeat { from, length }),
    ]
}

fn apply(text: &str, change: &Change) -> String {
    let chars: Vec<char> = text.chars().collect();
    let clip = |i: usize| i.min(chars.len());
    let part = |from: usize, to: usize| chars[clip(from)..clip(to)].iter().collect::<String>();
    match change {
        Change::Delete { from, length } => part(0, *from) + &part(from + length, usize::MAX),
        Change::Insert { at, text } => part(0, *at) + text + &part(*at, usize::MAX),
        Change::Repeat { from, length } => part(0, from + length) + &part(*from, usize::MAX),
    }
}

fn check(text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    match parse(text, "x.yaml", folder) {
        Ok(scenario) => {
            let again = parse(&redacted(&scenario).to_string(), "x.yaml", folder).unwrap();
            assert_eq!(again.name, scenario.name);
            assert!(scenario.load.rate.highest() > 0.0);
            assert!(!scenario.load.requests.is_empty() && !scenario.stages.is_empty());
        }
        Err(errors) => {
            assert!(!errors.problems().is_empty());
            let message = errors.to_string();
            assert_eq!(
                message.lines().count(),
                errors.problems().len() + 1,
                "{message}"
            );
            for problem in errors.problems() {
                if let Place::At(at) = problem.place {
                    assert!(at.line >= 1 && at.column >= 1, "{problem}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_scenario_is_read_or_refused(changes in prop::collection::vec(change(), 1..6)) {
        check(&changes.iter().fold(VALID.to_owned(), |text, c| apply(&text, c)));
    }

    #[test]
    fn a_changed_bad_scenario_is_read_or_refused(changes in prop::collection::vec(change(), 1..4)) {
        check(&changes.iter().fold(BAD.to_owned(), |text, c| apply(&text, c)));
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        check(&text);
    }
}

#[test]
fn deep_nesting_is_refused() {
    for open in ["[", "{a: ", "- ", "? "] {
        check(&open.repeat(100_000));
    }
}
