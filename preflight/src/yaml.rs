//! Reading a stream of YAML documents into trees, with bounds on what hostile input can cost.

use std::collections::{BTreeMap, BTreeSet};

use rollscope_scenarios::Position;
use serde_saphyr::granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span};

use crate::node::{Entry, Node, Value};
use crate::problem::Problem;

/// Nodes in one input, aliases written out.
const MOST_NODES: usize = 1_000_000;

/// Values inside one another, aliases written out.
const DEEPEST: usize = 200;

/// The documents of `text`, those without content left out. Problems are collected; a syntax error ends the reading.
pub(crate) fn read(file: &str, text: &str, problems: &mut Vec<Problem>) -> Vec<Node> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut builder = Builder {
        file,
        problems,
        stack: Vec::new(),
        documents: Vec::new(),
        anchors: BTreeMap::new(),
        nodes: 0,
    };
    for next in Parser::new_from_str(text) {
        let read = match next {
            Ok((event, span)) => builder.event(event, &span),
            Err(error) => {
                let problem = syntax_problem(file, text, &error);
                builder.problems.push(problem);
                Err(Stop)
            }
        };
        if read.is_err() {
            return Vec::new();
        }
    }
    builder.documents
}

/// The reading ends: the problem has been told.
struct Stop;

struct Frame {
    at: Position,
    anchor: usize,
    value: Open,
}

enum Open {
    List(Vec<Node>),
    /// Entries, the key that waits for its value, and the keys so far.
    Map(Vec<Entry>, Option<(String, Position)>, BTreeSet<String>),
}

struct Anchored {
    node: Node,
    nodes: usize,
    depth: usize,
}

struct Builder<'a> {
    file: &'a str,
    problems: &'a mut Vec<Problem>,
    stack: Vec<Frame>,
    documents: Vec<Node>,
    anchors: BTreeMap<usize, Anchored>,
    nodes: usize,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), Stop> {
        let at = place(span.start.line(), span.start.col());
        match event {
            Event::DocumentStart(..) => self.anchors.clear(),
            Event::Scalar(text, style, anchor, _) => {
                self.count(1, at)?;
                let value = scalar(&text, style);
                self.finished(
                    Node {
                        at: Some(at),
                        value,
                    },
                    anchor,
                )?;
            }
            Event::SequenceStart(_, anchor, _) => self.open(at, anchor, Open::List(Vec::new()))?,
            Event::MappingStart(_, anchor, _) => {
                self.open(at, anchor, Open::Map(Vec::new(), None, BTreeSet::new()))?
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::Alias(id) => self.alias(id, at)?,
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, at: Position, anchor: usize, value: Open) -> Result<(), Stop> {
        self.count(1, at)?;
        if self.stack.len() >= DEEPEST {
            return self.stop(at, "values nested too deeply", "at most 200 levels");
        }
        self.stack.push(Frame { at, anchor, value });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Stop> {
        let Some(frame) = self.stack.pop() else {
            return Ok(());
        };
        let value = match frame.value {
            Open::List(items) => Value::List(items),
            Open::Map(entries, ..) => Value::Map(self.merged(entries)),
        };
        let at = Some(frame.at);
        self.finished(Node { at, value }, frame.anchor)
    }

    fn finished(&mut self, node: Node, anchor: usize) -> Result<(), Stop> {
        if anchor != 0 {
            let (nodes, depth) = size(&node);
            let node = node.clone();
            self.count(nodes, node.at.unwrap_or(START))?;
            self.anchors.insert(anchor, Anchored { node, nodes, depth });
        }
        self.add(node)
    }

    /// The value that an alias stands for, counted as if it were written out.
    fn alias(&mut self, id: usize, at: Position) -> Result<(), Stop> {
        let Some(anchored) = self.anchors.get(&id) else {
            return self.stop(at, "an alias inside of what it names", "a value that ends");
        };
        let (nodes, depth) = (anchored.nodes, anchored.depth);
        if self.stack.len() + depth > DEEPEST {
            return self.stop(at, "values nested too deeply", "at most 200 levels");
        }
        self.count(nodes, at)?;
        let mut node = self.anchors[&id].node.clone();
        node.at = Some(at);
        self.add(node)
    }

    fn add(&mut self, node: Node) -> Result<(), Stop> {
        let Some(frame) = self.stack.last_mut() else {
            if node.value != Value::Null {
                self.documents.push(node);
            }
            return Ok(());
        };
        match &mut frame.value {
            Open::List(items) => items.push(node),
            Open::Map(_, key @ None, _) => {
                let at = node.at.unwrap_or(START);
                let text = match node.value {
                    Value::Text(text) | Value::Number(text) => text,
                    Value::Bool(value) => value.to_string(),
                    Value::Null | Value::List(_) | Value::Map(_) => {
                        return self.stop(
                            at,
                            "a key that is not text",
                            "a key, as in `name: value`; a chart is rendered first, as in `helm template CHART | rollscope preflight -`",
                        );
                    }
                };
                *key = Some((text, at));
            }
            Open::Map(entries, key @ Some(_), seen) => {
                let Some((key, at)) = key.take() else {
                    return Ok(());
                };
                if key != "<<" && !seen.insert(key.clone()) {
                    let found = format!("the key `{}` a second time", crate::problem::shown(&key));
                    self.problem(at, &found, "each key once");
                } else {
                    let at = Some(at);
                    entries.push(Entry { key, at, node });
                }
            }
        }
        Ok(())
    }

    /// The entries with those of `<<` among them, which those that are written out precede.
    fn merged(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        let (merges, mut own): (Vec<Entry>, Vec<Entry>) =
            entries.into_iter().partition(|e| e.key == "<<");
        let mut seen: BTreeSet<String> = match merges.is_empty() {
            true => BTreeSet::new(),
            false => own.iter().map(|e| e.key.clone()).collect(),
        };
        for merge in merges {
            let at = merge.at.unwrap_or(START);
            let maps = match merge.node.value {
                Value::List(items) => items,
                _ => vec![merge.node],
            };
            for map in maps {
                match map.value {
                    Value::Map(entries) => {
                        for entry in entries {
                            if seen.insert(entry.key.clone()) {
                                own.push(entry);
                            }
                        }
                    }
                    _ => self.problem(at, "a merge of something else", "a mapping after `<<:`"),
                }
            }
        }
        own
    }

    fn count(&mut self, nodes: usize, at: Position) -> Result<(), Stop> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MOST_NODES {
            return self.stop(at, "more than a million values", "manifests");
        }
        Ok(())
    }

    fn problem(&mut self, at: Position, found: &str, expected: &str) {
        self.problems.push(Problem {
            file: self.file.to_owned(),
            at: Some(at),
            path: String::new(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        });
    }

    fn stop(&mut self, at: Position, found: &str, expected: &str) -> Result<(), Stop> {
        self.problem(at, found, expected);
        Err(Stop)
    }
}

const START: Position = Position { line: 1, column: 1 };

/// Nodes of a tree, and how many are inside one another. The tree is not deeper than [`DEEPEST`].
fn size(node: &Node) -> (usize, usize) {
    let add = |(nodes, depth): (usize, usize), child: &Node| {
        let (n, d) = size(child);
        (nodes + n, depth.max(d + 1))
    };
    match &node.value {
        Value::List(items) => items.iter().fold((1, 1), add),
        Value::Map(entries) => entries.iter().map(|e| &e.node).fold((1, 1), add),
        _ => (1, 1),
    }
}

/// The parser counts lines from 1 and columns from 0.
fn place(line: usize, column: usize) -> Position {
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
    unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.parse::<f64>().is_ok()
}

fn syntax_problem(file: &str, text: &str, error: &ScanError) -> Problem {
    let at = place(error.marker().line(), error.marker().col());
    let (found, expected) = match error.kind() {
        _ if text.contains("{{") => (
            format!("a syntax error ({})", error.info()),
            "YAML: render a chart first, as in `helm template CHART | rollscope preflight -`",
        ),
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar => (
            "a tab".to_owned(),
            "spaces (YAML is not indented with tabs)",
        ),
        ErrorKind::RecursionLimitExceeded => {
            ("values nested too deeply".to_owned(), "at most 200 levels")
        }
        ErrorKind::UnknownAnchor => (
            "an alias without its anchor".to_owned(),
            "an anchor before it",
        ),
        _ => (format!("a syntax error ({})", error.info()), "YAML"),
    };
    Problem {
        file: file.to_owned(),
        at: Some(at),
        path: String::new(),
        found,
        expected: expected.to_owned(),
    }
}
