//! Samples of the target's clocks, from the `Date` of its responses: what several generators have in common.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::UNIX_EPOCH;

use http::HeaderValue;
use rollscope_records::{ClockSample, RunOffset};

/// A `Date` has whole seconds.
const RESOLUTION_NANOS: i64 = 1_000_000_000;

/// The last response of each clock. Only those before and after a second's end are samples: the others bound nothing
/// better.
#[derive(Debug, Default)]
pub(crate) struct Dates(RefCell<HashMap<Option<String>, Seen>>);

#[derive(Debug, Clone)]
struct Seen {
    date: HeaderValue,
    before: RunOffset,
    after: RunOffset,
}

impl Dates {
    /// A response of `pod` (where it is known) with this `Date`, which was asked for after `before` and had come by
    /// `after`. Returns the samples that it completes.
    pub(crate) fn seen(
        &self,
        pod: Option<&str>,
        date: HeaderValue,
        before: RunOffset,
        after: RunOffset,
    ) -> Vec<ClockSample> {
        let now = Seen {
            date,
            before,
            after,
        };
        let pod = pod.map(str::to_owned);
        let last = self.0.borrow_mut().insert(pod.clone(), now.clone());
        match last {
            Some(last) if last.date == now.date => Vec::new(),
            last => {
                let both = last.iter().chain([&now]);
                both.filter_map(|seen| seen.sample(pod.as_deref()))
                    .collect()
            }
        }
    }
}

impl Seen {
    fn sample(&self, pod: Option<&str>) -> Option<ClockSample> {
        let date = httpdate::parse_http_date(self.date.to_str().ok()?).ok()?;
        let reading = date.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        Some(ClockSample {
            clock: pod.map_or_else(|| "target".to_owned(), |p| format!("target/{p}")),
            before: self.before,
            after: self.after,
            reading_unix_nanos: i64::try_from(reading).ok()?,
            resolution_nanos: RESOLUTION_NANOS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_responses_around_the_end_of_a_second_are_samples() {
        let dates = Dates::default();
        let seen = |second: u64, at: i64| {
            let date = httpdate::fmt_http_date(UNIX_EPOCH + std::time::Duration::from_secs(second));
            let date = HeaderValue::try_from(date).unwrap_or(HeaderValue::from_static(""));
            let (before, after) = (RunOffset(at), RunOffset(at + 1));
            let samples = dates.seen(Some("web-0"), date, before, after);
            let times = samples.iter().map(|s| (s.reading_unix_nanos, s.before.0));
            times.collect::<Vec<_>>()
        };
        assert_eq!(seen(5, 10), [(5_000_000_000, 10)]);
        assert_eq!(seen(5, 20), []);
        assert_eq!(seen(5, 30), []);
        assert_eq!(seen(6, 40), [(5_000_000_000, 30), (6_000_000_000, 40)]);
    }
}
