//! A YAML text as a tree in which every key and every value knows its line and column.
//!
//! Problems that the tree can step over (duplicate keys, anchors, tags, a second document) are collected; a syntax
//! error ends the reading, because nothing after it can be trusted.

use serde_saphyr::granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span};

use crate::problem::{Place, Position, Problem};

/// A value and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
}

/// A value of the YAML core schema, by its notation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// Nothing, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A plain number, as written.
    Number(String),
    /// Any other scalar.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, without the duplicates of a key.
    Map(Vec<Entry>),
    /// Something that was already reported.
    Unreadable,
}

/// A key of a mapping with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: Position,
    pub(crate) node: Node,
}

/// Reads `text`. `None` for a text without a value (empty, or nothing but comments), or with a syntax error, which is
/// then in `problems`.
pub(crate) fn read(text: &str, problems: &mut Vec<Problem>) -> Option<Node> {
    let mut builder = Builder::new(problems);
    for next in Parser::new_from_str(text) {
        match next {
            Ok((event, span)) => builder.event(event, span),
            Err(error) => {
                problems.push(syntax_problem(&error));
                return None;
            }
        }
    }
    builder.root
}

enum Frame {
    List(Position, Vec<Node>),
    Map(Position, Vec<Entry>, Option<Key>),
}

/// A key that waits for its value; `None` for one that was already reported.
type Key = Option<(String, Position)>;

struct Builder<'p> {
    problems: &'p mut Vec<Problem>,
    stack: Vec<Frame>,
    root: Option<Node>,
    documents: usize,
}

impl<'p> Builder<'p> {
    fn new(problems: &'p mut Vec<Problem>) -> Self {
        Self {
            problems,
            stack: Vec::new(),
            root: None,
            documents: 0,
        }
    }

    fn event(&mut self, event: Event<'_>, span: Span) {
        let at = position(&span);
        if let Event::DocumentStart(..) = event {
            self.documents += 1;
            if self.documents == 2 {
                self.problem(at, "a second YAML document", "one document in a file");
            }
        }
        if self.documents != 1 {
            return;
        }
        self.refuse_anchor_and_tag(&event, at, &span);
        match event {
            Event::Scalar(text, style, ..) => {
                let value = scalar(&text, style);
                self.add(Node { at, value });
            }
            Event::SequenceStart(..) => self.stack.push(Frame::List(at, Vec::new())),
            Event::MappingStart(..) => self.stack.push(Frame::Map(at, Vec::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.problem(at, "an alias (`*name`)", "the value itself, written out");
                let value = Value::Unreadable;
                self.add(Node { at, value });
            }
            _ => {}
        }
    }

    fn refuse_anchor_and_tag(&mut self, event: &Event<'_>, at: Position, span: &Span) {
        if event.anchor_id().is_some() && !event.is_alias() {
            self.problem(at, "an anchor (`&name`)", "a value without an anchor");
        }
        if event.tag().is_some() {
            let at = span.tag_start.map_or(at, |m| marker(m.line(), m.col()));
            self.problem(at, "a tag (`!name`)", "a value without a tag");
        }
    }

    fn close(&mut self) {
        match self.stack.pop() {
            Some(Frame::List(at, items)) => {
                let value = Value::List(items);
                self.add(Node { at, value });
            }
            Some(Frame::Map(at, entries, _)) => {
                let value = Value::Map(entries);
                self.add(Node { at, value });
            }
            None => {}
        }
    }

    /// Puts a finished node where it belongs: the list, the mapping (as key or as value), or the root.
    fn add(&mut self, node: Node) {
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Frame::List(_, items)) => items.push(node),
            Some(Frame::Map(_, _, waiting @ None)) => {
                *waiting = Some(None);
                let key = self.key(node);
                if let Some(Frame::Map(_, _, waiting)) = self.stack.last_mut() {
                    *waiting = Some(key);
                }
            }
            Some(Frame::Map(_, entries, waiting)) => {
                let Some(Some((key, at))) = waiting.take() else {
                    return;
                };
                if let Some(first) = entries.iter().find(|e| e.key == key).map(|e| e.at) {
                    let found = format!(
                        "the key `{key}` a second time (first in line {})",
                        first.line
                    );
                    self.problem(at, &found, "each key once");
                } else {
                    entries.push(Entry { key, at, node });
                }
            }
        }
    }

    fn key(&mut self, node: Node) -> Key {
        match node.value {
            Value::Text(key) if key == "<<" => {
                self.problem(
                    node.at,
                    "a merge key (`<<`)",
                    "the keys themselves, written out",
                );
                None
            }
            Value::Text(key) | Value::Number(key) => Some((key, node.at)),
            Value::Bool(key) => Some((key.to_string(), node.at)),
            Value::Unreadable => None,
            Value::Null | Value::List(_) | Value::Map(_) => {
                self.problem(
                    node.at,
                    "a key that is not text",
                    "a key, as in `name: value`",
                );
                None
            }
        }
    }

    fn problem(&mut self, at: Position, found: &str, expected: &str) {
        self.problems.push(Problem {
            place: Place::At(at),
            key: String::new(),
            found: found.to_owned(),
            expected: expected.to_owned(),
            nearest: None,
        });
    }
}

fn position(span: &Span) -> Position {
    marker(span.start.line(), span.start.col())
}

/// The parser counts lines from 1 and columns from 0.
fn marker(line: usize, column: usize) -> Position {
    Position {
        line: line.max(1),
        column: column + 1,
    }
}

/// The value of a scalar by the YAML 1.2 core schema: only plain ones can be something else than text.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::Text(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if is_number(text) => Value::Number(text.to_owned()),
        _ => Value::Text(text.to_owned()),
    }
}

fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(
        unsigned,
        ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN"
    ) {
        return true;
    }
    let digits = |s: &str, radix| !s.is_empty() && s.chars().all(|c| c.is_digit(radix));
    if let Some(hex) = unsigned.strip_prefix("0x") {
        return digits(hex, 16);
    }
    if let Some(octal) = unsigned.strip_prefix("0o") {
        return digits(octal, 8);
    }
    unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.parse::<f64>().is_ok()
}

fn syntax_problem(error: &ScanError) -> Problem {
    let at = marker(error.marker().line(), error.marker().col());
    let known = match error.kind() {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar => Some(("a tab", "spaces (YAML is not indented with tabs)")),
        ErrorKind::UnclosedQuotedScalar => Some(("a quote that is never closed", "its end")),
        ErrorKind::UnknownAnchor => Some((
            "an alias (`*name`) without its anchor",
            "the value itself, written out",
        )),
        ErrorKind::MappingValueNotAllowed => Some((
            "a `:` where no value can begin",
            "quotes around a text with `: ` in it, or the right indentation",
        )),
        ErrorKind::BlockEntryInFlowCollection
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator => Some((
            "something else inside `{ }` or `[ ]`",
            "a comma, or the closing bracket before it",
        )),
        ErrorKind::RecursionLimitExceeded => Some(("too many nested values", "a scenario")),
        _ => None,
    };
    let (found, expected) = match known {
        Some((found, expected)) => (found.to_owned(), expected),
        None => (format!("a syntax error ({})", error.info()), "YAML"),
    };
    Problem {
        place: Place::At(at),
        key: String::new(),
        found,
        expected: expected.to_owned(),
        nearest: None,
    }
}
