//! `run.json` of a run.

use std::process;
use std::time::Duration;

use rollscope_records::{
    FORMAT_VERSION, GateLimits, RequestFacts, RunClock, RunRecord, TargetFacts,
};
use rollscope_scenarios::{Scenario, redacted, redacted_path};

use super::shard::OwnShard;

/// The run's record at its start.
pub(super) fn of(
    scenario: &Scenario,
    target: TargetFacts,
    mut warnings: Vec<String>,
    clock: &RunClock,
    shard: Option<&OwnShard>,
) -> RunRecord {
    let own_id = || format!("{:x}-{:x}", clock.wall_start_unix_nanos(), process::id());
    if scenario.load.tls.insecure {
        warnings.push(
            "the target's certificate was not checked (`load.tls.insecure: true`): whoever stands between could have answered"
                .to_owned(),
        );
    }
    let requests = scenario.load.all_requests().map(|r| RequestFacts {
        name: r.name.clone(),
        method: r.method.clone(),
        path: redacted_path(&r.path),
        deadline_nanos: nanos(r.deadline),
    });
    RunRecord {
        format_version: FORMAT_VERSION,
        run_id: shard.map_or_else(own_id, OwnShard::run_id),
        name: scenario.name.clone(),
        tool: format!("rollscope {}", env!("CARGO_PKG_VERSION")),
        wall_start_unix_nanos: clock.wall_start_unix_nanos(),
        target,
        gate: GateLimits {
            max_failed: scenario.gate.max_failed,
            assertions_fail: scenario.gate.assertions_fail,
            min_rate_permille: scenario.load.limits.min_in_time * 10,
            max_dropped: scenario.load.limits.max_dropped,
            in_time_nanos: nanos(scenario.load.limits.in_time),
        },
        log_marks: scenario.log_marks.clone(),
        requests: requests.collect(),
        rate_per_second: scenario.load.highest_rate(),
        rate_shape: scenario.load.rate.shape(),
        shards: shard.map(OwnShard::facts),
        scenario: redacted(scenario),
        warnings,
        end: None,
    }
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
