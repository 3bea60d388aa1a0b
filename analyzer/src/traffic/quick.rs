//! A balancer's quick 502 tells of a refused connection, unless it ended at the moment at which older requests were cut:
//! then it was on a connection that died with theirs.

use super::failure::Failure;
use super::kind::Kind;

/// What dies at one moment ends within this for a client, ns.
const TOGETHER: i64 = 3_000_000;

/// A refusal hardly ever takes as long, ns.
const WAITED: i64 = 5_000_000;

/// Takes for cut those of `failures` that only their being quick makes refusals (`is_inferred`, by index) and that
/// ended with a cut.
pub(super) fn cut_with_others(failures: &mut [Failure], is_inferred: &[bool]) {
    let cuts = failures.iter().filter(|f| f.kind == Kind::Cut);
    let mut cuts: Vec<_> = cuts.map(|f| f.ended).collect();
    cuts.sort_unstable();
    let quick = failures.iter_mut().zip(is_inferred);
    let quick = quick.filter(|(f, inferred)| **inferred && f.kind == Kind::Refused);
    for (f, _) in quick.filter(|(f, _)| f.age() >= WAITED) {
        let from = cuts.partition_point(|t| *t < f.ended.plus_nanos(-TOGETHER));
        if cuts
            .get(from)
            .is_some_and(|t| *t <= f.ended.plus_nanos(TOGETHER))
        {
            f.kind = Kind::Cut;
            f.at = f.ended;
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use rollscope_records::{Lane, Outcome, RequestRecord, RunOffset};

    use super::*;

    fn failure(began: i64, ended: i64, kind: Kind) -> Failure {
        let mut r = RequestRecord::scheduled(0, Lane::Reused, "work", RunOffset::ZERO);
        r.dispatched = Some(RunOffset::from_millis(began));
        r.ended = Some(RunOffset::from_millis(ended));
        r.outcome = Outcome::Status;
        Failure::of(0, &r.view(), kind).unwrap()
    }

    #[test]
    fn a_request_that_waited_and_ended_with_one_that_was_cut_was_cut_too() {
        let mut failures = [
            failure(700, 867, Kind::Cut),
            failure(780, 868, Kind::Refused),
            // Refused at that moment; cut at another one; a refusal by the balancer's own word.
            failure(867, 868, Kind::Refused),
            failure(800, 880, Kind::Refused),
            failure(790, 867, Kind::Refused),
        ];
        cut_with_others(&mut failures, &[true, true, true, true, false]);
        let kinds = failures.map(|f| f.kind);
        let [cut, refused] = [Kind::Cut, Kind::Refused];
        assert_eq!(kinds, [cut, cut, refused, refused, refused]);
    }
}
