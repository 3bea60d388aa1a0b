//! One recording from the recordings of one run: of several load generators, of several observers, or of parts of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    BalancerLog, BalancerRecord, Connections, EndKind, GeneratorRecord, Lateness, LogSource,
    Recording, RunEnd, RunRecord, WatchRecord, WatchType, shards,
};

/// Recordings that cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is none.
    #[error("there is no recording to merge")]
    Nothing,
    /// They are of different runs.
    #[error("recordings of two runs cannot be merged: {0:?} and {1:?}; give the parts of one run")]
    DifferentRuns(String, String),
    /// Only some of them are of generators that share a load.
    #[error(
        "only some of the recordings are of generators that share a load (--shard); give those of one run alone"
    )]
    NotAllShards,
    /// Two generators did not share one load.
    #[error(
        "generators {0} and {1} did not share one load: scenario, start or number of generators differ; start all of them with the same ones"
    )]
    DifferentLoads(u64, u64),
    /// One generator twice.
    #[error("there are two recordings of generator {0}; give one of each")]
    ShardTwice(u64),
}

impl Recording {
    /// Merges recordings of one run (with one run id).
    ///
    /// Each keeps its own wall clock at its start: what differs there moves a part's times, so parts of different hosts
    /// agree as well as the wall clocks of their hosts do. Parts whose requests or connections have the same numbers are
    /// of different generators: their rates add up, and their requests, connections and generator records are counted
    /// as those of one generator. What several observers saw is kept once, with its first receipt: a watch event by its
    /// object and version, a log line by its container, time and text.
    ///
    /// Generators that shared one load (`run.shards`) keep the numbers of their slots. Their times are moved further where
    /// a clock that two of them saw proves a wall clock wrong, and how far they can still be off is kept with them.
    ///
    /// # Errors
    ///
    /// [`MergeError::Nothing`] without a part, [`MergeError::DifferentRuns`] when the run ids differ, and the others when
    /// the parts are not of different generators of one load.
    pub fn merge(parts: Vec<Self>) -> Result<Self, MergeError> {
        let mut parts = on_one_clock(parts)?;
        let of_one_load = shards::in_order(&mut parts)?;
        if of_one_load {
            shards::align(&mut parts);
        }
        let sharded = several_generators(&parts);
        if sharded {
            parts.iter_mut().fold(0, renumber_connections);
        }
        let mut parts = parts.into_iter();
        let mut merged = parts.next().ok_or(MergeError::Nothing)?;
        for part in parts {
            merged.run = run_of(merged.run, part.run, sharded);
            merged.generator = match (merged.generator, part.generator) {
                (Some(a), Some(b)) if sharded => Some(together(a, b)),
                (a, b) => a.or(b),
            };
            for r in &part.requests {
                merged.requests.push(r);
            }
            add_connections(&mut merged.connections, &part.connections);
            extend_new(&mut merged.streams, part.streams);
            extend_new(&mut merged.jobs, part.jobs);
            merged.watch.extend(part.watch);
            merged.logs.extend(part.logs);
            add_balancers(&mut merged.balancers, part.balancers);
            extend_new(&mut merged.stages, part.stages);
            extend_new(&mut merged.clocks, part.clocks);
            extend_new(&mut merged.losses, part.losses);
        }
        merged.sort();
        if of_one_load && let Some(generator) = &mut merged.generator {
            shards::measure(generator, &merged.requests);
        }
        if sharded && !of_one_load {
            let mut seq = 0..;
            merged
                .requests
                .edit_each(|r| r.seq = seq.next().unwrap_or_default());
        }
        merged.drop_what_was_seen_twice();
        Ok(merged)
    }

    /// Of events and lines with one identity the first receipt is kept; the lists are in order of time.
    fn drop_what_was_seen_twice(&mut self) {
        let mut seen = BTreeSet::new();
        let mut gaps = Vec::new();
        self.watch.retain(|w| match w {
            WatchRecord::Event {
                kind,
                event,
                object,
                ..
            } => version(*kind, *event, object).is_none_or(|id| seen.insert(id)),
            WatchRecord::Gap(gap) => {
                let new = !gaps.contains(gap);
                gaps.push(gap.clone());
                new
            }
        });
        let mut said: BTreeSet<(LogSource, String, String)> = BTreeSet::new();
        self.logs.retain(|l| match &l.timestamp {
            Some(t) => said.insert((l.source.clone(), t.clone(), l.line.clone())),
            None => true,
        });
    }
}

/// Moves every part's times to the earliest start, in order of the starts.
fn on_one_clock(mut parts: Vec<Recording>) -> Result<Vec<Recording>, MergeError> {
    parts.sort_by_key(|p| p.run.wall_start_unix_nanos);
    let first = parts.first().ok_or(MergeError::Nothing)?;
    let (id, start) = (first.run.run_id.clone(), first.run.wall_start_unix_nanos);
    for part in &mut parts {
        if part.run.run_id != id {
            return Err(MergeError::DifferentRuns(id, part.run.run_id.clone()));
        }
        let later = part.run.wall_start_unix_nanos.saturating_sub(start);
        if later > 0 {
            part.map_times(|t| t.plus_nanos(later));
            part.run.wall_start_unix_nanos = start;
        }
    }
    Ok(parts)
}

/// Whether two parts give one number to different requests or connections.
fn several_generators(parts: &[Recording]) -> bool {
    let mut seqs = BTreeSet::new();
    let mut connections = BTreeMap::new();
    let mut requests = parts.iter().flat_map(|p| p.requests.iter());
    let mut known = parts.iter().flat_map(|p| p.connections.iter());
    requests.any(|r| !seqs.insert(r.seq))
        || known.any(|c| *connections.entry(c.id).or_insert(c) != c)
}

/// Gives the connections of a part numbers from `next` on, and returns the first free number after them.
fn renumber_connections(next: u64, part: &mut Recording) -> u64 {
    let mut numbers: BTreeMap<u64, u64> = BTreeMap::new();
    let mut free = next;
    let mut number = |id: u64| {
        *numbers.entry(id).or_insert_with(|| {
            free += 1;
            free - 1
        })
    };
    part.connections.edit_each(|c| c.id = number(c.id));
    part.requests
        .edit_each(|r| r.connection = r.connection.map(&mut number));
    free
}

/// What makes a watch event itself, whoever saw it; `None` where the object has no version.
fn version(
    kind: crate::ObjectKind,
    event: WatchType,
    object: &Value,
) -> Option<(crate::ObjectKind, WatchType, String, String, String)> {
    let meta = &object["metadata"];
    let text = |field: &str| meta[field].as_str().map(str::to_owned);
    Some((
        kind,
        event,
        text("namespace").unwrap_or_default(),
        text("name")?,
        text("resourceVersion")?,
    ))
}

/// Adds those whose number is new; parts of one generator may both know a connection.
fn add_connections(all: &mut Connections, more: &Connections) {
    let known: BTreeSet<u64> = all.iter().map(|c| c.id).collect();
    for c in more.iter().filter(|c| !known.contains(&c.id)) {
        all.push(c);
    }
}

/// Adds the logs of another observer under numbers of their own.
fn add_balancers(all: &mut Vec<BalancerRecord>, more: Vec<BalancerRecord>) {
    let next = all.iter().map(|r| number(r).saturating_add(1)).max();
    let next = next.unwrap_or(0);
    all.extend(more.into_iter().map(|mut record| {
        let (BalancerRecord::Log(BalancerLog { log, .. }) | BalancerRecord::Line { log, .. }) =
            &mut record;
        *log = log.saturating_add(next);
        record
    }));
}

const fn number(record: &BalancerRecord) -> u32 {
    match record {
        BalancerRecord::Log(begun) => begun.log,
        BalancerRecord::Line { log, .. } => *log,
    }
}

fn extend_new<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
    let known = all.len();
    for item in more {
        if !all[..known].contains(&item) {
            all.push(item);
        }
    }
}

fn run_of(mut a: RunRecord, b: RunRecord, sharded: bool) -> RunRecord {
    if sharded && a.shards.is_none() {
        a.rate_per_second += b.rate_per_second;
    }
    a.shards = shards::together(a.shards, b.shards);
    extend_new(&mut a.warnings, b.warnings);
    extend_new(&mut a.requests, b.requests);
    a.log_marks.extend(b.log_marks);
    a.end = match (a.end, b.end) {
        (Some(a), Some(b)) => Some(worse(a, b)),
        // A part without an end was killed, and so was the run.
        _ => None,
    };
    a
}

/// How the run ended: as the part that ended worst, at the latest time.
fn worse(a: RunEnd, b: RunEnd) -> RunEnd {
    let rank = |end: &RunEnd| match end.how {
        EndKind::Completed => 0,
        EndKind::StageFailed => 1,
        EndKind::EnvironmentFailed => 2,
        EndKind::Interrupted => 3,
    };
    let at = a.at.max(b.at);
    let worst = if rank(&b) > rank(&a) { b } else { a };
    RunEnd { at, ..worst }
}

/// Two generators as one: counts add up, of lateness the worse counts.
fn together(a: GeneratorRecord, b: GeneratorRecord) -> GeneratorRecord {
    GeneratorRecord {
        planned: a.planned.saturating_add(b.planned),
        sent: a.sent.saturating_add(b.sent),
        dropped: a.dropped.saturating_add(b.dropped),
        lost_records: a.lost_records.saturating_add(b.lost_records),
        lateness_us: Lateness {
            p50: a.lateness_us.p50.max(b.lateness_us.p50),
            p99: a.lateness_us.p99.max(b.lateness_us.p99),
            p999: a.lateness_us.p999.max(b.lateness_us.p999),
            max: a.lateness_us.max.max(b.lateness_us.max),
        },
        cpu_us: a.cpu_us.saturating_add(b.cpu_us),
        idle_closes: a.idle_closes.saturating_add(b.idle_closes),
        max_in_flight: a.max_in_flight.saturating_add(b.max_in_flight),
        from: a.from.min(b.from),
        to: a.to.max(b.to),
        tolerance_us: a.tolerance_us.max(b.tolerance_us),
        threads: a.threads.saturating_add(b.threads),
        journeys: a.journeys.or(b.journeys),
    }
}
