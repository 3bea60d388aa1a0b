//! Shutdowns that two owners ran.

use crate::analysis::{Burst, Evidence, Finding};
use crate::context::Context;
use crate::signatures::double_shutdown;
use crate::timeline::PodIx;
use crate::words::names;

/// `double_shutdown` on pods to which no burst of that cause was laid.
pub(super) fn double_shutdown(bursts: &[Burst], cx: &Context<'_>) -> Option<Finding> {
    let blamed = |pod: &str| {
        bursts
            .iter()
            .any(|b| b.cause == double_shutdown::NAME && b.pods.iter().any(|p| p == pod))
    };
    let (pods, evidence): (Vec<PodIx>, Vec<Evidence>) = cx
        .timeline
        .terminating()
        .filter(|(_, p, _)| !blamed(&p.name))
        .filter_map(|(ix, ..)| Some((ix, double_shutdown::owners(ix, cx)?)))
        .unzip();
    if pods.is_empty() {
        return None;
    }
    let named = cx.timeline.names(&pods);
    Some(Finding {
        cause: double_shutdown::NAME.to_owned(),
        detail: None,
        summary: format!(
            "two owners ran the shutdown of {}: the same stages came twice",
            names(&named)
        ),
        advice: double_shutdown::one_owner(&pods, cx),
        pods: named,
        evidence,
    })
}
