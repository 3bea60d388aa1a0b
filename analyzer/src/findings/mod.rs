//! What is wrong without a failed request.

mod budget;
mod ends;
mod exercise;
mod jobs;
mod owners;

use crate::analysis::{Burst, Finding};
use crate::context::Context;

/// Every finding: pods that ended badly but harmed nobody, then remarks on the run's terminations.
pub(crate) fn findings(bursts: &[Burst], cx: &Context<'_>) -> Vec<Finding> {
    let mut all = ends::bad_ends(bursts, cx);
    let blamed = |pod: &str| {
        bursts.iter().any(|b| b.pods.iter().any(|p| p == pod))
            || all.iter().any(|f| f.pods.iter().any(|p| p == pod))
    };
    let more: Vec<Finding> = [
        exercise::drain_not_exercised(cx),
        exercise::graceful_path_left(cx),
        owners::double_shutdown(bursts, cx),
        exercise::no_prestop_no_delay(&blamed, cx),
        budget::slow_termination(&blamed, cx),
        budget::budget_does_not_fit(&blamed, cx),
    ]
    .into_iter()
    .flatten()
    .collect();
    all.extend(more);
    all.extend(jobs::findings(cx));
    all
}
