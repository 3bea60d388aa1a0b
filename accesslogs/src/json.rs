//! JSON lines.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::captures::{Captures, Field};
use crate::entry::{Entry, Try};
use crate::error::LineError;

/// The object on a line.
pub(crate) fn object(line: &str) -> Result<Map<String, Value>, LineError> {
    serde_json::from_str(line).map_err(|e| LineError::Json(e.to_string()))
}

/// A value as text; null, lists and objects have none.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Reads an entry from values that belong to nobody else.
pub(crate) fn with(
    texts: &[(Field, String)],
    read: impl for<'a> FnOnce(&Captures<'a>) -> Result<Entry<'a>, LineError>,
) -> Result<Entry<'static>, LineError> {
    let mut found = Captures::new();
    for (field, text) in texts {
        found.set(*field, text);
    }
    read(&found).map(owned)
}

fn owned(entry: Entry<'_>) -> Entry<'static> {
    let own = |text: Option<Cow<'_, str>>| text.map(|t| Cow::Owned(t.into_owned()));
    let tries = entry.tries.into_iter().map(|t| Try {
        upstream: Cow::Owned(t.upstream.into_owned()),
        status: t.status,
        time_nanos: t.time_nanos,
        end: t.end,
    });
    Entry {
        stamp: entry.stamp,
        duration_nanos: entry.duration_nanos,
        client: own(entry.client),
        request_id: own(entry.request_id),
        method: own(entry.method),
        path: own(entry.path),
        status: entry.status,
        emitter: entry.emitter,
        tries: tries.collect(),
        unnamed_tries: entry.unnamed_tries,
        truncated: entry.truncated,
        reason: own(entry.reason),
    }
}
