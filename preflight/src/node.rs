//! A YAML document as a tree in which every key and every value knows its line and column.

use rollscope_scenarios::Position;
use serde_json::{Map, Number};

/// A value and where it begins; `None` in an object that comes from no file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Option<Position>,
    pub(crate) value: Value,
}

/// A value of the YAML core schema, by its notation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// A plain number, as written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key of a mapping with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: Option<Position>,
    pub(crate) node: Node,
}

impl Node {
    /// The value of a key of a mapping.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|e| e.key == key),
            _ => None,
        }
    }

    /// The tree of a JSON value; its nodes have no places.
    pub(crate) fn of_json(json: &serde_json::Value) -> Self {
        let value = match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(b) => Value::Bool(*b),
            serde_json::Value::Number(n) => Value::Number(n.to_string()),
            serde_json::Value::String(s) => Value::Text(s.clone()),
            serde_json::Value::Array(items) => {
                Value::List(items.iter().map(Self::of_json).collect())
            }
            serde_json::Value::Object(map) => Value::Map(
                map.iter()
                    .map(|(key, value)| Entry {
                        key: key.clone(),
                        at: None,
                        node: Self::of_json(value),
                    })
                    .collect(),
            ),
        };
        Self { at: None, value }
    }

    /// The tree as JSON. A number that JSON cannot hold becomes a text.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(b) => (*b).into(),
            Value::Number(text) => number(text),
            Value::Text(text) => text.clone().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => {
                let pairs = entries.iter().map(|e| (e.key.clone(), e.node.to_json()));
                serde_json::Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// What the value is, in words.
    pub(crate) fn described(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(value) => format!("`{value}`"),
            Value::Number(number) => format!("the number `{}`", crate::problem::shown(number)),
            Value::Text(text) => format!("the text `{}`", crate::problem::shown(text)),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
        }
    }
}

fn number(text: &str) -> serde_json::Value {
    if let Ok(whole) = text.parse::<i64>() {
        return whole.into();
    }
    let float = text.parse::<f64>().ok().and_then(Number::from_f64);
    float.map_or_else(|| text.into(), serde_json::Value::Number)
}
