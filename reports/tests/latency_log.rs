//! `latency.hlog`, read back by the format's own reader.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../examples/sample/mod.rs"]
mod sample;

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use rollscope_records::{Outcome, Recording};
use rollscope_reports::latency_hlog;

/// The intervals of a log: tag, start, histogram.
fn intervals(log: &[u8]) -> Vec<(String, Duration, Histogram<u64>)> {
    let mut found = Vec::new();
    for entry in IntervalLogIterator::new(log) {
        if let LogEntry::Interval(interval) = entry.unwrap() {
            assert_eq!(interval.duration(), Duration::from_secs(1));
            let bytes = base64::prelude::BASE64_STANDARD
                .decode(interval.encoded_histogram())
                .unwrap();
            let histogram: Histogram<u64> = Deserializer::new()
                .deserialize(&mut bytes.as_slice())
                .unwrap();
            let tag = interval.tag().unwrap().as_str().to_owned();
            assert!((interval.max() - histogram.max() as f64 / 1e6).abs() < 0.001);
            found.push((tag, interval.start_timestamp(), histogram));
        }
    }
    found
}

fn answered(recording: &Recording) -> u64 {
    let answered = |o| matches!(o, Outcome::Ok | Outcome::Status);
    recording
        .requests
        .iter()
        .filter(|r| answered(r.outcome))
        .count() as u64
}

#[test]
fn every_answered_request_is_in_it_once_for_each_tag() {
    let (_, r) = sample::early_close(4_400);
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (tag, _, histogram) in intervals(&latency_hlog(&r)) {
        *counts.entry(tag).or_default() += histogram.len();
    }
    let all = answered(&r);
    assert_eq!(
        counts,
        BTreeMap::from([
            ("dispatched".to_owned(), all),
            ("scheduled".to_owned(), all)
        ])
    );
}

#[test]
fn quantiles_are_those_of_the_report() {
    let (a, r) = sample::early_close(4_400);
    let mut all = Histogram::<u64>::new(3).unwrap();
    for (_, _, histogram) in intervals(&latency_hlog(&r))
        .iter()
        .filter(|i| i.0 == "scheduled")
    {
        all.add(histogram).unwrap();
    }
    let expected = &a.latency_ms.scheduled;
    for (quantile, ms) in [
        (0.5, expected.p50),
        (0.99, expected.p99),
        (1.0, expected.max),
    ] {
        let found = all.value_at_quantile(quantile) as f64 / 1e6;
        assert!(
            (found - ms).abs() / ms < 0.01,
            "{quantile}: {found} against {ms}"
        );
    }
}

#[test]
fn intervals_are_seconds_of_the_run_in_order() {
    let (_, r) = sample::early_close(4_400);
    let starts: Vec<_> = intervals(&latency_hlog(&r))
        .iter()
        .map(|i| i.1.as_secs())
        .collect();
    assert!(starts.is_sorted());
    assert_eq!((starts[0], *starts.last().unwrap()), (0, 21));
}

#[test]
fn the_head_is_as_the_format_writes_it() {
    let (_, r) = sample::early_close(4_400);
    let text = String::from_utf8(latency_hlog(&r)).unwrap();
    let start = format!("{:.3}", r.run.wall_start_unix_nanos as f64 / 1e9);
    let head: Vec<_> = text.lines().filter(|l| l.starts_with("#[")).collect();
    assert_eq!(
        head,
        [
            "#[Histogram log format version 1.3]".to_owned(),
            format!("#[StartTime: {start} (seconds since epoch)]"),
            format!("#[BaseTime: {start} (seconds since epoch)]"),
            "#[MaxValueDivisor: 1000000.000]".to_owned(),
        ]
    );
}

#[test]
fn a_run_without_an_answer_has_no_interval() {
    let (_, mut r) = sample::clean();
    r.requests.clear();
    assert!(intervals(&latency_hlog(&r)).is_empty());
}
