//! Near misses, judged as the failures that they would have been.

use std::collections::{BTreeMap, BTreeSet};

use rollscope_records::{Outcome, Recording};

use super::Balancers;
use super::book::Met;
use crate::analysis::{Burst, NearMiss};
use crate::analyze::{Facts, judged_bursts};
use crate::ordered::Ordered;

/// What the tries that failed under a good status were of, by cause.
pub(crate) fn near_misses(
    recording: &Recording,
    ordered: &Ordered<'_>,
    balancers: &Balancers,
    facts: &Facts<'_>,
) -> Vec<NearMiss> {
    let near: BTreeMap<usize, _> = balancers
        .met
        .iter()
        .filter(|(_, met)| met.near_miss)
        .map(|(i, met)| (*i, met.without_retries()))
        .collect();
    if near.is_empty() {
        return Vec::new();
    }
    let (unmasked, seqs) = unmasked(recording, ordered, &near);
    let mut met = balancers.met.clone();
    met.extend(near);
    let unmasked_balancers = Balancers {
        met,
        counts: BTreeMap::new(),
    };
    let bursts = judged_bursts(
        &unmasked,
        &Ordered::of(&unmasked),
        &unmasked_balancers,
        facts,
    );
    bursts
        .into_iter()
        .filter_map(|burst| near_miss(burst, &seqs))
        .collect()
}

/// The recording as if nobody had tried again, and the numbers of the requests that would have failed.
fn unmasked(
    recording: &Recording,
    ordered: &Ordered<'_>,
    near: &BTreeMap<usize, Met>,
) -> (Recording, BTreeSet<u64>) {
    let mut requests = ordered.requests.as_ref().clone();
    let (mut i, mut seqs) = (0, BTreeSet::new());
    requests.edit_each(|r| {
        if let Some(met) = near.get(&i) {
            seqs.insert(r.seq);
            r.ended = r.dispatched.map(|d| d.plus_nanos(met.first_took));
            (r.outcome, r.status) = (Outcome::Status, Some(502));
            (r.pod, r.emitted_by) = (None, None);
        }
        i += 1;
    });
    let unmasked = Recording {
        requests,
        balancers: Vec::new(),
        ..recording.clone()
    };
    (unmasked, seqs)
}

/// What a burst has of them.
fn near_miss(burst: Burst, near: &BTreeSet<u64>) -> Option<NearMiss> {
    let requests: Vec<u64> = burst
        .requests
        .into_iter()
        .filter(|seq| near.contains(seq))
        .collect();
    (!requests.is_empty()).then_some(NearMiss {
        count: requests.len() as u64,
        from_ms: burst.from_ms,
        to_ms: burst.to_ms,
        pods: burst.pods,
        requests,
        cause: burst.cause,
        detail: burst.detail,
        confidence: burst.confidence,
        evidence: burst.evidence,
        advice: burst.advice,
    })
}
