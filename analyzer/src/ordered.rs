//! The records in one order that does not depend on how equal times were written.

use std::borrow::Cow;

use rollscope_records::{
    LogRecord, ObjectKind, Recording, Requests, RunOffset, StageEvent, StageRecord, WatchRecord,
    WatchType,
};
use serde_json::Value;

use crate::view::str_at;

/// A watch event, borrowed.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) at: RunOffset,
    pub(crate) kind: ObjectKind,
    pub(crate) event: WatchType,
    pub(crate) object: &'a Value,
}

/// A recording's records in a canonical order.
pub(crate) struct Ordered<'a> {
    /// In the order of the schedule.
    pub(crate) requests: Cow<'a, Requests>,
    pub(crate) watch: Vec<Seen<'a>>,
    pub(crate) logs: Vec<&'a LogRecord>,
    pub(crate) stages: Vec<&'a StageRecord>,
}

impl<'a> Ordered<'a> {
    pub(crate) fn of(recording: &'a Recording) -> Self {
        let mut watch: Vec<_> = recording.watch.iter().filter_map(event).collect();
        watch.sort_by(by_time_and_version);
        let mut logs: Vec<_> = recording.logs.iter().collect();
        logs.sort_by(|a, b| {
            (a.at, &a.timestamp, &a.source, &a.line).cmp(&(b.at, &b.timestamp, &b.source, &b.line))
        });
        let mut stages: Vec<_> = recording.stages.iter().collect();
        stages.sort_by(|a, b| {
            let rank = |s: &StageRecord| (s.at, s.stage, stage_rank(&s.event));
            rank(a).cmp(&rank(b)).then_with(|| a.detail.cmp(&b.detail))
        });
        Self {
            requests: recording.requests.in_order(),
            watch,
            logs,
            stages,
        }
    }
}

fn stage_rank(event: &StageEvent) -> u8 {
    match event {
        StageEvent::Started => 0,
        StageEvent::Mark => 1,
        StageEvent::Completed => 2,
        StageEvent::Failed => 3,
    }
}

fn event(record: &WatchRecord) -> Option<Seen<'_>> {
    match record {
        WatchRecord::Event {
            at,
            kind,
            event,
            object,
        } => Some(Seen {
            at: *at,
            kind: *kind,
            event: *event,
            object,
        }),
        WatchRecord::Gap(_) => None,
    }
}

fn by_time_and_version(a: &Seen<'_>, b: &Seen<'_>) -> std::cmp::Ordering {
    let version = |s: &Seen<'_>| {
        str_at(s.object, &["metadata", "resourceVersion"])
            .and_then(|v| v.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let rank = |s: &Seen<'_>| match s.event {
        WatchType::Added => 0,
        WatchType::Modified => 1,
        WatchType::Deleted => 2,
    };
    (a.at, a.kind)
        .cmp(&(b.at, b.kind))
        .then_with(|| version(a).cmp(&version(b)))
        .then_with(|| rank(a).cmp(&rank(b)))
        .then_with(|| a.object.to_string().cmp(&b.object.to_string()))
}
