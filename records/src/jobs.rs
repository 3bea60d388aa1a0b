//! Jobs that the load enqueues, and what their queue says of them.

use serde::{Deserialize, Serialize};

use crate::RunOffset;

/// One line of `jobs.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum JobRecord {
    /// What the run knows of its jobs beforehand; the first line.
    Plan(JobPlan),
    /// What the source had, as it was read.
    Event {
        /// When it was read.
        at: RunOffset,
        /// A JSON object with `job`, `event`, and where they are known `pod` and `t` (epoch milliseconds, or RFC 3339);
        /// any other text is the key of a job that is done.
        line: String,
    },
    /// Everything that the source had was read.
    Read {
        /// When it was asked.
        at: RunOffset,
    },
    /// The source could not be read.
    Unread {
        /// When that was noticed.
        at: RunOffset,
        /// Why, in words.
        why: String,
        /// Whether events may be missing for good: a later reading does not bring them.
        missing: bool,
    },
}

/// What a run knows of its jobs beforehand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobPlan {
    /// The request of the load that submits a job each time: accepted when it succeeds.
    pub submit: String,
    /// What the key of every job of the run begins with; the `seq` of the request that submitted it follows.
    pub key_prefix: String,
    /// Where the events are: `redis`, `http`, `postgresql` or `logs`; empty in recordings of earlier versions, which knew
    /// `redis` and `logs`.
    #[serde(default)]
    pub source: String,
    /// A regular expression with the groups `job` and, where there are other events than the end, `event`: finds the
    /// jobs' events in the containers' log lines. `None` where they are in `jobs.jsonl`.
    pub log_pattern: Option<String>,
    /// How long after its acceptance a job may be done, ns.
    pub complete_within_nanos: i64,
    /// How often a job may be done beyond once.
    pub max_repeats: u64,
    /// For how long an instance may hold a job without a sign of life, ns; `None` where the scenario does not say.
    pub lease_nanos: Option<i64>,
}

impl JobRecord {
    /// When it was recorded; a plan comes before everything.
    pub const fn at(&self) -> RunOffset {
        match self {
            Self::Plan(_) => RunOffset::ZERO,
            Self::Event { at, .. } | Self::Read { at } | Self::Unread { at, .. } => *at,
        }
    }
}

impl JobPlan {
    /// The key of the job that the request `seq` submits.
    pub fn key(&self, seq: u64) -> String {
        format!("{}{seq}", self.key_prefix)
    }

    /// The request that submitted the job with that key; `None` where it is none of this run's.
    pub fn seq(&self, key: &str) -> Option<u64> {
        key.strip_prefix(&self.key_prefix)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_leads_back_to_its_request_and_one_of_another_run_does_not() {
        let plan = JobPlan {
            submit: "enqueue".to_owned(),
            key_prefix: "17f-".to_owned(),
            source: "redis".to_owned(),
            log_pattern: None,
            complete_within_nanos: 1,
            max_repeats: 0,
            lease_nanos: None,
        };
        assert_eq!(plan.key(12), "17f-12");
        assert_eq!(plan.seq("17f-12"), Some(12));
        assert_eq!(plan.seq("17e-12"), None);
        assert_eq!(plan.seq("17f-"), None);
    }
}
