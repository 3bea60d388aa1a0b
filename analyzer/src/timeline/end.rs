//! The end of a container.

use rollscope_records::{Interval, RunOffset};

use crate::clocks::Clocks;
use crate::kube_time::{self, WrittenTime};
use crate::view::TerminatedView;

const MS: i64 = 1_000_000;

/// A terminated state reaches the watch within this time of the exit, ns: 0.13-0.37 s on an unhurried node, 0.65 s on a
/// busy one.
const STATUS_WITHIN: i64 = 1000 * MS;

/// A deletion takes effect this much before its watch event arrives, ns.
const BEFORE_SEEN: i64 = 150 * MS;

/// What it usually takes, ns: for a point estimate.
const STATUS_USUALLY: i64 = 200 * MS;

/// A container ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContainerEnd {
    pub(crate) container: String,
    pub(crate) code: i64,
    pub(crate) reason: String,
    /// When: from `finishedAt` (one second) and from the receipt.
    pub(crate) at: Interval,
    /// `finishedAt`, on the node's clock.
    pub(crate) written: Option<WrittenTime>,
    /// Receipt of the first object that says so.
    pub(crate) seen: RunOffset,
    /// When the same container was seen running again.
    pub(crate) running_again: Option<RunOffset>,
    /// When the requests say that it was: a connection of the pod died then.
    pub(crate) witness: Option<RunOffset>,
    /// What makes it this end and no other.
    pub(crate) key: (String, String),
}

impl ContainerEnd {
    pub(crate) fn read(
        container: &str,
        t: TerminatedView<'_>,
        seen: RunOffset,
        clock: &str,
        clocks: &Clocks,
    ) -> Self {
        let written = t.finished_at.and_then(kube_time::parse);
        let read = written.map(|w| clocks.to_run(clock, w));
        Self {
            container: container.to_owned(),
            code: t.exit_code,
            reason: t.reason.to_owned(),
            at: interval(read, seen),
            written,
            seen,
            running_again: None,
            witness: None,
            key: (
                container.to_owned(),
                t.container_id
                    .or(t.started_at)
                    .or(t.finished_at)
                    .unwrap_or("")
                    .to_owned(),
            ),
        }
    }

    /// An end that is told of after the deletion was not before it.
    pub(crate) fn not_before_deletion(&mut self, deletion_seen: RunOffset) {
        let leaving = deletion_seen.plus_nanos(-BEFORE_SEEN);
        if self.seen > deletion_seen && self.at.contains(leaving) {
            self.at.lo = leaving;
        }
    }

    /// The likeliest moment, for numbers that need one.
    pub(crate) fn point(&self) -> RunOffset {
        self.witness
            .unwrap_or(self.seen.plus_nanos(-STATUS_USUALLY))
            .clamp(self.at.lo, self.at.hi)
    }

    /// Whether `t` can be a consequence of this end: a connection dies with it, give or take the network.
    pub(crate) fn explains_cut_at(&self, t: RunOffset) -> bool {
        // On a busy host a client hears of it late, but hardly later than the API server does.
        let late = self.seen.min(self.at.hi.plus_nanos(500 * MS));
        self.at.lo.plus_nanos(-100 * MS) <= t && t <= self.at.hi.plus_nanos(150 * MS).max(late)
    }

    /// It was told of so late that only its node's clock tells when it was.
    pub(crate) fn told_late(&self) -> bool {
        self.at.hi < self.seen.plus_nanos(-STATUS_WITHIN)
    }

    pub(crate) fn oom(&self) -> bool {
        self.reason == "OOMKilled"
    }

    /// In words: `exit code 137 (Error)`.
    pub(crate) fn words(&self) -> String {
        if self.reason.is_empty() {
            format!("exit code {}", self.code)
        } else {
            format!("exit code {} ({})", self.code, self.reason)
        }
    }
}

fn interval(written: Option<Interval>, seen: RunOffset) -> Interval {
    let recent = Interval::new(seen.plus_nanos(-STATUS_WITHIN), seen);
    match written {
        Some(w) => w.intersect(recent).unwrap_or_else(|| {
            w.intersect(Interval::new(RunOffset(i64::MIN / 4), seen))
                .unwrap_or(w)
        }),
        None => recent,
    }
}
