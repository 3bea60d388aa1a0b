//! The recording on disk: `<name>.rollscope/`.
//!
//! | file | content |
//! |---|---|
//! | `run.json` | [`RunRecord`](crate::RunRecord): format version, clock anchor, target, gate, scenario without secrets; written at the start and again at the end |
//! | `requests.arrows`, `connections.arrows` | rows while the run goes on: an Arrow IPC stream, a batch at most every quarter of a second, with the batches' checksums in `*.arrows.crc` |
//! | `requests.parquet`, `connections.parquet` | the same rows once the run has ended; they replace the streams |
//! | `checksums.json` | CRC-32 of every other file, written last |
//! | `streams.jsonl` | [`StreamRecord`](crate::StreamRecord) a line; only where connections are held open |
//! | `jobs.jsonl` | [`JobRecord`](crate::JobRecord) a line: what the load knows of its jobs, then what their queue said; only where there are jobs |
//! | `watch.jsonl` | [`WatchRecord`](crate::WatchRecord) a line: watch events with receive offsets, and gaps |
//! | `logs.jsonl` | [`LogRecord`](crate::LogRecord) a line |
//! | `balancer.jsonl` | [`BalancerRecord`](crate::BalancerRecord) a line; only where a balancer's log is seen |
//! | `stages.jsonl` | [`StageRecord`](crate::StageRecord) a line |
//! | `clock.jsonl` | [`ClockSample`](crate::ClockSample) a line |
//! | `generator.json` | [`GeneratorRecord`](crate::GeneratorRecord), at the end; with journeys also what goose counted |
//!
//! All times are nanoseconds on the run's clock; `wall_start_unix_nanos` of `run.json` anchors it. The files are
//! readable without this program: `polars.read_parquet("requests.parquet")`, DuckDB's `read_parquet`, pandas.
//! A reader accepts a cut last line or batch and lists in [`Recording::losses`](crate::Recording) what it could not
//! read. A newer format version than its own it refuses.

mod checksums;
mod columns;
mod decode;
mod error;
mod parquet;
mod reader;
mod stream;
mod writer;

/// What happened on connections that were held open; there only in a run that has such.
const STREAMS: &str = "streams.jsonl";

/// Jobs and what became of them; there only in a run that has such.
const JOBS: &str = "jobs.jsonl";
/// The logs of balancers; there only in a run that sees such.
const BALANCERS: &str = "balancer.jsonl";

pub use error::{ReadError, WriteError};
pub use parquet::requests_parquet;
pub use writer::RecordingWriter;
