//! Small typed views of Kubernetes objects. They read what an analysis needs and take every other shape as absent:
//! an object is data from outside and may be anything.

mod endpoint_slice;
mod event;
mod pod;

pub(crate) use endpoint_slice::SliceView;
pub(crate) use event::EventView;
pub(crate) use pod::{ContainerState, PodView, PreStop, Probe, TerminatedView};

use serde_json::Value;

/// The string at `path`.
pub(crate) fn str_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(value, path)?.as_str()
}

/// The integer at `path`.
pub(crate) fn int_at(value: &Value, path: &[&str]) -> Option<i64> {
    at(value, path)?.as_i64()
}

/// The elements of the list at `path`; none when there is no list.
pub(crate) fn list_at<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The value at `path`, `None` for an absent one and for `null`.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let mut here = value;
    for key in path {
        here = here.get(key)?;
    }
    (!here.is_null()).then_some(here)
}
