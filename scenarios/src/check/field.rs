//! One value of the file, and the problems with it.

use std::path::Path;

use rollscope_records::redact;

use crate::problem::{Place, Position, Problem};
use crate::tree::{Entry, Node, Value};

/// Collects the problems of one scenario.
#[derive(Debug)]
pub(crate) struct Checker<'a> {
    pub(crate) problems: Vec<Problem>,
    /// Where relative paths start.
    pub(crate) base_dir: &'a Path,
}

/// A value with the key that it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Field<'a> {
    /// As `load.requests[1].weight`.
    pub(crate) path: String,
    pub(crate) at: Position,
    /// Where its key is; for an item of a list where the item is.
    pub(crate) key_at: Position,
    pub(crate) node: &'a Node,
}

impl Checker<'_> {
    /// A problem at `field`, with the value as what was found.
    pub(crate) fn unexpected(
        &mut self,
        field: &Field<'_>,
        expected: &str,
        nearest: Option<String>,
    ) {
        if let Some(found) = describe(field.node) {
            self.problem(field.at, &field.path, found, expected, nearest);
        }
    }

    /// A problem at `at`.
    pub(crate) fn problem(
        &mut self,
        at: Position,
        path: &str,
        found: impl Into<String>,
        expected: impl Into<String>,
        nearest: Option<String>,
    ) {
        self.problems.push(Problem {
            place: Place::At(at),
            key: path.to_owned(),
            found: found.into(),
            expected: expected.into(),
            nearest,
        });
    }
}

/// The text in `field` as `read` understands it.
pub(crate) fn text<T>(
    field: &Field<'_>,
    checker: &mut Checker<'_>,
    expected: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    if let Value::Text(text) = &field.node.value
        && let Some(value) = read(text)
    {
        return Some(value);
    }
    checker.unexpected(field, expected, likely(field, read));
    None
}

/// A small change of the value that would be right: a unit for a bare number, lower case, no blanks.
fn likely<T>(field: &Field<'_>, read: impl Fn(&str) -> Option<T>) -> Option<String> {
    let candidates = match &field.node.value {
        Value::Number(number) => vec![
            format!("\"{number}\""),
            format!("{number}/s"),
            format!("{number}s"),
        ],
        Value::Bool(value) => vec![format!("\"{value}\"")],
        Value::Text(text) if text.starts_with('/') => vec![text.trim().replace(' ', "%20")],
        Value::Text(text) => {
            let lower = text.trim().to_lowercase();
            let amount = lower.starts_with(|c: char| c.is_ascii_digit());
            let joined = if amount { "" } else { "-" };
            vec![
                lower.replace([' ', '_'], joined),
                format!("/{}", text.trim()),
            ]
        }
        _ => Vec::new(),
    };
    candidates
        .into_iter()
        .find(|c| read(c.trim_matches('"')).is_some())
        .map(|c| shown(&c))
}

/// The value of `entry`, with the path `path`.
pub(super) fn field_of(entry: &Entry, path: String) -> Field<'_> {
    let at = match entry.node.value {
        Value::Null => entry.at,
        _ => entry.node.at,
    };
    Field {
        path,
        at,
        key_at: entry.at,
        node: &entry.node,
    }
}

/// The items of a list as fields.
pub(crate) fn items_of<'a>(list: &Field<'a>, items: &'a [Node]) -> Vec<Field<'a>> {
    let item = |(i, node): (usize, &'a Node)| Field {
        path: format!("{}[{i}]", list.path),
        at: node.at,
        key_at: node.at,
        node,
    };
    items.iter().enumerate().map(item).collect()
}

/// The entries of a mapping as fields, with the place of each key.
pub(crate) fn entries_of<'a>(map: &Field<'a>, entries: &'a [Entry]) -> Vec<(&'a Entry, Field<'a>)> {
    let field = |e: &'a Entry| (e, field_of(e, format!("{}.{}", map.path, shown(&e.key))));
    entries.iter().map(field).collect()
}

/// What a value is, in words. `None` for one that was already reported.
pub(crate) fn describe(node: &Node) -> Option<String> {
    Some(match &node.value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(number) => format!("the number `{}`", shown(number)),
        Value::Text(text) if text.is_empty() => "an empty text".to_owned(),
        Value::Text(text) => format!("the text `{}`", shown(text)),
        Value::List(items) if items.is_empty() => "an empty list".to_owned(),
        Value::List(_) => "a list".to_owned(),
        Value::Map(entries) if entries.is_empty() => "an empty mapping".to_owned(),
        Value::Map(_) => "a mapping".to_owned(),
        Value::Unreadable => return None,
    })
}

/// `text` for a message: without secrets and control characters, and not too long.
pub(crate) fn shown(text: &str) -> String {
    redact::shown(text, 60)
}
