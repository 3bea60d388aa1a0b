//! The failed requests one by one.

use std::collections::BTreeMap;

use crate::analysis::{Burst, FailureReport};
use crate::context::Context;

/// One report for each failed request that met its fate, in order of its number.
pub(crate) fn failures(bursts: &[Burst], cx: &Context<'_>) -> Vec<FailureReport> {
    let burst_of: BTreeMap<u64, u32> = bursts
        .iter()
        .flat_map(|b| b.requests.iter().map(|seq| (*seq, b.id)))
        .collect();
    let mut all: Vec<FailureReport> = cx
        .traffic
        .failures
        .iter()
        .map(|f| {
            let seq = cx.traffic.request(f).seq;
            FailureReport {
                seq,
                pod: f.pod.map(|p| cx.pod(p).name.clone()),
                how: f.how.word().to_owned(),
                burst: burst_of.get(&seq).copied(),
            }
        })
        .collect();
    all.sort_by_key(|f| f.seq);
    all
}
