//! Jobs of a run: what is known of them beforehand, and who reads what becomes of them.

use std::time::Duration;

use rollscope_collector::{JobList, JobsObserver};
use rollscope_records::{JobPlan, JobRecord, RecordingWriter, RunClock, RunRecord};
use rollscope_scenarios::{JobKey, JobSource, Scenario};

/// Records the plan of the scenario's jobs. How the load carries their keys.
pub(super) fn begin(
    scenario: &Scenario,
    run: &RunRecord,
    recorder: &RecordingWriter,
) -> Option<JobKey> {
    let jobs = scenario.jobs.as_ref()?;
    // The run's id tells its jobs from those of another run in the same queue.
    let key_prefix = format!("{}-", run.run_id);
    recorder.job(JobRecord::Plan(JobPlan {
        submit: jobs.submit.clone(),
        key_prefix: key_prefix.clone(),
        log_pattern: match &jobs.source {
            JobSource::Logs(pattern) => Some(pattern.clone()),
            JobSource::Redis { .. } => None,
        },
        complete_within_nanos: nanos(jobs.complete_within),
        max_repeats: jobs.max_repeats,
        lease_nanos: jobs.lease.map(nanos),
    }));
    Some(JobKey {
        request: jobs.submit.clone(),
        header: jobs.key_header.clone(),
        prefix: key_prefix,
    })
}

/// Begins to read their events, where they are not in the logs.
pub(super) fn observe(
    scenario: &Scenario,
    clock: RunClock,
    recorder: &RecordingWriter,
) -> Option<JobsObserver> {
    let jobs = scenario.jobs.as_ref()?;
    let JobSource::Redis { address, list } = &jobs.source else {
        return None;
    };
    let of = JobList {
        address: address.clone(),
        list: list.clone(),
        every: jobs.poll,
    };
    Some(JobsObserver::start(of, clock, recorder.clone()))
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
