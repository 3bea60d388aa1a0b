//! `balancer.jsonl`: the logs of the balancers between the load and the pods.

use serde::{Deserialize, Serialize};

use crate::RunOffset;

/// One line of `balancer.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum BalancerRecord {
    /// A log begins: the lines of its number that follow are of it.
    Log(BalancerLog),
    /// A line of a log.
    Line {
        /// The log's number.
        log: u32,
        /// When we received it.
        at: RunOffset,
        /// The line, secrets redacted.
        line: String,
        /// `seq` of its request, where that is known beforehand: of a log that was imported.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<u64>,
    },
}

/// A log of a balancer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalancerLog {
    /// Its number in the recording.
    pub log: u32,
    /// The program: `nginx`, `haproxy`.
    pub balancer: String,
    /// The format of an access log, as it is named to the parsers; `None` for a log of errors.
    pub format: Option<String>,
    /// The clock of its times; `None` for that of the run's own host.
    pub clock: Option<String>,
}
