//! Everything that balancers wrote down, parsed and joined.

use std::collections::BTreeMap;

use rollscope_accesslogs::{Emitter, Entry, Format, Malformed, Parser, TryEnd};
use rollscope_records::{BalancerLog, BalancerRecord, Interval, Recording, Request, Requests};

use super::join::Join;
use super::report::Counts;
use crate::clocks::Clocks;
use crate::kube_time::WrittenTime;
use crate::traffic::Kind;

/// What balancers say of the requests.
#[derive(Default)]
pub(crate) struct Balancers {
    /// Of failed requests and near misses, by the request's index in the order of the schedule.
    pub(super) met: BTreeMap<usize, Met>,
    /// By balancer.
    pub(super) counts: BTreeMap<String, Counts>,
}

/// What became of a request, by its line.
#[derive(Debug, Clone)]
pub(crate) struct Met {
    emitter: Emitter,
    status: Option<u16>,
    /// Address and end of each try that is named.
    tries: Vec<(String, TryEnd)>,
    /// How long the first try took, ns: one that is not named is taken to have failed at once, since balancers try again
    /// above all where no connection was made.
    pub(super) first_took: i64,
    unnamed: u32,
    /// The client was content although a try had failed.
    pub(super) near_miss: bool,
}

/// A log whose lines are being read.
struct Reading {
    log: BalancerLog,
    parser: Option<Parser>,
    lines: u64,
}

impl Balancers {
    /// Reads the logs of a recording; `requests` are in the order of the schedule.
    pub(crate) fn of(recording: &Recording, requests: &Requests, clocks: &Clocks) -> Self {
        let mut book = Self::default();
        if recording.balancers.is_empty() {
            return book;
        }
        let mut logs: BTreeMap<u32, Reading> = BTreeMap::new();
        let mut join = Join::of(requests, &recording.run.requests);
        for record in &recording.balancers {
            match record {
                BalancerRecord::Log(log) => {
                    logs.insert(log.log, Reading::of(log));
                    book.counts.entry(log.balancer.clone()).or_default();
                }
                BalancerRecord::Line {
                    log, line, request, ..
                } => {
                    if let Some(reading) = logs.get_mut(log) {
                        let known = request.and_then(|seq| join.numbered(seq));
                        book.read(reading, line, known, clocks, &mut join);
                    }
                }
            }
        }
        book
    }

    fn read(
        &mut self,
        reading: &mut Reading,
        line: &str,
        known: Option<usize>,
        clocks: &Clocks,
        join: &mut Join<'_>,
    ) {
        reading.lines += 1;
        let Some(parser) = &reading.parser else {
            return;
        };
        let counts = self.counts.entry(reading.log.balancer.clone()).or_default();
        let entry = match parser.parse(line) {
            Ok(entry) => entry,
            Err(error) => {
                counts.malformed.count(reading.lines, line, &error);
                return;
            }
        };
        let spans = spans(&entry, &reading.log, clocks);
        let request = known.or_else(|| join.request(&entry, spans));
        counts.add(&entry, request.is_some());
        let Some(request) = request else {
            return;
        };
        let failed = join.requests.row(request).outcome.is_failure();
        let near_miss = entry.is_near_miss() && !failed;
        if failed || near_miss {
            self.met.insert(request, Met::of(&entry, near_miss));
        }
    }

    /// What it says of failed requests and near misses, by their index.
    pub(crate) fn all_met(&self) -> impl Iterator<Item = (usize, &Met)> {
        self.met.iter().map(|(index, met)| (*index, met))
    }

    /// What it says of the request at `index`.
    pub(crate) fn met(&self, index: usize) -> Option<&Met> {
        self.met.get(&index)
    }
}

impl Reading {
    fn of(log: &BalancerLog) -> Self {
        let format = log.format.as_ref();
        let format = format.and_then(|f| f.parse::<Format>().ok());
        Self {
            log: log.clone(),
            parser: format.and_then(|f| Parser::new(&f, 0).ok()),
            lines: 0,
        }
    }
}

/// When a request arrived and when it was over, on the run's clock.
fn spans(entry: &Entry<'_>, log: &BalancerLog, clocks: &Clocks) -> (Interval, Interval) {
    let on_run = |(lo, hi): (i64, i64)| {
        let written = WrittenTime {
            unix_nanos: lo,
            resolution: hi.saturating_sub(lo),
        };
        match &log.clock {
            Some(clock) => clocks.to_run(clock, written),
            None => clocks.of_own_host(written),
        }
    };
    let length = entry.duration_nanos;
    (
        on_run(entry.stamp.began(length)),
        on_run(entry.stamp.ended(length)),
    )
}

impl Met {
    fn of(entry: &Entry<'_>, near_miss: bool) -> Self {
        let tries = entry.tries.iter();
        Self {
            emitter: entry.emitter,
            status: entry.status,
            tries: tries.map(|t| (t.upstream.to_string(), t.end)).collect(),
            first_took: first_took(entry),
            unnamed: entry.unnamed_tries,
            near_miss,
        }
    }

    /// The same request as if its first try had been its last.
    pub(super) fn without_retries(&self) -> Self {
        let first = if self.unnamed > 0 {
            None
        } else {
            self.tries.first()
        };
        Self {
            emitter: if self.unnamed > 0 {
                Emitter::Unknown
            } else {
                Emitter::Balancer
            },
            status: Some(502),
            tries: first.cloned().into_iter().collect(),
            first_took: self.first_took,
            unnamed: 0,
            near_miss: false,
        }
    }

    /// What happened to a request that ended with a status, where the line decides it.
    pub(crate) fn kind(&self, r: &Request<'_>) -> Option<Kind> {
        if r.outcome != rollscope_records::Outcome::Status {
            return None;
        }
        match (self.emitter, self.tries.last()) {
            (Emitter::Upstream, _) => Some(Kind::AppStatus(self.status.or(r.status)?)),
            (Emitter::Balancer, None) => Some(Kind::NoBackend),
            (Emitter::Balancer, Some((_, end))) => match end {
                TryEnd::Refused => Some(Kind::Refused),
                TryEnd::Cut | TryEnd::Truncated => Some(Kind::Cut),
                TryEnd::TimedOut => Some(Kind::Vanished),
                TryEnd::Answered | TryEnd::Failed => None,
            },
            (Emitter::ClientGone | Emitter::Unknown, _) => None,
        }
    }

    /// Whether the status is not the upstream's own.
    pub(crate) fn is_not_upstreams(&self) -> bool {
        self.emitter != Emitter::Upstream
    }

    /// The address of the upstream that decided, without its port.
    pub(crate) fn ip(&self) -> Option<&str> {
        let (address, _) = self.tries.last()?;
        let (ip, _) = address.rsplit_once(':')?;
        Some(ip.trim_matches(['[', ']']))
    }
}

fn first_took(entry: &Entry<'_>) -> i64 {
    let named = entry.tries.first().filter(|_| entry.unnamed_tries == 0);
    named.and_then(|t| t.time_nanos).unwrap_or(0)
}

/// What a report needs of lines that could not be read.
pub(super) fn malformed_words(name: &str, malformed: &Malformed) -> Vec<String> {
    malformed.words(&format!("the log of {name}"))
}
