//! What goose says of the users' journeys that it ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The journeys of a run as goose counted them, beside the request records of their steps.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JourneysRecord {
    /// Users who walked through them.
    pub users: u64,
    /// goose's own aggregate, a line for each step; empty when goose did not come to its end.
    #[serde(default)]
    pub steps: Vec<JourneyStep>,
    /// CPU time of the journeys' process, microseconds.
    #[serde(default)]
    pub cpu_us: u64,
    /// Why the journeys were not walked to the end of the load, in words.
    #[serde(default)]
    pub failure: Option<String>,
}

/// goose's aggregate of one step. Its times end with the response's head, in whole milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JourneyStep {
    /// The step as `journey/step`: the name of its request records.
    pub name: String,
    /// Its method.
    pub method: String,
    /// How often it was sent.
    pub count: u64,
    /// How often it failed.
    pub failed: u64,
    /// The shortest time, ms; goose counts no time under 1 ms as the shortest.
    pub min_ms: u64,
    /// All times together, ms.
    pub total_ms: u64,
    /// The longest time, ms.
    pub max_ms: u64,
    /// Responses by status; 0 stands for none.
    #[serde(default)]
    pub statuses: BTreeMap<u16, u64>,
}
