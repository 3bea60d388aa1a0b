//! The vocabulary of a Rollscope run: the clock, the records, and the recording on disk.
//!
//! Collectors write down what they saw, whole, with the time they saw it. Everything clever is a pure function from a
//! [`Recording`] to an analysis, so this crate has neither network nor decisions in it.

mod balancer;
pub mod budget;
mod clock;
mod disk;
mod jobs;
mod journeys;
mod long_lived;
mod merge;
mod observation;
mod parallel;
mod quantile;
mod recording;
pub mod redact;
mod request;
mod run;
mod shards;
mod table;
mod times;

pub use balancer::{BalancerLog, BalancerRecord};
pub use clock::{Interval, RunClock, RunOffset};
pub use disk::{ReadError, RecordingWriter, WriteError, requests_parquet};
pub use jobs::{JobPlan, JobRecord};
pub use journeys::{JourneyStep, JourneysRecord};
pub use long_lived::{StreamEnd, StreamRecord};
pub use merge::MergeError;
pub use observation::{
    ClockSample, Gap, LogRecord, LogSource, ObjectKind, StageEvent, StageRecord, WatchRecord,
    WatchType, marks,
};
pub use parallel::in_parallel;
pub use quantile::{nearest_rank, quantile};
pub use recording::{Loss, Recording};
pub use request::{
    ClosedBy, Connection, ConnectionRecord, Lane, Outcome, Phase, Request, RequestRecord, Text,
};
pub use run::{
    EndKind, FORMAT_VERSION, GateLimits, GeneratorRecord, Lateness, RequestFacts, RunEnd,
    RunRecord, TargetFacts,
};
pub use shards::{Shard, Shards};
pub use table::{
    ABSENT, Columns, ConnectionColumns, Connections, Fate, Field, RequestColumns, Requests, Rows,
    Table, Unpacked,
};
