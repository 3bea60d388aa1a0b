//! Counts of requests. `planned = sent + dropped`, `sent = ok + failed + aborted`, by construction.

use std::collections::BTreeMap;

use rollscope_records::{Fate, Field, Outcome, Requests};

use crate::analysis::RequestCounts;

/// Counts the requests.
pub(crate) fn counts(requests: &Requests) -> RequestCounts {
    let mut c = RequestCounts::default();
    for (fate, n) in fates(requests) {
        let outcome = fate.outcome();
        c.planned += n;
        *c.by_outcome.entry(outcome.as_str().to_owned()).or_insert(0) += n;
        match outcome {
            Outcome::Dropped => {
                c.dropped += n;
                continue;
            }
            Outcome::Ok => c.ok += n,
            o if o.is_own_doing() => c.aborted += n,
            Outcome::Status | Outcome::BodyMismatch => c.non_2xx += n,
            o if o.is_truncated() => c.truncated += n,
            _ => c.transport += n,
        }
        c.sent += n;
        if outcome.is_failure() {
            c.failed += n;
            c.maskable += n * u64::from(fate.maskable());
        }
    }
    c
}

/// How many requests met each fate.
fn fates(requests: &Requests) -> Vec<(Fate, u64)> {
    let stretches = requests.by_stretch(|blocks| {
        let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
        let mut unpacked = requests.unpacked([Field::Fate]);
        for block in blocks {
            let [fates] = unpacked.block(block);
            for alike in fates.chunk_by(|a, b| a == b) {
                *counts.entry(alike[0]).or_insert(0) += alike.len() as u64;
            }
        }
        counts
    });
    let all = stretches.into_iter().flatten();
    all.map(|(number, n)| (Fate::from_number(number), n))
        .collect()
}
