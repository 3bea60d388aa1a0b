//! The deletion of a pod: what the first object that carries `deletionTimestamp` says, and nothing later.

use rollscope_records::{Interval, RunOffset};

use crate::clocks::{API_SERVER, Clocks};
use crate::kube_time::{self, WrittenTime};
use crate::view::PodView;

const SECOND: i64 = 1_000_000_000;

/// A watch event about a deletion is received within this time, ns.
const SLOWEST_WATCH: i64 = SECOND;

/// A line may carry a time this much before the deletion was received and still be about it, ns: streams of
/// different kinds are not ordered against each other.
const STREAM_DISORDER: i64 = 300_000_000;

/// How a deletion came to be seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sighting {
    /// Receipt of the first object that has a `deletionTimestamp`.
    pub(crate) at: RunOffset,
    /// Receipt of the object before it, which had none; `None` where it was the first of its pod.
    pub(crate) before: Option<RunOffset>,
    /// The watch of pods was lost between the two.
    pub(crate) after_gap: bool,
}

/// A deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deletion {
    /// The first moment at which it is known of (T0): the receipt of the first object with a `deletionTimestamp`, or of
    /// what showed it before.
    pub(crate) seen: RunOffset,
    /// When it was requested: `deletionTimestamp - grace`, at most T0.
    pub(crate) requested: Interval,
    /// `deletionTimestamp - grace`, on the API server's clock; `None` where the object does not say it.
    pub(crate) written: Option<WrittenTime>,
    /// `deletionGracePeriodSeconds`.
    pub(crate) grace: i64,
    /// When SIGKILL is due: requested + grace.
    pub(crate) deadline: Interval,
    /// The watch was lost over it: only the times of other clocks bound it.
    pub(crate) hidden: bool,
}

impl Deletion {
    /// Lines from here on are of its end: a log may come this much before its watch event.
    pub(crate) const fn logged_from(&self) -> RunOffset {
        self.seen.plus_nanos(-STREAM_DISORDER)
    }

    /// Reads the first object that has a `deletionTimestamp`.
    pub(crate) fn first(pod: PodView<'_>, sighting: Sighting, clocks: &Clocks) -> Option<Self> {
        let text = pod.deletion_timestamp()?;
        let said = pod.deletion_grace();
        // Once its containers have ended the kubelet deletes the object with a grace of 0: that is not the request.
        let removal = said == Some(0) && pod.has_ended();
        let grace = said.filter(|_| !removal).or_else(|| pod.spec_grace());
        let grace = grace.unwrap_or(30);
        let written = kube_time::parse(text).filter(|_| !removal);
        let written = written.map(|w| w.plus_nanos(-grace * SECOND));
        let read = written.map(|w| clocks.to_run(API_SERVER, w));
        let requested = sighting.request(read, clocks.bounded(API_SERVER), removal);
        Some(Self {
            seen: requested.hi,
            requested,
            written,
            grace,
            deadline: requested.plus_nanos(grace * SECOND),
            hidden: sighting.after_gap || removal,
        })
    }

    /// Takes account of something else that shows it, received at `at`.
    pub(crate) fn shown(&mut self, at: RunOffset) {
        if self.requested.lo <= at && at < self.seen {
            self.seen = at;
            self.requested.hi = self.requested.hi.min(at);
            self.deadline = self.requested.plus_nanos(self.grace * SECOND);
        }
    }
}

impl Sighting {
    /// When it was requested. `written`: what the object says, on a clock that is `known` or only thought to be right.
    fn request(self, written: Option<Interval>, known: bool, removal: bool) -> Interval {
        let far = RunOffset(i64::MIN / 4);
        let earliest = self
            .before
            .map_or(far, |b| b.plus_nanos(-SLOWEST_WATCH).min(self.at));
        let possible = Interval::new(earliest, self.at);
        if removal {
            return self.before.map_or(Interval::at(self.at), |_| possible);
        }
        let prompt = Interval::new(earliest.max(self.at.plus_nanos(-SLOWEST_WATCH)), self.at);
        let within = |bounds: Interval| written.and_then(|w| w.intersect(bounds));
        let soon = if self.after_gap { None } else { within(prompt) };
        let otherwise = if self.after_gap {
            possible
        } else {
            Interval::at(self.at)
        };
        soon.or_else(|| within(possible).filter(|_| known || self.before.is_none()))
            .unwrap_or(otherwise)
    }
}
