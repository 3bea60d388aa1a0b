//! `latency.hlog`: latency as HDR histograms, one a second, in the interval log that HdrHistogram's own tools read.

use std::time::{Duration, UNIX_EPOCH};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use rollscope_records::{Recording, Request};

use crate::series::{latency, second};

/// Significant digits of a latency.
const DIGITS: u8 = 3;
/// Largest latency that is told apart, ns: an hour.
const LARGEST: u64 = 3_600_000_000_000;
/// The tags: from the time a request was due, and from the time it was sent.
const TAGS: [&str; 2] = ["scheduled", "dispatched"];

/// Latency of the answered requests, nanoseconds, an interval for each second in which an answered request was due,
/// tagged `scheduled` (what a user feels) and `dispatched` (what the service did). The log's maxima are milliseconds,
/// and its times are seconds from the run's start, which `BaseTime` names.
///
/// # Panics
///
/// Never: the log is written to memory, and its values are in the histogram's range.
pub fn latency_hlog(recording: &Recording) -> Vec<u8> {
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let start =
        Duration::from_nanos(u64::try_from(recording.run.wall_start_unix_nanos).unwrap_or(0));
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment("Latency of answered requests in nanoseconds; interval maxima in milliseconds")
        .with_start_time(UNIX_EPOCH + start)
        .with_base_time(UNIX_EPOCH + start)
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut log, &mut serializer)
        .expect("memory takes everything");
    let mut answered: Vec<_> = recording
        .requests
        .iter()
        .filter_map(|r| Answered::of(&r))
        .collect();
    answered.sort_by_key(|a| a.second);
    let mut histogram = histogram();
    for of_second in answered.chunk_by(|a, b| a.second == b.second) {
        let from = Duration::from_secs(u64::try_from(of_second[0].second).unwrap_or(0));
        for (n, tag) in TAGS.into_iter().enumerate() {
            histogram.reset();
            for latency in of_second.iter().filter_map(|a| a.latencies[n]) {
                histogram.saturating_record(clamped(latency));
            }
            writer
                .write_histogram(&histogram, from, Duration::from_secs(1), Tag::new(tag))
                .expect("a histogram within its bounds can be written to memory");
        }
    }
    log
}

/// An answered request: the second in which it was due, and its latencies in the order of [`TAGS`], ns.
struct Answered {
    second: i64,
    latencies: [Option<i64>; TAGS.len()],
}

impl Answered {
    fn of(request: &Request<'_>) -> Option<Self> {
        let scheduled = latency(request)?;
        let late = request.dispatched.map(|d| d.nanos_since(request.scheduled));
        Some(Self {
            second: second(request),
            latencies: [Some(scheduled), late.map(|late| scheduled - late)],
        })
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LARGEST, DIGITS).expect("the bounds are sound")
}

/// At least one nanosecond: a histogram has no zero apart from its lowest value.
fn clamped(nanos: i64) -> u64 {
    u64::try_from(nanos).unwrap_or(0).clamp(1, LARGEST)
}
