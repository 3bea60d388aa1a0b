//! `gate` and `logs`.

use regex::Regex;

use super::Checker;
use super::field::{entries_of, shown};
use super::scenario::Marks;
use super::section::Section;
use crate::keys::Shape;
use crate::model::Gate;
use crate::tree::Value;
use crate::words;

/// What the gate allows; without a `gate` its defaults.
pub(super) fn gate(top: &Section<'_>, checker: &mut Checker<'_>) -> Option<Gate> {
    if top.get("gate").is_none() {
        return Some(Gate {
            max_failed: 0,
            assertions_fail: false,
        });
    }
    let section = top.section("gate", checker)?;
    let max_failed = section.whole("max_failed", checker);
    let assertions = section.choice("assertions", checker);
    Some(Gate {
        max_failed: max_failed?,
        assertions_fail: assertions? == "fail",
    })
}

/// The log marks; each pattern must compile.
pub(super) fn log_marks(top: &Section<'_>, checker: &mut Checker<'_>) -> Option<Marks> {
    if top.get("logs").is_none() {
        return Some(Marks::new());
    }
    let Some(field) = top.section("logs", checker)?.get("marks") else {
        return Some(Marks::new());
    };
    let Value::Map(entries) = &field.node.value else {
        checker.unexpected(&field, &Shape::Patterns.expected(), None);
        return None;
    };
    let mut marks = Marks::new();
    for (entry, value) in entries_of(&field, entries) {
        if !words::is_label(&entry.key) {
            checker.problem(
                entry.at,
                &field.path,
                format!("the name `{}`", shown(&entry.key)),
                "a name on one line",
                None,
            );
            continue;
        }
        let Value::Text(pattern) = &value.node.value else {
            checker.unexpected(&value, "a regular expression (in quotes)", None);
            continue;
        };
        match Regex::new(pattern) {
            Ok(_) => {
                marks.insert(entry.key.clone(), pattern.clone());
            }
            Err(error) => {
                let found = format!("the pattern `{}` ({})", shown(pattern), reason(&error));
                checker.problem(value.at, &value.path, found, "a regular expression", None);
            }
        }
    }
    (marks.len() == entries.len()).then_some(marks)
}

/// Why a pattern does not compile, in one line.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}
