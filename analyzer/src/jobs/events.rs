//! What a queue says of its jobs, in lines of its own or of the logs.

use regex::Regex;
use rollscope_records::{JobPlan, JobRecord, LogSource, Recording, RunOffset};
use serde_json::{Map, Value};

use crate::kube_time;
use crate::timeline::{PodIx, Timeline};

/// What happened to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// An instance has taken it.
    Reserved,
    /// Its work is out in the world.
    Done,
    /// An instance has given it back.
    Returned,
    /// It was taken from an instance that showed no sign of life.
    LeaseExpired,
    /// An attempt at it failed.
    Failed,
}

/// An event of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobEvent {
    pub(crate) at: RunOffset,
    pub(crate) what: What,
    /// The instance, as the event names it.
    pub(crate) who: Option<String>,
    /// The pod that it names.
    pub(crate) pod: Option<PodIx>,
}

impl What {
    /// The word in reports.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Done => "done",
            Self::Returned => "returned",
            Self::LeaseExpired => "lease_expired",
            Self::Failed => "failed",
        }
    }

    fn read(word: &str) -> Option<Self> {
        match word.to_lowercase().replace(['-', ' '], "_").as_str() {
            "reserved" | "started" | "leased" | "processing" | "active" => Some(Self::Reserved),
            "done" | "completed" | "finished" | "succeeded" => Some(Self::Done),
            "returned" | "released" | "requeued" => Some(Self::Returned),
            "lease_expired" | "expired" | "stalled" => Some(Self::LeaseExpired),
            "failed" | "error" => Some(Self::Failed),
            _ => None,
        }
    }
}

/// Every event with the key of its job, in the order of the source.
pub(super) fn of(
    recording: &Recording,
    plan: &JobPlan,
    timeline: &Timeline,
) -> Vec<(String, JobEvent)> {
    match &plan.log_pattern {
        Some(pattern) => in_logs(recording, pattern, timeline),
        None => in_queue(recording, timeline),
    }
}

fn in_queue(recording: &Recording, timeline: &Timeline) -> Vec<(String, JobEvent)> {
    let mut all = Vec::new();
    let mut read_before = None;
    for record in &recording.jobs {
        match record {
            JobRecord::Event { at, line } => {
                let since = read_before.unwrap_or(*at);
                let start = recording.run.wall_start_unix_nanos;
                all.extend(in_line(line, (since, *at), start, timeline));
            }
            JobRecord::Read { at } => read_before = Some(*at),
            JobRecord::Plan(_) | JobRecord::Unread { .. } => {}
        }
    }
    all
}

/// A line of the queue. It was appended between two readings; its own time, where it has one, says when.
fn in_line(
    line: &str,
    (since, at): (RunOffset, RunOffset),
    wall_start_nanos: i64,
    timeline: &Timeline,
) -> Option<(String, JobEvent)> {
    let Ok(fields) = serde_json::from_str::<Map<String, Value>>(line) else {
        return Some((
            line.trim().to_owned(),
            event(at, What::Done, None, timeline),
        ));
    };
    let key = fields.get("job")?.as_str()?.to_owned();
    let what = fields.get("event").and_then(Value::as_str);
    let what = what.map_or(Some(What::Done), What::read)?;
    let told = fields
        .get("t")
        .and_then(unix_nanos)
        .map(|nanos| RunOffset(nanos.saturating_sub(wall_start_nanos)).clamp(since.min(at), at));
    let who = fields.get("pod").and_then(Value::as_str);
    Some((key, event(told.unwrap_or(at), what, who, timeline)))
}

/// Epoch milliseconds, or RFC 3339.
fn unix_nanos(told: &Value) -> Option<i64> {
    match told {
        Value::String(text) => kube_time::parse(text).map(|t| t.unix_nanos),
        other => other.as_f64().map(|ms| (ms * 1e6) as i64),
    }
}

fn in_logs(recording: &Recording, pattern: &str, timeline: &Timeline) -> Vec<(String, JobEvent)> {
    let Ok(pattern) = Regex::new(pattern) else {
        return Vec::new();
    };
    let logs = recording.logs.iter();
    logs.filter_map(|log| {
        let found = pattern.captures(&log.line)?;
        let key = found.name("job")?.as_str().to_owned();
        let word = found.name("event").map(|w| w.as_str());
        let what = word.map_or(Some(What::Done), What::read)?;
        let who = match &log.source {
            LogSource::Container { pod, .. } => Some(pod.as_str()),
            LogSource::Exec { .. } => None,
        };
        Some((key, event(log.at, what, who, timeline)))
    })
    .collect()
}

fn event(at: RunOffset, what: What, who: Option<&str>, timeline: &Timeline) -> JobEvent {
    JobEvent {
        at,
        what,
        pod: who.and_then(|who| pod_named(who, timeline)),
        who: who.map(str::to_owned),
    }
}

/// The pod that an instance's name begins with: `web-1`, `web-1/17.3`, `web-1:17`.
fn pod_named(who: &str, timeline: &Timeline) -> Option<PodIx> {
    timeline.indices().find(|ix| {
        let rest = who.strip_prefix(timeline.pod(*ix).name.as_str());
        rest.is_some_and(|r| r.is_empty() || r.starts_with(['/', ':', '@', ' ']))
    })
}
