//! Jobs in a line.

use rollscope_analyzer::Analysis;

use super::escape::inline;
use crate::text::{count, counted, length, visible};

/// The line and a blank one; none where the load submits no jobs.
pub(super) fn line(a: &Analysis) -> Vec<String> {
    let Some(jobs) = &a.jobs else {
        return Vec::new();
    };
    let strong = |n: u64, what: &str| match n {
        0 => format!("0 {what}"),
        n => format!("**{} {what}**", count(n)),
    };
    let recovery = jobs.longest_recovery_ms.map_or_else(String::new, |l| {
        format!(
            ", {} taken up by another instance after at most {}",
            count(jobs.recovered),
            length(l)
        )
    });
    let missing = jobs.missing.as_ref().map_or_else(String::new, |why| {
        format!("; events may be missing: {}", inline(&visible(why, 200)))
    });
    let line = format!(
        "**Jobs**: {} accepted, {} done, {}, {}, {} open, {} returned, {} leases expired{recovery}{missing}",
        counted(jobs.accepted, "job", "jobs"),
        count(jobs.done),
        strong(jobs.done_twice, "done twice"),
        strong(jobs.lost, "lost"),
        count(jobs.open),
        count(jobs.returned),
        count(jobs.lease_expired),
    );
    vec![line, String::new()]
}
