//! Formats of the user's own: a regular expression with named groups, or JSON with pointers to the values.

use std::borrow::Cow;

use regex::Regex;
use serde_json::Value;

use crate::captures::{Captures, Field};
use crate::entry::{Emitter, Entry, Try, TryEnd};
use crate::error::{FormatError, LineError};
use crate::{json, times, values};

/// A regular expression whose named groups are fields.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    regex: Regex,
    /// The group of each field.
    groups: Vec<(usize, Field)>,
}

impl Pattern {
    pub(crate) fn new(pattern: &str) -> Result<Self, FormatError> {
        let regex = Regex::new(pattern).map_err(|e| FormatError::Pattern(e.to_string()))?;
        let mut groups = Vec::new();
        for (index, name) in regex.capture_names().enumerate() {
            if let Some(name) = name {
                let field =
                    Field::named(name).ok_or_else(|| FormatError::Field(name.to_owned()))?;
                groups.push((index, field));
            }
        }
        needed(groups.iter().map(|(_, field)| *field))?;
        Ok(Self { regex, groups })
    }

    pub(crate) fn entry<'a>(&self, line: &'a str, zone: i32) -> Result<Entry<'a>, LineError> {
        let matched = self.regex.captures(line).ok_or(LineError::NoMatch)?;
        let mut found = Captures::new();
        for (index, field) in &self.groups {
            if let Some(value) = matched.get(*index) {
                found.set(*field, value.as_str());
            }
        }
        entry(&found, zone)
    }
}

/// Where in a JSON line the fields are.
#[derive(Debug, Clone)]
pub(crate) struct Mapping(Vec<(Field, String)>);

impl Mapping {
    /// Reads `{"status": "/response/status", ...}`: JSON pointers, or keys of the line's object.
    pub(crate) fn new(text: &str) -> Result<Self, FormatError> {
        let mapping: serde_json::Map<String, Value> =
            serde_json::from_str(text).map_err(|e| FormatError::Mapping(e.to_string()))?;
        let mut fields = Vec::new();
        for (name, place) in mapping {
            let field = Field::named(&name).ok_or_else(|| FormatError::Field(name.clone()))?;
            let Value::String(place) = place else {
                return Err(FormatError::Mapping(format!(
                    "the value of {name:?} is no text"
                )));
            };
            let pointer = match place.starts_with('/') {
                true => place,
                false => format!("/{}", place.replace('~', "~0").replace('/', "~1")),
            };
            fields.push((field, pointer));
        }
        needed(fields.iter().map(|(field, _)| *field))?;
        Ok(Self(fields))
    }

    pub(crate) fn entry(&self, line: &str, zone: i32) -> Result<Entry<'static>, LineError> {
        let object = Value::Object(json::object(line)?);
        let of = |(field, at): &(Field, String)| Some((*field, json::text(object.pointer(at)?)?));
        let texts: Vec<(Field, String)> = self.0.iter().filter_map(of).collect();
        json::with(&texts, |found| entry(found, zone))
    }
}

/// Time and status must be there.
fn needed(fields: impl Iterator<Item = Field>) -> Result<(), FormatError> {
    let (mut time, mut status) = (false, false);
    for field in fields {
        time |= matches!(field, Field::Time | Field::StartTime);
        status |= field == Field::Status;
    }
    match (time, status) {
        (false, _) => Err(FormatError::Lacks("time")),
        (_, false) => Err(FormatError::Lacks("status")),
        _ => Ok(()),
    }
}

fn entry<'a>(found: &Captures<'a>, zone_seconds: i32) -> Result<Entry<'a>, LineError> {
    let mut entry = values::entry(found, zone_seconds)?;
    let column = |field| found.get(field).into_iter().flat_map(values::list);
    let mut statuses = column(Field::UpstreamStatus);
    let mut times = column(Field::UpstreamSeconds);
    let told = found.raw(Field::UpstreamStatus).is_some();
    entry.tries = column(Field::Upstream)
        .map(|upstream| {
            let status = statuses
                .next()
                .and_then(|s| values::status(s).ok().flatten());
            Try {
                upstream: Cow::Borrowed(upstream),
                status,
                time_nanos: times.next().and_then(times::seconds),
                end: match status {
                    None if told => TryEnd::Failed,
                    _ => TryEnd::Answered,
                },
            }
        })
        .collect();
    let names_upstreams = found.raw(Field::Upstream).is_some();
    entry.emitter = match entry.status {
        Some(499 | 460) | None => Emitter::ClientGone,
        _ if !names_upstreams && !told => Emitter::Unknown,
        status if told => {
            let last = column(Field::UpstreamStatus).last();
            let last = last.and_then(|s| values::status(s).ok().flatten());
            if last == status {
                Emitter::Upstream
            } else {
                Emitter::Balancer
            }
        }
        _ if entry.tries.is_empty() => Emitter::Balancer,
        _ => Emitter::Unknown,
    };
    Ok(entry)
}
