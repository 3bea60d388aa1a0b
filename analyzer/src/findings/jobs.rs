//! What is wrong with the jobs of a run.

use crate::analysis::Finding;
use crate::context::Context;
use crate::signatures::{job_duplicated, job_lost, lease_missing};

/// Lost, repeated and abandoned jobs.
pub(super) fn findings(cx: &Context<'_>) -> Vec<Finding> {
    let Some(jobs) = cx.jobs else {
        return Vec::new();
    };
    [
        job_lost::finding(jobs, cx),
        job_duplicated::finding(jobs, cx),
        lease_missing::finding(jobs, cx),
    ]
    .into_iter()
    .flatten()
    .collect()
}
