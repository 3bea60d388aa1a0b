//! The generator in a process of its own, recording on disk as a run does.

use std::sync::Arc;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rollscope_loadgen::{Direct, LoadConfig, RunningLoad};
use rollscope_records::{Lane, RecordingWriter, RunClock, RunRecord, TargetFacts};
use rollscope_scenarios::{Load, PoolSpec, Rate, RequestSpec};
use serde_json::{Value, json};

/// Connections that every tool is given.
pub(crate) const CONNECTIONS: usize = 64;

/// Arguments: URL, rate, seconds, `kept` or `new`, `adaptive` or `exact`.
pub(crate) fn generate(args: &[String]) {
    let [url, rate, seconds, connections, precision] = args else {
        panic!("five arguments: {args:?}")
    };
    let request = RequestSpec {
        connections: match connections.as_str() {
            "new" => Lane::New,
            _ => Lane::Reused,
        },
        ..RequestSpec::new("root", "GET", "/")
    };
    let mut load = Load {
        max_in_flight: CONNECTIONS,
        pool: PoolSpec {
            size: Some(CONNECTIONS),
            ..PoolSpec::default()
        },
        ..Load::new(Rate::Constant(rate.parse().unwrap()), vec![request])
    };
    if precision == "exact" {
        load.pacing.tolerance = Some(Duration::ZERO);
    }
    load.pacing.threads = std::env::var("BENCH_THREADS")
        .ok()
        .and_then(|t| t.parse().ok());
    println!(
        "{}",
        run(load, url, Duration::from_secs(seconds.parse().unwrap()))
    );
}

fn run(load: Load, url: &str, lasts: Duration) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let clock = RunClock::start();
    let run = run_record(&load, &clock);
    let writer = RecordingWriter::create(&dir.path().join("bench.rollscope"), &run).unwrap();
    let running = RunningLoad::start(LoadConfig {
        load,
        base_url: url.trim_end_matches('/').to_owned(),
        env: Box::new(|_| None),
        clock,
        recorder: Arc::new(writer.clone()),
        dialer: Arc::new(Direct),
        share: None,
        program: None,
    })
    .unwrap();
    std::thread::sleep(lasts);
    let failed = running.stats().failed;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let record = runtime.block_on(running.stop(Duration::from_secs(5)));
    let used = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    let cpu_us = (used.user_time() + used.system_time()).num_microseconds();
    writer.finish(Some(&record), &run).unwrap();
    let done = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    json!({
        "sent": record.sent,
        "dropped": record.dropped,
        "failed": failed,
        "lost": record.lost_records,
        "cpu_us": cpu_us,
        "thread_cpu_us": record.cpu_us,
        "with_parquet_cpu_us": (done.user_time() + done.system_time()).num_microseconds(),
        "lateness_us": record.lateness_us,
        "peak_kib": used.max_rss(),
        "peak_with_parquet_kib": done.max_rss(),
    })
}

fn run_record(load: &Load, clock: &RunClock) -> RunRecord {
    RunRecord {
        rate_per_second: load.rate.highest(),
        ..RunRecord::new(
            "bench",
            "bench",
            "bench",
            clock.wall_start_unix_nanos(),
            TargetFacts::of("none"),
        )
    }
}
