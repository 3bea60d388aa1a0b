//! Counts and histograms of a running load.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use hdrhistogram::Histogram;
use rollscope_records::{Lateness, Outcome, RequestRecord, RunOffset};
use tokio::sync::Notify;

/// The longest time that the histograms tell apart, microseconds: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// How often the quantiles are computed for [`LoadStats`], ns.
const PUBLISH_EVERY: i64 = 1_000_000_000;

/// The state of a running load. `planned = sent + dropped` and `sent = ok + failed + aborted + in_flight`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LoadStats {
    /// Slots that were due so far.
    pub planned: u64,
    /// Slots that were sent.
    pub sent: u64,
    /// Complete, expected responses.
    pub ok: u64,
    /// Everything else that was sent and ended.
    pub failed: u64,
    /// Slots over the in-flight cap.
    pub dropped: u64,
    /// Unfinished when the load was stopped.
    pub aborted: u64,
    /// Sent and not yet over.
    pub in_flight: u64,
    /// Pooled connections that the peer closed while no request was on them.
    pub idle_closes: u64,
    /// Slots sent per second, over the last second or more that was looked at.
    pub achieved_per_second: f64,
    /// 99th percentile of the lateness of dispatch behind the schedule so far, microseconds.
    pub lateness_p99_us: u64,
    /// Latency of answered requests from the time they were due: what a user feels.
    pub from_scheduled: LatencySnapshot,
    /// Latency of answered requests from dispatch: what the service did.
    pub from_dispatched: LatencySnapshot,
}

/// Quantiles of a latency, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LatencySnapshot {
    /// Median.
    pub p50_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// Largest.
    pub max_us: u64,
}

/// Counters that other threads read.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    sent: AtomicU64,
    ok: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    aborted: AtomicU64,
    idle_closes: AtomicU64,
    max_in_flight: AtomicU64,
    quantiles: Mutex<LoadStats>,
}

impl Counters {
    /// The state now.
    pub(crate) fn snapshot(&self) -> LoadStats {
        let quantiles = *self
            .quantiles
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Ends are read before beginnings, so that no difference is ever negative.
        let (ok, failed) = (self.ok.load(Relaxed), self.failed.load(Relaxed));
        let aborted = self.aborted.load(Relaxed);
        let dropped = self.dropped.load(Relaxed);
        let sent = self.sent.load(Relaxed);
        LoadStats {
            planned: sent + dropped,
            sent,
            ok,
            failed,
            dropped,
            aborted,
            in_flight: sent.saturating_sub(ok + failed + aborted),
            idle_closes: self.idle_closes.load(Relaxed),
            ..quantiles
        }
    }

    /// The most requests that were in flight at once.
    pub(crate) fn max_in_flight(&self) -> u64 {
        self.max_in_flight.load(Relaxed)
    }
}

struct Histograms {
    lateness: Histogram<u64>,
    from_scheduled: Histogram<u64>,
    from_dispatched: Histogram<u64>,
    published: RunOffset,
    sent_when_published: u64,
}

/// The generator's own side of the counts: lives on its thread.
pub(crate) struct Tally {
    counters: Arc<Counters>,
    histograms: RefCell<Histograms>,
    /// Woken when nothing is in flight any more.
    pub(crate) idle: Notify,
}

impl std::fmt::Debug for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tally")
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

fn histogram() -> Histogram<u64> {
    let bounded = Histogram::new_with_bounds(1, LONGEST_US, 3);
    bounded.unwrap_or_else(|_| unreachable!("constant, valid bounds"))
}

fn micros(nanos: i64) -> u64 {
    u64::try_from(nanos / 1000).unwrap_or(0)
}

fn latency(histogram: &Histogram<u64>) -> LatencySnapshot {
    LatencySnapshot {
        p50_us: histogram.value_at_quantile(0.5),
        p99_us: histogram.value_at_quantile(0.99),
        max_us: histogram.max(),
    }
}

impl Tally {
    /// Nothing has happened yet. `counters` is what other threads see of it.
    pub(crate) fn new(counters: Arc<Counters>, now: RunOffset) -> Self {
        Self {
            counters,
            histograms: RefCell::new(Histograms {
                lateness: histogram(),
                from_scheduled: histogram(),
                from_dispatched: histogram(),
                published: now,
                sent_when_published: 0,
            }),
            idle: Notify::new(),
        }
    }

    /// Requests in flight.
    pub(crate) fn in_flight(&self) -> u64 {
        let c = &self.counters;
        let ended = c.ok.load(Relaxed) + c.failed.load(Relaxed) + c.aborted.load(Relaxed);
        c.sent.load(Relaxed) - ended
    }

    /// A slot is being sent.
    pub(crate) fn sent(&self) {
        self.counters.sent.fetch_add(1, Relaxed);
        self.counters
            .max_in_flight
            .fetch_max(self.in_flight(), Relaxed);
    }

    /// A slot was over the cap.
    pub(crate) fn dropped(&self) {
        self.counters.dropped.fetch_add(1, Relaxed);
    }

    /// A slot was dispatched this long (ns) after it was due.
    pub(crate) fn dispatched(&self, late_nanos: i64) {
        let mut histograms = self.histograms.borrow_mut();
        histograms.lateness.saturating_record(micros(late_nanos));
    }

    /// A slot that was sent is over.
    pub(crate) fn ended(&self, record: &RequestRecord) {
        let counter = match record.outcome {
            Outcome::Ok => &self.counters.ok,
            Outcome::Aborted => &self.counters.aborted,
            _ => &self.counters.failed,
        };
        counter.fetch_add(1, Relaxed);
        if matches!(record.outcome, Outcome::Ok | Outcome::Status) {
            self.answered(record);
        }
        if self.in_flight() == 0 {
            self.idle.notify_waiters();
        }
    }

    fn answered(&self, record: &RequestRecord) {
        let (Some(dispatched), Some(ended)) = (record.dispatched, record.ended) else {
            return;
        };
        let mut histograms = self.histograms.borrow_mut();
        let from_scheduled = micros(ended.nanos_since(record.scheduled));
        histograms.from_scheduled.saturating_record(from_scheduled);
        let from_dispatched = micros(ended.nanos_since(dispatched));
        histograms
            .from_dispatched
            .saturating_record(from_dispatched);
    }

    /// A pooled connection was closed by the peer while no request was on it.
    pub(crate) fn idle_close(&self) {
        self.counters.idle_closes.fetch_add(1, Relaxed);
    }

    /// Computes the quantiles for other threads, if the last ones are old.
    pub(crate) fn publish(&self, now: RunOffset) {
        let mut histograms = self.histograms.borrow_mut();
        let elapsed = now.nanos_since(histograms.published);
        if elapsed < PUBLISH_EVERY {
            return;
        }
        let sent = self.counters.sent.load(Relaxed);
        let since = sent - histograms.sent_when_published;
        (histograms.published, histograms.sent_when_published) = (now, sent);
        let quantiles = LoadStats {
            achieved_per_second: since as f64 * 1e9 / elapsed as f64,
            lateness_p99_us: histograms.lateness.value_at_quantile(0.99),
            from_scheduled: latency(&histograms.from_scheduled),
            from_dispatched: latency(&histograms.from_dispatched),
            ..LoadStats::default()
        };
        *self
            .counters
            .quantiles
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = quantiles;
    }

    /// The lateness of all dispatches.
    pub(crate) fn lateness(&self) -> Lateness {
        let histograms = self.histograms.borrow();
        let at = |quantile: f64| histograms.lateness.value_at_quantile(quantile);
        Lateness {
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: histograms.lateness.max(),
        }
    }
}
