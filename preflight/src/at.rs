//! A field of a document, whether it is there or not: its value, its path, and its place in the file.

use std::cell::RefCell;
use std::fmt::Write as _;

use rollscope_scenarios::Position;
use serde_json::Value as Json;

use crate::finding::Place;
use crate::node::{Node, Value};
use crate::problem::Problem;

/// A document of the input.
#[derive(Debug)]
pub(crate) struct Document {
    /// The file that it is in, or the live object's name.
    pub(crate) file: String,
    pub(crate) root: Node,
    /// Fields that were read and are not what they must be.
    pub(crate) problems: RefCell<Vec<Problem>>,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Key(String),
    /// An item of a list.
    Item(usize),
    /// An item that is not there yet, and the field by which it is told apart.
    New(&'static str, Json),
}

/// The largest whole number in a manifest: int32, as Kubernetes has it.
const LARGEST: i64 = i32::MAX as i64;

/// A field of a document.
#[derive(Debug, Clone)]
pub(crate) struct At<'a> {
    document: &'a Document,
    node: Option<&'a Node>,
    /// Where it is; for one that is not there the nearest field around it.
    position: Option<Position>,
    pub(crate) path: Vec<Step>,
}

impl<'a> At<'a> {
    /// The document itself.
    pub(crate) fn root(document: &'a Document) -> Self {
        Self {
            document,
            node: Some(&document.root),
            position: document.root.at,
            path: Vec::new(),
        }
    }

    pub(crate) fn document(&self) -> &'a Document {
        self.document
    }

    fn step(&self, step: Step, node: Option<&'a Node>, position: Option<Position>) -> Self {
        let mut path = self.path.clone();
        path.push(step);
        Self {
            document: self.document,
            node,
            position: position.or(self.position),
            path,
        }
    }

    /// The field `key` of a mapping. Its place is that of the key.
    pub(crate) fn key(&self, key: &str) -> Self {
        if let Some(node) = self.node
            && !matches!(node.value, Value::Map(_) | Value::Null)
        {
            self.problem("a mapping");
        }
        let entry = self.node.and_then(|n| n.entry(key));
        let position = entry.and_then(|e| e.at);
        self.step(Step::Key(key.to_owned()), entry.map(|e| &e.node), position)
    }

    /// A field below, by its keys.
    pub(crate) fn keys(&self, keys: &[&str]) -> Self {
        keys.iter().fold(self.clone(), |at, key| at.key(key))
    }

    /// The items of a list; none where there is none.
    pub(crate) fn items(&self) -> Vec<Self> {
        match self.node.map(|n| &n.value) {
            Some(Value::List(items)) => items
                .iter()
                .enumerate()
                .map(|(i, node)| self.step(Step::Item(i), Some(node), node.at))
                .collect(),
            None | Some(Value::Null) => Vec::new(),
            Some(_) => {
                self.problem("a list");
                Vec::new()
            }
        }
    }

    /// The item of a list whose field `key` is `value`, or the place of one that can be added.
    pub(crate) fn item(&self, key: &'static str, value: &str) -> Self {
        let found = self
            .items()
            .into_iter()
            .find(|i| i.key(key).plain().as_deref() == Some(value));
        found.unwrap_or_else(|| self.step(Step::New(key, value.into()), None, None))
    }

    /// The keys and values of a mapping.
    pub(crate) fn entries(&self) -> Vec<(&'a str, Self)> {
        match self.node.map(|n| &n.value) {
            Some(Value::Map(entries)) => entries
                .iter()
                .map(|e| {
                    let at = self.step(Step::Key(e.key.clone()), Some(&e.node), e.at);
                    (e.key.as_str(), at)
                })
                .collect(),
            None | Some(Value::Null) => Vec::new(),
            Some(_) => {
                self.problem("a mapping");
                Vec::new()
            }
        }
    }

    /// Whether it is there, with a value.
    pub(crate) fn is_there(&self) -> bool {
        self.node.is_some_and(|n| n.value != Value::Null)
    }

    /// A text.
    pub(crate) fn text(&self) -> Option<&'a str> {
        match self.node.map(|n| &n.value) {
            Some(Value::Text(text)) => Some(text),
            None | Some(Value::Null) => None,
            Some(_) => {
                self.problem("a text");
                None
            }
        }
    }

    /// A text, a number or a truth value, as it is written; nothing else is asked of it.
    pub(crate) fn plain(&self) -> Option<String> {
        match &self.node?.value {
            Value::Text(text) | Value::Number(text) => Some(text.clone()),
            Value::Bool(value) => Some(value.to_string()),
            _ => None,
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&self) -> Option<Vec<String>> {
        if !self.is_there() {
            return None;
        }
        let texts = self
            .items()
            .iter()
            .map(|i| i.text().map(str::to_owned))
            .collect::<Option<Vec<_>>>();
        texts.filter(|t| !t.is_empty())
    }

    /// A whole number from 0.
    pub(crate) fn whole(&self) -> Option<i64> {
        let value = &self.node.filter(|_| self.is_there())?.value;
        if let Value::Number(text) = value
            && let Ok(number) = text.parse::<i64>()
            && (0..=LARGEST).contains(&number)
        {
            return Some(number);
        }
        self.problem("a whole number from 0 to 2147483647");
        None
    }

    /// `true` or `false`; false where it is not there.
    pub(crate) fn flag(&self) -> bool {
        match self.node.map(|n| &n.value) {
            Some(Value::Bool(value)) => *value,
            None | Some(Value::Null) => false,
            Some(_) => {
                self.problem("`true` or `false`");
                false
            }
        }
    }

    /// A number of pods, or a share of them.
    pub(crate) fn amount(&self) -> Option<Amount> {
        let node = self.node.filter(|_| self.is_there())?;
        let digits = |text: &str| {
            text.parse::<i64>()
                .ok()
                .filter(|n| (0..=LARGEST).contains(n))
        };
        let read = match &node.value {
            Value::Number(text) => digits(text).map(Amount::Pods),
            Value::Text(text) => text.strip_suffix('%').and_then(digits).map(Amount::Percent),
            _ => None,
        };
        if read.is_none() {
            self.problem("a number of pods such as 1, or a share such as 25%");
        }
        read
    }

    /// Where it is, for a finding.
    pub(crate) fn place(&self) -> Place {
        Place {
            file: self.document.file.clone(),
            line: self.position.map(|p| p.line),
            column: self.position.map(|p| p.column),
            path: self.path_text(),
        }
    }

    /// The path as `spec.template.spec.containers[0].command`.
    pub(crate) fn path_text(&self) -> String {
        let mut text = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) if key.contains(['.', '/', '[', '"']) => {
                    let _ = write!(text, "[\"{}\"]", crate::problem::shown(key));
                }
                Step::Key(key) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(&crate::problem::shown(key));
                }
                Step::Item(index) => {
                    let _ = write!(text, "[{index}]");
                }
                Step::New(..) => text.push_str("[]"),
            }
        }
        text
    }

    /// Notes that the field is not what it must be.
    pub(crate) fn problem(&self, expected: &str) {
        let found = self
            .node
            .map_or_else(|| "nothing".to_owned(), Node::described);
        self.problem_with(found, expected);
    }

    /// Notes a problem with the field.
    pub(crate) fn problem_with(&self, found: String, expected: &str) {
        self.document.problems.borrow_mut().push(Problem {
            file: self.document.file.clone(),
            at: self.position,
            path: self.path_text(),
            found,
            expected: expected.to_owned(),
        });
    }
}

/// A number of pods, or a share of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    Pods(i64),
    Percent(i64),
}

impl Amount {
    /// In pods, a share rounded up.
    pub(crate) const fn up(self, of: i64) -> i64 {
        match self {
            Self::Pods(n) => n,
            Self::Percent(p) => p.saturating_mul(of).saturating_add(99) / 100,
        }
    }

    /// In pods, a share rounded down.
    pub(crate) const fn down(self, of: i64) -> i64 {
        match self {
            Self::Pods(n) => n,
            Self::Percent(p) => p.saturating_mul(of) / 100,
        }
    }

    pub(crate) const fn is_zero(self) -> bool {
        matches!(self, Self::Pods(0) | Self::Percent(0))
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pods(n) => write!(f, "{n}"),
            Self::Percent(p) => write!(f, "{p}%"),
        }
    }
}
