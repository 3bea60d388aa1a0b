//! `run.json` of a run.

use std::process;

use rollscope_records::{
    FORMAT_VERSION, GateLimits, RequestFacts, RunClock, RunRecord, TargetFacts,
};
use rollscope_scenarios::{Scenario, redacted, redacted_path};

/// The run's record at its start.
pub(crate) fn of(
    scenario: &Scenario,
    target: TargetFacts,
    warnings: Vec<String>,
    clock: &RunClock,
) -> RunRecord {
    let requests = scenario.load.requests.iter().map(|r| RequestFacts {
        name: r.name.clone(),
        method: r.method.clone(),
        path: redacted_path(&r.path),
        deadline_nanos: i64::try_from(r.deadline.as_nanos()).unwrap_or(i64::MAX),
    });
    RunRecord {
        format_version: FORMAT_VERSION,
        run_id: format!("{:x}-{:x}", clock.wall_start_unix_nanos(), process::id()),
        name: scenario.name.clone(),
        tool: format!("rollscope {}", env!("CARGO_PKG_VERSION")),
        wall_start_unix_nanos: clock.wall_start_unix_nanos(),
        target,
        gate: GateLimits {
            max_failed: scenario.gate.max_failed,
            assertions_fail: scenario.gate.assertions_fail,
            ..GateLimits::default()
        },
        log_marks: scenario.log_marks.clone(),
        requests: requests.collect(),
        rate_per_second: scenario.load.rate_per_second,
        rate_shape: None,
        scenario: redacted(scenario),
        warnings,
        end: None,
    }
}
