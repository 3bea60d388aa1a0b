//! Counts and histograms of a running load.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use hdrhistogram::Histogram;
use rollscope_records::{Lateness, Outcome, RequestRecord, RunOffset};
use tokio::sync::Notify;

/// The longest time that the histograms tell apart, microseconds: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// The longest lateness that is told apart, microseconds: a minute.
const LATEST_US: u64 = 60_000_000;

/// How often the quantiles are computed for [`LoadStats`], ns.
const PUBLISH_EVERY: i64 = 1_000_000_000;

/// The state of a running load. `planned = sent + dropped` and `sent = ok + failed + aborted + in_flight`. A connection
/// that is held open counts as sent from the attempt to its end, a step of a journey once it is over.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LoadStats {
    /// Slots that were due so far.
    pub planned: u64,
    /// Slots that were sent.
    pub sent: u64,
    /// Complete, expected responses.
    pub ok: u64,
    /// Everything else that was sent and ended by itself.
    pub failed: u64,
    /// Slots over the in-flight cap.
    pub dropped: u64,
    /// Unfinished when the load was stopped, or given up as the scenario says.
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

impl LoadStats {
    /// The counts with those of what goes on beside the slots: connections that are held open, or journeys.
    pub(crate) const fn with_beside(self, held: &Self) -> Self {
        Self {
            planned: self.planned + held.planned,
            sent: self.sent + held.sent,
            ok: self.ok + held.ok,
            failed: self.failed + held.failed,
            aborted: self.aborted + held.aborted,
            in_flight: self.in_flight + held.in_flight,
            ..self
        }
    }
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

/// Counters of a load, shared by its threads and by whoever watches.
#[derive(Debug)]
pub(crate) struct Counters {
    sent: AtomicU64,
    in_flight: AtomicU64,
    ok: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    aborted: AtomicU64,
    idle_closes: AtomicU64,
    max_in_flight: AtomicU64,
    /// What each thread last said of its rate and quantiles.
    published: Mutex<Vec<LoadStats>>,
}

impl Counters {
    /// The counters of a load of so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            sent: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            ok: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            aborted: AtomicU64::new(0),
            idle_closes: AtomicU64::new(0),
            max_in_flight: AtomicU64::new(0),
            published: Mutex::new(vec![LoadStats::default(); threads]),
        }
    }

    /// The state now.
    pub(crate) fn snapshot(&self) -> LoadStats {
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
            ..self.published()
        }
    }

    /// The threads' rates together, and the worst of their quantiles.
    fn published(&self) -> LoadStats {
        let published = self
            .published
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut all = LoadStats::default();
        for one in published.iter() {
            all.achieved_per_second += one.achieved_per_second;
            all.lateness_p99_us = all.lateness_p99_us.max(one.lateness_p99_us);
            all.from_scheduled = all.from_scheduled.or_worse(one.from_scheduled);
            all.from_dispatched = all.from_dispatched.or_worse(one.from_dispatched);
        }
        all
    }

    fn publish(&self, thread: usize, stats: LoadStats) {
        let mut published = self
            .published
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        published[thread] = stats;
    }

    /// The most requests that were in flight at once.
    pub(crate) fn max_in_flight(&self) -> u64 {
        self.max_in_flight.load(Relaxed)
    }
}

impl LatencySnapshot {
    fn or_worse(self, other: Self) -> Self {
        Self {
            p50_us: self.p50_us.max(other.p50_us),
            p99_us: self.p99_us.max(other.p99_us),
            max_us: self.max_us.max(other.max_us),
        }
    }
}

struct Histograms {
    lateness: Histogram<u64>,
    from_scheduled: Histogram<u64>,
    from_dispatched: Histogram<u64>,
    published: RunOffset,
    sent_when_published: u64,
}

/// One thread's side of the counts.
pub(crate) struct Tally {
    counters: Arc<Counters>,
    thread: usize,
    histograms: RefCell<Histograms>,
    /// What this thread sent, and what of that is in flight.
    sent: Cell<u64>,
    in_flight: Cell<u64>,
    /// Notified whenever nothing of this thread is in flight any more.
    pub(crate) idle: Notify,
}

impl std::fmt::Debug for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tally")
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

#[expect(
    clippy::expect_used,
    reason = "the bounds are constants that a histogram accepts"
)]
fn histogram(longest: u64) -> Histogram<u64> {
    Histogram::new_with_bounds(1, longest, 3).expect("valid bounds")
}

/// Microseconds of a time in ns; what is before zero is zero.
fn micros(nanos: i64) -> u64 {
    u64::try_from(nanos).unwrap_or(0) / 1_000
}

fn latency(histogram: &Histogram<u64>) -> LatencySnapshot {
    LatencySnapshot {
        p50_us: histogram.value_at_quantile(0.5),
        p99_us: histogram.value_at_quantile(0.99),
        max_us: histogram.max(),
    }
}

/// The quantiles of the lateness of all threads.
pub(crate) fn lateness<'h>(of_threads: impl Iterator<Item = &'h Histogram<u64>>) -> Lateness {
    let mut all = histogram(LATEST_US);
    for one in of_threads {
        // Both have the same bounds, so that every value fits.
        let _ = all.add(one);
    }
    Lateness {
        p50: all.value_at_quantile(0.5),
        p99: all.value_at_quantile(0.99),
        p999: all.value_at_quantile(0.999),
        max: all.max(),
    }
}

impl Tally {
    /// An empty tally of thread `thread` for `counters`.
    pub(crate) fn new(counters: Arc<Counters>, thread: usize, now: RunOffset) -> Self {
        Self {
            counters,
            thread,
            histograms: RefCell::new(Histograms {
                lateness: histogram(LATEST_US),
                from_scheduled: histogram(LONGEST_US),
                from_dispatched: histogram(LONGEST_US),
                published: now,
                sent_when_published: 0,
            }),
            sent: Cell::new(0),
            in_flight: Cell::new(0),
            idle: Notify::new(),
        }
    }

    /// Whether something of this thread is in flight.
    pub(crate) fn is_busy(&self) -> bool {
        self.in_flight.get() > 0
    }

    /// A slot is to be sent, if no more than `cap` requests are in flight then. Otherwise it is dropped.
    pub(crate) fn admit(&self, cap: u64) -> bool {
        let in_flight = self.counters.in_flight.fetch_add(1, Relaxed) + 1;
        if in_flight > cap {
            self.counters.in_flight.fetch_sub(1, Relaxed);
            self.counters.dropped.fetch_add(1, Relaxed);
            return false;
        }
        self.counters.sent.fetch_add(1, Relaxed);
        self.counters.max_in_flight.fetch_max(in_flight, Relaxed);
        self.sent.set(self.sent.get() + 1);
        self.in_flight.set(self.in_flight.get() + 1);
        true
    }

    /// A slot was dispatched this long (ns) after it was due.
    pub(crate) fn dispatched(&self, late_nanos: i64) {
        let mut histograms = self.histograms.borrow_mut();
        histograms.lateness.saturating_record(micros(late_nanos));
    }

    /// A slot that was sent is over.
    pub(crate) fn ended<T>(&self, record: &RequestRecord<T>) {
        let counter = match record.outcome {
            Outcome::Ok => &self.counters.ok,
            outcome if outcome.is_own_doing() => &self.counters.aborted,
            _ => &self.counters.failed,
        };
        counter.fetch_add(1, Relaxed);
        self.counters.in_flight.fetch_sub(1, Relaxed);
        self.in_flight.set(self.in_flight.get() - 1);
        if matches!(record.outcome, Outcome::Ok | Outcome::Status) {
            self.answered(record);
        }
        if !self.is_busy() {
            self.idle.notify_waiters();
        }
    }

    fn answered<T>(&self, record: &RequestRecord<T>) {
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
        let sent = self.sent.get();
        let since = sent - histograms.sent_when_published;
        (histograms.published, histograms.sent_when_published) = (now, sent);
        let stats = LoadStats {
            achieved_per_second: since as f64 * 1e9 / elapsed as f64,
            lateness_p99_us: histograms.lateness.value_at_quantile(0.99),
            from_scheduled: latency(&histograms.from_scheduled),
            from_dispatched: latency(&histograms.from_dispatched),
            ..LoadStats::default()
        };
        self.counters.publish(self.thread, stats);
    }

    /// The lateness of all dispatches of this thread, microseconds.
    pub(crate) fn lateness(&self) -> Histogram<u64> {
        self.histograms.borrow().lateness.clone()
    }
}
