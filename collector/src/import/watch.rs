//! `*.watch`: `<receive time, ns> <watch event>`, one a line.

use std::path::Path;

use rollscope_records::{ObjectKind, WatchType, redact};
use serde_json::Value;

use super::{ImportError, files};

/// A watch event with the time at which it was received, ns since the epoch.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) nanos: i64,
    pub(super) kind: ObjectKind,
    pub(super) event: WatchType,
    pub(super) object: Value,
}

/// The streams of a folder.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// All events, in order of their receive time.
    pub(super) events: Vec<Received>,
    /// Kinds without a file.
    pub(super) absent: Vec<ObjectKind>,
}

/// The file that holds a kind.
pub(super) const fn file(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Pod => "pods.watch",
        ObjectKind::ReplicaSet => "replicasets.watch",
        ObjectKind::Deployment => "deployments.watch",
        ObjectKind::EndpointSlice => "endpointslices.watch",
        ObjectKind::Event => "events.watch",
        ObjectKind::Node => "node.watch",
    }
}

pub(super) fn read(dir: &Path, warnings: &mut Vec<String>) -> Result<Streams, ImportError> {
    let mut streams = Streams::default();
    for kind in ObjectKind::ALL {
        let Some((path, text)) = files::read(dir, file(kind))? else {
            streams.absent.push(kind);
            continue;
        };
        let expected = "`<receive time, ns> {\"type\": ..., \"object\": ...}`";
        let events = files::lines(&path, &text, expected, warnings, |line| parse(line, kind))?;
        streams.events.extend(events.into_iter().flatten());
    }
    streams.events.sort_by_key(|e| e.nanos);
    Ok(streams)
}

/// `None` for a bookmark.
fn parse(line: &str, kind: ObjectKind) -> Result<Option<Received>, String> {
    let (nanos, json) = files::stamped(line)?;
    let mut whole: Value = serde_json::from_str(json).map_err(|e| e.to_string())?;
    let event = match whole["type"].as_str() {
        Some("ADDED") => WatchType::Added,
        Some("MODIFIED") => WatchType::Modified,
        Some("DELETED") => WatchType::Deleted,
        Some("BOOKMARK") => return Ok(None),
        other => return Err(format!("unknown type of watch event {other:?}")),
    };
    let mut object = whole["object"].take();
    if !object.is_object() {
        return Err("a watch event without an object".to_owned());
    }
    redact::object(&mut object);
    Ok(Some(Received {
        nanos,
        kind,
        event,
        object,
    }))
}
