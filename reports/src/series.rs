//! Requests by kind of outcome and by second, by the time at which they were due.

use rollscope_records::{Outcome, Request, Requests, quantile};

/// A kind of outcome that is drawn in a colour of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A complete, expected response.
    Ok,
    /// No connection was made.
    Connect,
    /// Cut before the response's head.
    Cut,
    /// Cut in the response's body.
    Truncated,
    /// An unexpected status.
    Status,
    /// Deadline or protocol.
    Other,
    /// Not sent, or unfinished when the tool was interrupted.
    NotSent,
}

impl Kind {
    /// Every kind, in the order in which they are stacked.
    pub(crate) const ALL: [Self; 7] = [
        Self::Connect,
        Self::Cut,
        Self::Truncated,
        Self::Status,
        Self::Other,
        Self::NotSent,
        Self::Ok,
    ];

    /// In words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Connect => "could not connect",
            Self::Cut => "cut before the response",
            Self::Truncated => "cut in the body",
            Self::Status => "unexpected status",
            Self::Other => "deadline or protocol",
            Self::NotSent => "dropped or aborted",
        }
    }

    /// The kind of an outcome.
    pub(crate) const fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Ok => Self::Ok,
            Outcome::Status | Outcome::BodyMismatch => Self::Status,
            Outcome::Dropped | Outcome::Aborted | Outcome::GaveUp | Outcome::Unrouted => {
                Self::NotSent
            }
            Outcome::DeadlineExceeded | Outcome::Protocol | Outcome::CloseCode => Self::Other,
            o if o.is_truncated() => Self::Truncated,
            o if o.is_connect_failure() => Self::Connect,
            _ => Self::Cut,
        }
    }
}

/// One second of the run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Second {
    /// Requests of each kind, in the order of [`Kind::ALL`].
    pub(crate) counts: [u64; Kind::ALL.len()],
    /// Latencies of the answered ones from the time they were due, ns, in order.
    latencies: Vec<i64>,
}

impl Second {
    /// Requests of that kind.
    pub(crate) fn of(&self, kind: Kind) -> u64 {
        let index = Kind::ALL.iter().position(|k| *k == kind);
        index.map_or(0, |i| self.counts[i])
    }

    /// Requests that failed.
    pub(crate) fn failed(&self) -> u64 {
        self.counts.iter().sum::<u64>() - self.of(Kind::Ok) - self.of(Kind::NotSent)
    }

    /// A latency quantile by nearest rank, ms; `None` when nothing was answered.
    pub(crate) fn quantile(&self, permille: usize) -> Option<f64> {
        quantile(&self.latencies, permille).map(|nanos| nanos as f64 / 1e6)
    }
}

/// Seconds that are told apart; what comes later is put into the last one.
const MOST: usize = 1_000_000;

/// Whole seconds without holes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seconds {
    /// The first one, in run seconds.
    pub(crate) first: i64,
    /// The seconds.
    pub(crate) each: Vec<Second>,
}

/// Latency of an answered request from the time it was due, ns. What was held open has none, and that of journeys is not one
/// that could be added to it: they are closed loop.
pub(crate) fn latency(request: &Request<'_>) -> Option<i64> {
    let answered =
        matches!(request.outcome, Outcome::Ok | Outcome::Status) && request.lane.has_slot();
    let ended = request.ended.filter(|_| answered)?;
    Some(ended.nanos_since(request.scheduled))
}

/// When a request counts, ns of run time: when it was due; for what was held open and failed, when it did.
pub(crate) fn counted_at(request: &Request<'_>) -> i64 {
    let failed = request.lane.is_long_lived() && request.outcome.is_failure();
    let at = request.ended.filter(|_| failed);
    at.unwrap_or(request.scheduled).nanos()
}

/// The second in which a request counts.
pub(crate) fn second(request: &Request<'_>) -> i64 {
    counted_at(request).div_euclid(1_000_000_000)
}

impl Seconds {
    /// The seconds of these requests.
    pub(crate) fn of(requests: &Requests) -> Self {
        let due = requests.iter().map(|r| second(&r));
        let (Some(first), Some(last)) = (due.clone().min(), due.max()) else {
            return Self::default();
        };
        let length = usize::try_from(last - first).unwrap_or(0).min(MOST - 1) + 1;
        let mut each = vec![Second::default(); length];
        for request in requests {
            let at = usize::try_from(second(&request) - first)
                .unwrap_or(0)
                .min(length - 1);
            let kind = Kind::of(request.outcome);
            if let Some(index) = Kind::ALL.iter().position(|k| *k == kind) {
                each[at].counts[index] += 1;
            }
            each[at].latencies.extend(latency(&request));
        }
        for second in &mut each {
            second.latencies.sort_unstable();
        }
        Self { first, each }
    }

    /// The end of the last one, in run seconds.
    pub(crate) fn end(&self) -> i64 {
        self.first + i64::try_from(self.each.len()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_a_kind_that_says_so() {
        for outcome in Outcome::ALL {
            let kind = Kind::of(outcome);
            let failure = !matches!(kind, Kind::Ok | Kind::NotSent);
            assert_eq!(failure, outcome.is_failure(), "{outcome:?}");
        }
    }
}
