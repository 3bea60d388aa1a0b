//! Outcomes and latency over time, in bins of several widths. Bins lie on multiples of their width, by the time at
//! which a request counts: when it was due, or when what was held open failed.

use rollscope_records::{Outcome, Recording, quantile};
use serde_json::{Value, json};

use crate::series::{Kind, counted_at, latency};

/// The series that outcomes are drawn in, in the order in which they are stacked: name, label. They are the kinds of the
/// other reports, but for those that were not sent or left unfinished, which are told apart.
pub(super) const SERIES: [(&str, &str); 8] = [
    ("connect", Kind::Connect.words()),
    ("cut", Kind::Cut.words()),
    ("truncated", Kind::Truncated.words()),
    ("status", Kind::Status.words()),
    ("other", Kind::Other.words()),
    ("dropped", "dropped, not sent"),
    ("aborted", "aborted or given up by the client"),
    ("ok", Kind::Ok.words()),
];

/// Index into [`SERIES`] of an outcome.
pub(super) const fn series_of(outcome: Outcome) -> usize {
    match Kind::of(outcome) {
        Kind::Connect => 0,
        Kind::Cut => 1,
        Kind::Truncated => 2,
        Kind::Status => 3,
        Kind::Other => 4,
        Kind::NotSent if matches!(outcome, Outcome::Dropped) => 5,
        Kind::NotSent => 6,
        Kind::Ok => 7,
    }
}

/// Widths that bins can have, ms.
const WIDTHS: [i64; 9] = [
    50, 200, 1_000, 5_000, 20_000, 60_000, 300_000, 1_800_000, 7_200_000,
];
/// Bins of one level at most.
const MOST_BINS: i64 = 4_000;
/// Requests that a bin should have at least, at the planned rate.
const FEWEST_REQUESTS: f64 = 5.0;

/// Bins of one width.
pub(super) struct Level {
    /// Width of a bin, ms.
    pub(super) width_ms: i64,
    /// Start of the first bin, ms.
    pub(super) from_ms: i64,
    /// The bins, without holes.
    pub(super) bins: Vec<Bin>,
}

/// One bin.
#[derive(Clone, Copy, Default)]
pub(super) struct Bin {
    /// Requests of each series.
    pub(super) counts: [u64; SERIES.len()],
    /// Requests answered in it.
    pub(super) answered: usize,
    /// Median of the latency from the scheduled time of those that were answered, ms.
    pub(super) p50: Option<f64>,
    /// Their 99th percentile, ms.
    pub(super) p99: Option<f64>,
}

/// A quantile of ascending latencies by nearest rank, ms; `None` when there are none.
fn quantile_ms(sorted: &[i64], permille: usize) -> Option<f64> {
    quantile(sorted, permille).map(|nanos| rounded(nanos as f64 / 1e6))
}

fn rounded(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

/// Every level that suits the recording, the finest first; none when it has no request.
pub(super) fn levels(recording: &Recording) -> Vec<Level> {
    let due = recording.requests.iter().map(|r| counted_at(&r));
    let (Some(first), Some(last)) = (due.clone().min(), due.max()) else {
        return Vec::new();
    };
    let span_ms = (last - first) / 1_000_000 + 1;
    let rate = recording.requests.len() as f64 / (span_ms as f64 / 1e3).max(0.001);
    let fits =
        |width: i64| span_ms / width <= MOST_BINS && rate * width as f64 / 1e3 >= FEWEST_REQUESTS;
    let finest = WIDTHS
        .iter()
        .position(|w| fits(*w))
        .unwrap_or(WIDTHS.len() - 1);
    let coarsest = WIDTHS
        .iter()
        .rposition(|w| span_ms / w >= 20)
        .unwrap_or(0)
        .max(finest);
    WIDTHS[finest..=coarsest]
        .iter()
        .map(|width| level(recording, *width, first, last))
        .collect()
}

/// One level. Besides the bins it needs 16 bytes for each answered request, given back before the next level begins.
fn level(recording: &Recording, width_ms: i64, first: i64, last: i64) -> Level {
    let width = width_ms * 1_000_000;
    let from = first.div_euclid(width);
    let index_of = |at: i64| usize::try_from(at.div_euclid(width) - from).unwrap_or(0);
    let mut bins = vec![Bin::default(); index_of(last) + 1];
    let mut answered = Vec::new();
    for request in &recording.requests {
        let index = index_of(counted_at(&request));
        bins[index].counts[series_of(request.outcome)] += 1;
        answered.extend(latency(&request).map(|nanos| (index, nanos)));
    }
    answered.sort_unstable();
    for of_bin in answered.chunk_by(|(a, _), (b, _)| a == b) {
        let latencies: Vec<_> = of_bin.iter().map(|(_, nanos)| *nanos).collect();
        let bin = &mut bins[of_bin[0].0];
        bin.answered = latencies.len();
        bin.p50 = quantile_ms(&latencies, 500);
        bin.p99 = quantile_ms(&latencies, 990);
    }
    Level {
        width_ms,
        from_ms: from * width_ms,
        bins,
    }
}

/// A level for the script: a column for each series that occurs, and one for each quantile.
pub(super) fn level_json(level: &Level) -> Value {
    let column = |series: usize| {
        level
            .bins
            .iter()
            .map(|b| b.counts[series])
            .collect::<Vec<_>>()
    };
    let counts: serde_json::Map<_, _> = (0..SERIES.len())
        .map(|series| (series, column(series)))
        .filter(|(_, counts)| counts.iter().any(|n| *n > 0))
        .map(|(series, counts)| (SERIES[series].0.to_owned(), json!(counts)))
        .collect();
    json!({
        "width_ms": level.width_ms,
        "from_ms": level.from_ms,
        "bins": level.bins.len(),
        "counts": counts,
        "answered": level.bins.iter().map(|b| b.answered).collect::<Vec<_>>(),
        "p50": level.bins.iter().map(|b| b.p50).collect::<Vec<_>>(),
        "p99": level.bins.iter().map(|b| b.p99).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use rollscope_records::{Lane, RequestRecord, RunOffset};

    use super::*;
    use crate::html::fixtures::recording_of;

    fn answered(seq: u64, due_ms: i64, took_ms: i64) -> RequestRecord {
        let mut r =
            RequestRecord::scheduled(seq, Lane::New, "list", RunOffset::from_millis(due_ms));
        r.outcome = Outcome::Ok;
        r.ended = Some(RunOffset::from_millis(due_ms + took_ms));
        r
    }

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let requests = (0..100).map(|i| answered(i, 0, i as i64 + 1)).collect();
        let level = &levels(&recording_of(requests))[0];
        assert_eq!(level.bins[0].p50, Some(50.0));
        assert_eq!(level.bins[0].p99, Some(99.0));
        assert_eq!(quantile_ms(&[], 990), None);
    }

    #[test]
    fn a_request_before_the_start_of_the_run_has_its_own_bin() {
        let requests = (0..200)
            .map(|i| answered(i, i as i64 * 10 - 60, 1))
            .collect();
        let level = &levels(&recording_of(requests))[0];
        assert_eq!((level.width_ms, level.from_ms), (50, -100));
        assert_eq!(level.bins[0].answered, 1);
    }

    #[test]
    fn what_was_held_open_counts_where_it_failed() {
        let mut stream = answered(0, 0, 9_000);
        stream.lane = Lane::Stream;
        stream.outcome = Outcome::EndedEarly;
        let mut requests = vec![stream];
        requests.extend((1..100).map(|i| answered(i, i as i64 * 50, 1)));
        let level = &levels(&recording_of(requests))[0];
        let failed: Vec<_> = (0..level.bins.len())
            .filter(|i| level.bins[*i].counts[series_of(Outcome::EndedEarly)] > 0)
            .map(|i| level.from_ms + i as i64 * level.width_ms)
            .collect();
        assert_eq!(failed, [9_000 / level.width_ms * level.width_ms]);
    }

    #[test]
    fn a_low_rate_has_wider_bins_and_a_long_run_fewer() {
        let slow = (0..100).map(|i| answered(i, i as i64 * 1_000, 1)).collect();
        assert_eq!(levels(&recording_of(slow))[0].width_ms, 5_000);
        let long = (0..400_000).map(|i| answered(i, i as i64 * 5, 1)).collect();
        assert!(
            levels(&recording_of(long))
                .iter()
                .all(|l| l.bins.len() <= 4_001)
        );
    }
}
