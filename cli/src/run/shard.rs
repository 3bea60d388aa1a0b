//! One generator of several: its share of the slots, and the timetable that all of them keep without talking.

use std::time::Duration;

use rollscope_collector::Progress;
use rollscope_loadgen::{LoadShare, Timetable};
use rollscope_records::{RunClock, RunOffset, Shard, Shards};
use rollscope_scenarios::{Scenario, StageKind, Target};
use time::OffsetDateTime;
use tokio::sync::watch;

use crate::args::RunArgs;
use crate::exit::Failure;

/// A start that is further ahead is a mistake of units.
const FURTHEST: time::Duration = time::Duration::DAY;

/// This generator among the others.
///
/// Generators do not talk to each other: they agree on the start, and on the end because every stage counts with all the
/// time that it may take. So generator 0 goes on with the load when its stages were over sooner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnShard {
    pub(super) index: u64,
    pub(super) of: u64,
    start: OffsetDateTime,
    /// From the start to the end of the load.
    length: Duration,
    /// Slots of all generators together.
    slots: u64,
}

impl OwnShard {
    /// What the command line asks for, if it does.
    pub(super) fn of(args: &RunArgs, scenario: &Scenario) -> Result<Option<Self>, Failure> {
        let (Some(shard), Some(start)) = (args.shard, args.start_at) else {
            return Ok(None);
        };
        if let Target::Sandbox(_) = scenario.target {
            return Err(Failure::usage(
                "--shard: a sandbox lives in one process, other generators cannot reach it; use target none with the URL of a service that all of them reach",
            ));
        }
        if shard.of > scenario.load.max_in_flight as u64 {
            return Err(Failure::usage(format!(
                "--shard: load.max_in_flight {} does not leave each of {} generators a request in flight; raise it, or use fewer generators",
                scenario.load.max_in_flight, shard.of
            )));
        }
        let length = scenario
            .stages
            .iter()
            .map(|s| longest(&s.kind, s.complete_within))
            .sum();
        let own = Self {
            index: shard.index,
            of: shard.of,
            start,
            length,
            slots: Timetable::new(&scenario.load).map_or(0, |s| s.due_by(length)),
        };
        own.check_start(OffsetDateTime::now_utc())
            .map_err(Failure::usage)?;
        Ok(Some(own))
    }

    fn check_start(&self, now: OffsetDateTime) -> Result<(), String> {
        let ahead = self.start - now;
        if ahead <= time::Duration::ZERO {
            return Err(format!(
                "--start-at is {:.1} s ago: this generator would begin late, and the slots before would be missing; start all generators again with a later time",
                -ahead.as_seconds_f64()
            ));
        }
        if ahead > FURTHEST {
            return Err(format!(
                "--start-at is {:.1} hours ahead, expected at most a day; numbers are seconds since the Unix epoch, not milliseconds",
                ahead.as_seconds_f64() / 3600.0
            ));
        }
        Ok(())
    }

    /// Whether this generator walks the stages and observes.
    pub(super) const fn drives(&self) -> bool {
        self.index == 0
    }

    /// The same for all generators of the run.
    pub(super) fn run_id(&self) -> String {
        format!("{:x}-of-{}", self.start.unix_timestamp_nanos(), self.of)
    }

    /// The folder of this generator's recording, in that of the run.
    pub(super) fn folder(&self) -> String {
        format!("generator-{}-of-{}", self.index, self.of)
    }

    /// When the run began.
    pub(super) const fn start(&self) -> OffsetDateTime {
        self.start
    }

    /// What the recording says of it.
    pub(super) fn facts(&self) -> Shards {
        Shards {
            of: self.of,
            start_unix_nanos: i64::try_from(self.start.unix_timestamp_nanos()).unwrap_or(i64::MAX),
            slots: self.slots,
            present: vec![Shard::new(self.index)],
        }
    }

    /// The start on the run's clock.
    fn starts(&self, clock: &RunClock) -> RunOffset {
        let start = self.facts().start_unix_nanos;
        RunOffset(start.saturating_sub(clock.wall_start_unix_nanos()))
    }

    /// The generator's share of the slots. An error when the start has passed.
    pub(super) fn share(&self, clock: &RunClock) -> Result<LoadShare, Failure> {
        let starts = self.starts(clock);
        let late = clock.now().nanos_since(starts);
        if late > 0 {
            return Err(Failure::environment(format!(
                "this generator was ready {:.1} s after --start-at: nothing was sent; start all generators again with a later time",
                late as f64 / 1e9
            )));
        }
        Ok(LoadShare {
            index: self.index,
            of: self.of,
            starts,
            slots: self.slots,
        })
    }

    /// Waits for the start.
    pub(super) async fn begun(&self, clock: &RunClock) {
        until(clock, self.starts(clock)).await;
    }

    /// Waits for the end of the timetable.
    pub(super) async fn over(&self, clock: &RunClock) {
        until(clock, self.starts(clock).plus(self.length)).await;
    }

    /// What a generator that only loads shows while it does.
    pub(super) fn show(&self, clock: &RunClock, progress: &watch::Sender<Progress>) {
        progress.send_modify(|p| {
            (p.stages, p.kind) = (1, "load");
            (p.walk_started, p.stage_started) = (self.starts(clock), self.starts(clock));
            (p.planned, p.stage_planned) = (self.length, self.length);
        });
    }
}

async fn until(clock: &RunClock, at: RunOffset) {
    tokio::time::sleep_until(clock.instant(at).into()).await;
}

/// The longest that a stage takes.
fn longest(kind: &StageKind, complete_within: Duration) -> Duration {
    match kind {
        StageKind::Warmup(length) | StageKind::Settle(length) => *length,
        _ => complete_within,
    }
}
