//! Counts of requests. `planned = sent + dropped`, `sent = ok + failed + aborted`, by construction.

use rollscope_records::{Outcome, Requests};

use crate::analysis::RequestCounts;

/// Counts the requests.
pub(crate) fn counts(requests: &Requests) -> RequestCounts {
    let mut c = RequestCounts::default();
    for r in requests {
        c.planned += 1;
        *c.by_outcome
            .entry(r.outcome.as_str().to_owned())
            .or_insert(0) += 1;
        match r.outcome {
            Outcome::Dropped => {
                c.dropped += 1;
                continue;
            }
            Outcome::Ok => c.ok += 1,
            o if o.is_own_doing() => c.aborted += 1,
            Outcome::Status | Outcome::BodyMismatch => c.non_2xx += 1,
            o if o.is_truncated() => c.truncated += 1,
            _ => c.transport += 1,
        }
        c.sent += 1;
        if r.outcome.is_failure() {
            c.failed += 1;
            c.maskable += u64::from(r.maskable);
        }
    }
    c
}
