//! Latency of answered requests: from the time they were due, and from the time they were sent.

use rollscope_records::{Outcome, Requests, nearest_rank};

use crate::analysis::{Latency, Quantiles};

/// Exact quantiles over every request that was answered completely, whatever the status. What was held open has no
/// latency, and that of journeys is not a user's: a closed loop asks less often while the service hangs.
pub(crate) fn latency(requests: &Requests) -> Latency {
    let answered = || {
        requests
            .iter()
            .filter(|r| r.lane.has_slot())
            .filter(|r| matches!(r.outcome, Outcome::Ok | Outcome::Status))
    };
    let scheduled = answered().filter_map(|r| Some(r.ended?.nanos_since(r.scheduled)));
    let dispatched = answered().filter_map(|r| Some(r.ended?.nanos_since(r.dispatched?)));
    Latency {
        scheduled: quantiles(scheduled.collect()),
        dispatched: quantiles(dispatched.collect()),
    }
}

fn quantiles(mut nanos: Vec<i64>) -> Quantiles {
    let mut sorted = 0;
    // Ranks ascend, so that each is looked for among what lies above the one before.
    let mut at = |permille: usize| {
        let place = nearest_rank(nanos.len(), permille);
        if place >= nanos.len() {
            return 0.0;
        }
        if place >= sorted {
            nanos[sorted..].select_nth_unstable(place - sorted);
            sorted = place + 1;
        }
        (nanos[place] as f64 / 1e3).round() / 1e3
    };
    Quantiles {
        p50: at(500),
        p90: at(900),
        p99: at(990),
        p999: at(999),
        max: at(1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_nearest_rank() {
        let q = quantiles((1..=1000).map(|ms| ms * 1_000_000).collect());
        assert_eq!(
            q,
            Quantiles {
                p50: 500.0,
                p90: 900.0,
                p99: 990.0,
                p999: 999.0,
                max: 1000.0
            }
        );
    }

    #[test]
    fn nothing_answered_has_no_latency() {
        assert_eq!(quantiles(Vec::new()), Quantiles::default());
    }
}
