//! A whole recording in memory: what an analysis reads.

use crate::{
    BalancerRecord, ClockSample, Connections, Gap, GeneratorRecord, JobRecord, LogRecord, Requests,
    RunRecord, StageRecord, StreamRecord, WatchRecord,
};

/// Everything that was recorded in one run. Each list is in the order of its records' own time
/// (`scheduled` for requests, `at` for the others).
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The run as a whole.
    pub run: RunRecord,
    /// One row for each scheduled slot.
    pub requests: Requests,
    /// The generator's connections.
    pub connections: Connections,
    /// Connections that were held open, in the order of their numbers.
    pub streams: Vec<StreamRecord>,
    /// Jobs that the load enqueued; empty where there were none.
    pub jobs: Vec<JobRecord>,
    /// Watch events and gaps.
    pub watch: Vec<WatchRecord>,
    /// Log lines.
    pub logs: Vec<LogRecord>,
    /// The logs of balancers, in the order in which they were received.
    pub balancers: Vec<BalancerRecord>,
    /// What happened to the stages.
    pub stages: Vec<StageRecord>,
    /// Samples of other clocks.
    pub clocks: Vec<ClockSample>,
    /// What the generator says of itself; `None` when it was killed before it could.
    pub generator: Option<GeneratorRecord>,
    /// What the reader found missing or damaged.
    pub losses: Vec<Loss>,
}

/// A part of a recording that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Loss {
    /// The file.
    pub file: String,
    /// What is missing, in words.
    pub what: String,
}

impl Recording {
    /// An empty recording of `run`.
    pub fn new(run: RunRecord) -> Self {
        Self {
            run,
            requests: Requests::default(),
            connections: Connections::default(),
            streams: Vec::new(),
            jobs: Vec::new(),
            watch: Vec::new(),
            logs: Vec::new(),
            balancers: Vec::new(),
            stages: Vec::new(),
            clocks: Vec::new(),
            generator: None,
            losses: Vec::new(),
        }
    }

    /// The recorded gaps.
    pub fn gaps(&self) -> impl Iterator<Item = &Gap> {
        self.watch.iter().filter_map(|w| match w {
            WatchRecord::Gap(gap) => Some(gap),
            WatchRecord::Event { .. } => None,
        })
    }
}
