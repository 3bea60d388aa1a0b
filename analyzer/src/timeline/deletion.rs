//! The deletion of a pod: what the first object that carries `deletionTimestamp` says, and nothing later.

use rollscope_records::{Interval, RunOffset};

use crate::clocks::{API_SERVER, Clocks};
use crate::view::PodView;

const SECOND: i64 = 1_000_000_000;

/// A watch event about a deletion is received within this time, ns.
const SLOWEST_WATCH: i64 = SECOND;

/// A deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deletion {
    /// Receipt of the first object with a `deletionTimestamp` (T0).
    pub(crate) seen: RunOffset,
    /// When it was requested: `deletionTimestamp - grace`, at most T0.
    pub(crate) requested: Interval,
    /// `deletionGracePeriodSeconds`.
    pub(crate) grace: i64,
    /// When SIGKILL is due: requested + grace.
    pub(crate) deadline: Interval,
}

impl Deletion {
    /// Reads the first object that has a `deletionTimestamp`, received at `seen`. `live`: its pod was watched before.
    pub(crate) fn first(
        pod: PodView<'_>,
        seen: RunOffset,
        live: bool,
        clocks: &Clocks,
    ) -> Option<Self> {
        let text = pod.deletion_timestamp()?;
        let grace = pod
            .deletion_grace()
            .or_else(|| pod.spec_grace())
            .unwrap_or(30);
        let written = clocks
            .read(API_SERVER, text)
            .map(|t| t.plus_nanos(-grace * SECOND));
        let earliest = if live {
            seen.plus_nanos(-SLOWEST_WATCH)
        } else {
            RunOffset(i64::MIN / 4)
        };
        let possible = Interval::new(earliest, seen);
        let requested = written
            .and_then(|w| w.intersect(possible))
            .unwrap_or(Interval::at(seen));
        Some(Self {
            seen,
            requested,
            grace,
            deadline: requested.plus_nanos(grace * SECOND),
        })
    }
}
