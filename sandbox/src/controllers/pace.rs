//! How fast controllers follow one another.
//!
//! A real controller's write takes milliseconds, and it can act on an object again only when its own watch has shown
//! it that write. Therefore intermediate states of a rollout are seen by watches. Controllers on a store in memory
//! would skip them, so each object rests for a while after a controller wrote something for it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The rests, as measured between the writes of a real cluster's controllers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// After a write for a ReplicaSet.
    pub(super) replica_set: Duration,
    /// After a write for a Deployment.
    pub(super) deployment: Duration,
    /// After a Deployment got a new ReplicaSet: the real controller's next write conflicts with its own and is
    /// repeated later.
    pub(super) new_replica_set: Duration,
}

impl Pace {
    /// As on a real cluster.
    pub(super) const REAL: Self = Self {
        replica_set: Duration::from_millis(30),
        deployment: Duration::from_millis(20),
        new_replica_set: Duration::from_millis(60),
    };
    /// No rests.
    #[cfg(test)]
    pub(super) const NONE: Self = Self {
        replica_set: Duration::ZERO,
        deployment: Duration::ZERO,
        new_replica_set: Duration::ZERO,
    };
}

/// The objects that rest, by uid.
#[derive(Debug, Default)]
pub(super) struct Rests(BTreeMap<String, Instant>);

impl Rests {
    /// How long an object still rests; `None` when it does not.
    pub(super) fn left(&mut self, uid: &str) -> Option<Duration> {
        let left = self.0.get(uid)?.checked_duration_since(Instant::now());
        match left {
            Some(left) if !left.is_zero() => Some(left),
            _ => {
                self.0.remove(uid);
                None
            }
        }
    }

    /// Lets an object rest.
    pub(super) fn begin(&mut self, uid: &str, rest: Duration) {
        if !rest.is_zero() {
            self.0.insert(uid.to_owned(), Instant::now() + rest);
        }
    }
}
