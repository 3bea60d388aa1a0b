//! Noise for recordings: what a busy network, wrong clocks and lossy watches do to one. Everything is drawn from a seed.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rollscope_records::{Gap, LogSource, ObjectKind, Recording, RunOffset, WatchRecord};
use serde_json::Value;
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

const SECOND: i64 = 1_000_000_000;

/// Whose clock is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The API server's and the controllers'.
    ApiServer,
    /// The nodes': kubelet and container runtime.
    Nodes,
    /// The generator's own wall clock.
    Generator,
}

/// Moves each receipt of a watch event or a log line by a length drawn from `range_ms`. What came over one stream stays
/// in its order.
pub fn jitter(recording: &mut Recording, range_ms: std::ops::Range<i64>, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut moved = |at: RunOffset, last: &mut RunOffset| {
        let to = at.plus_nanos(rng.random_range(range_ms.clone()) * 1_000_000);
        *last = to.max(*last);
        *last
    };
    let mut last: BTreeMap<ObjectKind, RunOffset> = BTreeMap::new();
    for w in &mut recording.watch {
        if let WatchRecord::Event { at, kind, .. } = w {
            *at = moved(*at, last.entry(*kind).or_insert(RunOffset(i64::MIN)));
        }
    }
    let mut last: BTreeMap<LogSource, RunOffset> = BTreeMap::new();
    for l in &mut recording.logs {
        let last = last.entry(l.source.clone()).or_insert(RunOffset(i64::MIN));
        l.at = moved(l.at, last);
    }
    in_order(recording);
}

/// Sets a clock ahead by `nanos` (back where negative).
pub fn shift_clock(recording: &mut Recording, clock: Clock, nanos: i64) {
    if clock == Clock::Generator {
        recording.run.wall_start_unix_nanos += nanos;
        return;
    }
    for w in &mut recording.watch {
        if let WatchRecord::Event { object, kind, .. } = w {
            shift_object(object, *kind, clock, nanos);
        }
    }
    if clock == Clock::Nodes {
        let stamps = recording
            .logs
            .iter_mut()
            .filter_map(|l| l.timestamp.as_mut());
        stamps.for_each(|t| *t = shifted(t, nanos).unwrap_or_default());
    }
    for sample in &mut recording.clocks {
        if sample.clock.starts_with("node") == (clock == Clock::Nodes) {
            sample.reading_unix_nanos += nanos;
        }
    }
}

/// Leaves out a share of the watch events that come after the first lists.
pub fn drop_events(recording: &mut Recording, share: f64, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let listed = received(&recording.watch)
        .min()
        .unwrap_or_default()
        .plus_nanos(SECOND);
    recording.watch.retain(|w| match w {
        WatchRecord::Event { at, .. } => *at <= listed || !rng.random_bool(share),
        WatchRecord::Gap(_) => true,
    });
}

/// Loses what a watch would have shown in a gap, records the gap, and then shows the objects as a new list does.
pub fn lose_watch(recording: &mut Recording, gap: Gap) {
    let to = gap.to.unwrap_or(RunOffset(i64::MAX));
    let mut last: BTreeMap<String, WatchRecord> = BTreeMap::new();
    recording.watch.retain(|w| match w {
        WatchRecord::Event {
            at, kind, object, ..
        } if gap.source == format!("watch/{}", kind.as_str()) && gap.from <= *at && *at < to => {
            last.insert(object["metadata"]["name"].to_string(), w.clone());
            false
        }
        _ => true,
    });
    let listed = last.into_values().filter(|_| gap.to.is_some());
    let listed = listed.map(|mut w| {
        if let WatchRecord::Event { at, .. } = &mut w {
            *at = to;
        }
        w
    });
    recording.watch.extend(listed);
    recording.watch.push(WatchRecord::Gap(gap));
    in_order(recording);
}

/// A gap of the watch of `kind`, from `from` for `nanos`.
pub fn gap_of(kind: ObjectKind, from: RunOffset, nanos: i64) -> Gap {
    Gap {
        source: format!("watch/{}", kind.as_str()),
        from,
        to: Some(from.plus_nanos(nanos)),
        reason: "410 Gone".to_owned(),
    }
}

/// Leaves out a share of the requests.
pub fn drop_requests(recording: &mut Recording, share: f64, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let requests = recording.requests.iter();
    let dropped: BTreeSet<u64> = requests
        .map(|r| r.seq)
        .filter(|_| rng.random_bool(share))
        .collect();
    recording.requests.retain(|r| !dropped.contains(&r.seq));
}

/// A moment between the beginning of the rollout and the last thing that the watch showed.
pub fn moment(recording: &Recording, seed: u64) -> RunOffset {
    let mut rng = StdRng::seed_from_u64(seed);
    let deleted = recording.watch.iter().filter_map(|w| match w {
        WatchRecord::Event { at, object, .. } => object["metadata"]["deletionTimestamp"]
            .is_string()
            .then_some(*at),
        WatchRecord::Gap(_) => None,
    });
    let deleted: Vec<RunOffset> = deleted.collect();
    let first = deleted.first().copied().unwrap_or_default().0 - 2 * SECOND;
    let last = deleted.last().copied().unwrap_or_default().0;
    RunOffset(rng.random_range(first..=last.max(first)))
}

fn received(watch: &[WatchRecord]) -> impl Iterator<Item = RunOffset> {
    watch.iter().filter_map(|w| match w {
        WatchRecord::Event { at, .. } => Some(*at),
        WatchRecord::Gap(_) => None,
    })
}

fn in_order(recording: &mut Recording) {
    recording.watch.sort_by_key(|w| match w {
        WatchRecord::Event { at, .. } => *at,
        WatchRecord::Gap(gap) => gap.from,
    });
    recording.logs.sort_by_key(|l| l.at);
}

/// Moves the times in an object that `clock` wrote: in a Pod's status the kubelet's, in an Event its reporter's.
fn shift_object(object: &mut Value, kind: ObjectKind, clock: Clock, nanos: i64) {
    let of_pod_status = |path: &str| kind == ObjectKind::Pod && path.starts_with("/status");
    let reporter = object["source"]["component"]
        .as_str()
        .or(object["reportingComponent"].as_str());
    let by_kubelet = kind == ObjectKind::Event && reporter == Some("kubelet");
    walk(object, "", &mut |path, text| {
        let created = path == "/metadata/creationTimestamp";
        let node = of_pod_status(path) || by_kubelet && !created;
        if node == (clock == Clock::Nodes)
            && let Some(moved) = shifted(text, nanos)
        {
            *text = moved;
        }
    });
}

fn walk(value: &mut Value, path: &str, change: &mut impl FnMut(&str, &mut String)) {
    match value {
        Value::String(text) => change(path, text),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, path, change)),
        Value::Object(fields) => {
            for (key, field) in fields {
                walk(field, &format!("{path}/{key}"), change);
            }
        }
        _ => {}
    }
}

/// An RFC 3339 text, moved, with as many digits as it had; `None` where it is none.
fn shifted(text: &str, nanos: i64) -> Option<String> {
    let whole = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    let digits = text
        .split_once('.')
        .map_or(0, |(_, f)| f.trim_end_matches('Z').len());
    let unit = 10_i64.pow(9 - u32::try_from(digits.min(9)).ok()?);
    let nanos = nanos.div_euclid(unit) * unit;
    (whole + Duration::nanoseconds(nanos)).format(&Rfc3339).ok()
}
