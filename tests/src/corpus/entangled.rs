//! Refusals with two causes at once.
//!
//! A connection that is refused names no pod, and neither does the error of a balancer that asked one. While pods refuse
//! for two causes at the same time, an observer can know that both do and not which of them had a request: there an
//! honest verdict names both.

use std::collections::BTreeMap;

use rollscope_records::RunOffset;

use super::label::Verdict;
use super::witness::{How, Met};

/// Refusals that are this near each other came at the same time, ns.
const AT_ONCE: i64 = 500_000_000;

/// Veils the labels of refusals that came at the same time as others with another cause.
pub(super) fn veil(labelled: &mut [(Met<'_>, Verdict)], front_end: &str) {
    let mut by_cause: BTreeMap<&'static str, Vec<RunOffset>> = BTreeMap::new();
    for (met, verdict) in labelled.iter() {
        if let Verdict::Is(label) = verdict
            && looks_refused(met, front_end)
        {
            by_cause.entry(label.cause).or_default().push(met.at);
        }
    }
    by_cause.values_mut().for_each(|at| at.sort_unstable());
    for (met, verdict) in labelled.iter_mut() {
        if let Verdict::Is(label) = verdict
            && looks_refused(met, front_end)
        {
            label.veiled |= by_cause
                .iter()
                .any(|(cause, at)| !label.accepts(cause) && beside(at, met.at));
        }
    }
}

/// Behind `l4` a client cannot tell a closed port from no endpoint; `http` answers these with two statuses.
fn looks_refused(met: &Met<'_>, front_end: &str) -> bool {
    met.how == How::Refused || (met.how == How::NoEndpoint && front_end == "l4")
}

fn beside(others: &[RunOffset], at: RunOffset) -> bool {
    let next = others.partition_point(|t| *t < at);
    let near = |i: usize| {
        others
            .get(i)
            .is_some_and(|t| t.nanos_since(at).abs() <= AT_ONCE)
    };
    near(next) || next.checked_sub(1).is_some_and(near)
}

#[cfg(test)]
mod tests {
    use rollscope_records::{Lane, RequestRecord};

    use super::super::label::Label;
    use super::*;

    fn at(ms: i64) -> RunOffset {
        RunOffset::from_millis(ms)
    }

    fn is(cause: &'static str) -> Verdict {
        Verdict::Is(Label {
            cause,
            detail: None,
            also: Vec::new(),
            veiled: false,
        })
    }

    #[test]
    fn refusals_with_two_causes_at_once_are_veiled_and_those_apart_are_not() {
        let request = RequestRecord::scheduled(0, Lane::New, "home", at(0));
        let met = |how, ms| Met {
            request: request.view(),
            how,
            pod: None,
            at: at(ms),
            connected: at(ms),
            fallback: false,
            accepted: None,
            received: None,
            reused: false,
        };
        let mut all = [
            (met(How::Refused, 1000), is("early_close")),
            (met(How::Refused, 1200), is("ready_too_early")),
            (met(How::Refused, 3000), is("early_close")),
            (met(How::NoEndpoint, 3100), is("no_endpoints")),
        ];
        for (front_end, expected) in [
            ("http", [true, true, false, false]),
            ("l4", [true, true, true, true]),
        ] {
            veil(&mut all, front_end);
            let veiled = all.each_ref().map(|(_, verdict)| match verdict {
                Verdict::Is(label) => label.veiled,
                Verdict::Undecided(_) => false,
            });
            assert_eq!(veiled, expected, "{front_end}");
        }
    }
}
