//! Reading the keys of one mapping, with a problem for each that is not as its table says.

use std::path::PathBuf;
use std::time::Duration;

use super::field::{Checker, Field, field_of, items_of, shown, text};
use crate::keys::{Key, Shape, Table, one_of};
use crate::problem::Position;
use crate::tables::TABLES;
use crate::tree::{Entry, Value};
use crate::{units, words};

/// A mapping whose keys are those of `table`.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    table: &'static Table,
    pub(crate) path: String,
    pub(crate) at: Position,
    entries: &'a [Entry],
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.home)
    }
}

impl<'a> Section<'a> {
    /// The mapping in `field`. Reports another kind of value, unknown keys, missing keys, and more or less than one of
    /// the keys of which exactly one must be there.
    pub(crate) fn open(
        field: &Field<'a>,
        table: &'static Table,
        checker: &mut Checker<'_>,
    ) -> Option<Self> {
        let Value::Map(entries) = &field.node.value else {
            checker.unexpected(
                field,
                &Shape::Section(table).expected(),
                bare_key(field, table),
            );
            return None;
        };
        let section = Self {
            table,
            path: field.path.clone(),
            at: field.at,
            entries,
        };
        let unknown = entries.iter().filter(|e| table.key(&e.key).is_none());
        unknown.for_each(|entry| section.unknown_key(entry, checker));
        for key in table.keys.iter().filter(|k| k.required) {
            if section.entry(key.name).is_none() && !section.misspelt(&[key.name]) {
                let found = format!("no key `{}`", key.name);
                checker.problem(section.at, &section.path, found, key.shape.expected(), None);
            }
        }
        section.exactly_one(checker);
        Some(section)
    }

    fn unknown_key(&self, entry: &Entry, checker: &mut Checker<'_>) {
        let shown = shown(&entry.key);
        if let Some(planned) = self.table.planned(&entry.key) {
            let found = format!("`{shown}`, which is not supported yet");
            let expected = match planned.instead_of {
                [] => one_of(self.table.names()),
                keys => one_of(keys.iter().copied()),
            };
            checker.problem(entry.at, &self.path, found, expected, None);
            return;
        }
        let nearest = meant(&entry.key, self.table);
        let found = format!("the unknown key `{shown}`");
        checker.problem(
            entry.at,
            &self.path,
            found,
            one_of(self.table.names()),
            nearest,
        );
    }

    fn exactly_one(&self, checker: &mut Checker<'_>) {
        let present: Vec<&Entry> = self
            .entries
            .iter()
            .filter(|e| self.table.one_of.contains(&e.key.as_str()))
            .collect();
        let expected = || format!("exactly one of {}", list(self.table.one_of.iter().copied()));
        match present.as_slice() {
            [] if self.table.one_of.is_empty() || self.misspelt(self.table.one_of) => {}
            [] => checker.problem(self.at, &self.path, "none", expected(), None),
            [_] => {}
            [.., last] => {
                let found = list(present.iter().map(|e| e.key.as_str()));
                checker.problem(last.at, &self.path, found, expected(), None);
            }
        }
    }

    /// Whether an unknown key was reported that was meant as one of `keys`, or that will stand in for one.
    fn misspelt(&self, keys: &[&str]) -> bool {
        self.entries
            .iter()
            .any(|e| match self.table.planned(&e.key) {
                Some(planned) => planned.instead_of.iter().any(|k| keys.contains(k)),
                None if self.table.key(&e.key).is_some() => false,
                None => meant(&e.key, self.table).is_some_and(|m| keys.contains(&m.as_str())),
            })
    }

    fn entry(&self, key: &str) -> Option<&'a Entry> {
        self.entries.iter().find(|e| e.key == key)
    }

    fn spec(&self, key: &str) -> &'static Key {
        let found = self.table.keys.iter().find(|k| k.name == key);
        debug_assert!(
            found.is_some(),
            "{key} is not in the table of {}",
            self.table.home
        );
        found.unwrap_or(&self.table.keys[0])
    }

    /// What the value of `key` looks like.
    pub(crate) fn shape(&self, key: &str) -> &'static Shape {
        &self.spec(key).shape
    }

    /// What is expected as the value of `key`, in words.
    pub(crate) fn expected(&self, key: &str) -> String {
        self.shape(key).expected()
    }

    /// The path of `key` in this section.
    pub(crate) fn path_of(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }

    /// The value of `key`, where it is written.
    pub(crate) fn get(&self, key: &str) -> Option<Field<'a>> {
        self.spec(key);
        self.entry(key).map(|e| field_of(e, self.path_of(key)))
    }

    /// The first written one of `keys`.
    pub(crate) fn first(&self, keys: &[&'static str]) -> Option<(&'static str, Field<'a>)> {
        self.entries.iter().find_map(|e| {
            let key = keys.iter().find(|k| **k == e.key)?;
            Some((*key, field_of(e, self.path_of(key))))
        })
    }

    /// The mapping under `key`.
    pub(crate) fn section(&self, key: &str, checker: &mut Checker<'_>) -> Option<Section<'a>> {
        let Shape::Section(table) = &self.spec(key).shape else {
            return None;
        };
        Section::open(&self.get(key)?, table, checker)
    }

    /// The list of mappings under `key`; an empty list is reported.
    pub(crate) fn sections(
        &self,
        key: &str,
        checker: &mut Checker<'_>,
    ) -> Option<Vec<Option<Section<'a>>>> {
        let Shape::Sections(table) = &self.spec(key).shape else {
            return None;
        };
        let items = self.items(key, checker)?;
        Some(
            items
                .iter()
                .map(|item| Section::open(item, table, checker))
                .collect(),
        )
    }

    /// The items of the list under `key`; an empty list is reported unless it may be empty.
    pub(crate) fn items(&self, key: &str, checker: &mut Checker<'_>) -> Option<Vec<Field<'a>>> {
        let field = self.get(key)?;
        let shape = &self.spec(key).shape;
        match &field.node.value {
            Value::List(items)
                if !items.is_empty()
                    || matches!(shape, Shape::Texts { may_be_empty: true } | Shape::Words(_)) =>
            {
                Some(items_of(&field, items))
            }
            _ => {
                checker.unexpected(&field, &shape.expected(), None);
                None
            }
        }
    }

    /// The list of texts under `key`.
    pub(crate) fn texts(&self, key: &str, checker: &mut Checker<'_>) -> Option<Vec<String>> {
        let items = self.items(key, checker)?;
        let texts: Vec<_> = items
            .iter()
            .map(|item| {
                text(item, checker, "text", |t| {
                    words::is_label(t).then(|| t.to_owned())
                })
            })
            .collect();
        texts.into_iter().collect()
    }

    /// The text under `key` or its default, as `read` understands it.
    pub(crate) fn parsed<T>(
        &self,
        key: &str,
        checker: &mut Checker<'_>,
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let spec = self.spec(key);
        match self.get(key) {
            Some(field) => text(&field, checker, &spec.shape.expected(), read),
            None => spec.default.and_then(read),
        }
    }

    /// Whether `key` is on, or its default.
    pub(crate) fn flag(&self, key: &str, checker: &mut Checker<'_>) -> Option<bool> {
        let spec = self.spec(key);
        let Some(field) = self.get(key) else {
            return spec.default.map(|d| d == "true");
        };
        if let Value::Bool(value) = field.node.value {
            return Some(value);
        }
        checker.unexpected(&field, &spec.shape.expected(), None);
        None
    }

    /// The file under `key`, resolved against the scenario's folder: inner `None` where the key is not written. It must
    /// be there.
    #[expect(
        clippy::option_option,
        reason = "a problem and an absent value are different"
    )]
    pub(crate) fn file(&self, key: &str, checker: &mut Checker<'_>) -> Option<Option<PathBuf>> {
        let Some(field) = self.get(key) else {
            return Some(None);
        };
        let path = self.parsed(key, checker, |t| (!t.is_empty()).then(|| PathBuf::from(t)))?;
        let path = checker.base_dir.join(path);
        let found = match std::fs::metadata(&path) {
            Ok(meta) if !meta.is_dir() => return Some(Some(path)),
            Ok(_) => format!("the directory `{}`", path.display()),
            Err(error) => format!("`{}`, which cannot be read ({error})", path.display()),
        };
        let expected = self.spec(key).shape.expected();
        checker.problem(field.at, &field.path, found, expected, None);
        None
    }

    /// The duration over 0 under `key`: inner `None` where the key is not written.
    #[expect(
        clippy::option_option,
        reason = "a problem and an absent value are different"
    )]
    pub(crate) fn duration(
        &self,
        key: &str,
        checker: &mut Checker<'_>,
    ) -> Option<Option<Duration>> {
        if self.get(key).is_none() {
            return Some(None);
        }
        let over_zero = |t: &str| units::duration(t).filter(|d| !d.is_zero());
        self.parsed(key, checker, over_zero).map(Some)
    }

    /// The whole number under `key` or its default, within the bounds of its table.
    pub(crate) fn whole(&self, key: &str, checker: &mut Checker<'_>) -> Option<u64> {
        let spec = self.spec(key);
        let Shape::Whole(min, max) = spec.shape else {
            return None;
        };
        let Some(field) = self.get(key) else {
            return spec.default.and_then(|d| d.parse().ok());
        };
        if let Value::Number(number) = &field.node.value
            && let Ok(value) = number.parse::<u64>()
            && (min..=max).contains(&value)
        {
            return Some(value);
        }
        checker.unexpected(&field, &spec.shape.expected(), None);
        None
    }

    /// The word under `key` or its default, one of those in its table.
    pub(crate) fn choice(&self, key: &str, checker: &mut Checker<'_>) -> Option<&'static str> {
        let Shape::Choice(words) = self.spec(key).shape else {
            return None;
        };
        let find = |text: &str| words.iter().copied().find(|w| *w == text);
        let Some(field) = self.get(key) else {
            return self.spec(key).default.and_then(find);
        };
        let Value::Text(text) = &field.node.value else {
            checker.unexpected(&field, &self.spec(key).shape.expected(), None);
            return None;
        };
        if let Some(word) = find(text) {
            return Some(word);
        }
        let nearest = words::nearest(text, words.iter().copied()).map(str::to_owned);
        checker.unexpected(&field, &self.spec(key).shape.expected(), nearest);
        None
    }
}

/// `none: {}` for a bare `none`.
fn bare_key(field: &Field<'_>, table: &Table) -> Option<String> {
    let Value::Text(text) = &field.node.value else {
        return None;
    };
    let key = table.key(text)?;
    matches!(key.shape, Shape::Nothing).then(|| format!("{text}: {{}}"))
}

/// What was probably meant by a key that `table` does not have: the right place of a key that is right elsewhere, the
/// nesting for dots, or the nearest key.
fn meant(key: &str, table: &Table) -> Option<String> {
    if let Some((outer, inner)) = key.split_once('.')
        && let Some(known) = table.key(outer)
    {
        return Some(format!("{}: {{ {}: ... }}", known.name, shown(inner)));
    }
    let elsewhere = TABLES
        .iter()
        .find(|t| !t.home.is_empty() && t.key(key).is_some())
        .map(|t| format!("{}.{key}", t.home));
    elsewhere.or_else(|| words::nearest(key, table.names()).map(str::to_owned))
}

/// "`a`, `b` and `c`" without a claim about their order.
fn list<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let quoted: Vec<String> = words.map(|w| format!("`{w}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}
