//! Requests as they are kept: small, with their texts by number.

use std::collections::{BTreeMap, HashMap};

use rollscope_accesslogs::{Emitter, Entry, Malformed, TryEnd};
use rollscope_records::redact;

use crate::Outside;

/// No text.
pub(crate) const NONE: u32 = u32::MAX;

/// A minute, ns.
const MINUTE: i64 = 60_000_000_000;

/// Names beyond this are put together: the paths of most services are many.
const NAMES: usize = 64;

/// One request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// When it arrived, ns since the epoch.
    pub(crate) began: i64,
    /// How long it took, ns; 0 where it is not known.
    pub(crate) took: i64,
    pub(crate) status: u16,
    pub(crate) end: End,
    /// Its method and the beginning of its path, by number.
    pub(crate) name: u32,
    /// The upstream that decided, by number; [`NONE`] where none is named.
    pub(crate) upstream: u32,
    /// Its line, by number, where that is evidence.
    pub(crate) line: u32,
}

/// How a request ended for its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With a status that is no failure.
    Well,
    /// With 5xx.
    Status,
    /// In the middle of the response.
    Cut,
    /// The client left.
    GaveUp,
}

impl End {
    pub(crate) fn of(entry: &Entry<'_>) -> Self {
        match entry.status {
            _ if entry.emitter == Emitter::ClientGone => Self::GaveUp,
            _ if entry.truncated => Self::Cut,
            Some(status) if status < 500 => Self::Well,
            None => Self::Cut,
            Some(_) => Self::Status,
        }
    }

    pub(crate) const fn failed(self) -> bool {
        matches!(self, Self::Status | Self::Cut)
    }
}

/// Texts by number.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) names: Table,
    pub(crate) upstreams: Table,
    pub(crate) lines: Vec<String>,
}

/// Different texts, each once.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Table {
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(NONE);
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// The same, with everything beyond a number of texts as `other`.
    fn bounded(&mut self, text: &str) -> u32 {
        if self.texts.len() >= NAMES && !self.numbers.contains_key(text) {
            return self.number("other");
        }
        self.number(text)
    }

    pub(crate) fn text(&self, number: u32) -> Option<&str> {
        self.texts.get(number as usize).map(String::as_str)
    }
}

/// Requests and failures of each minute of the epoch.
#[derive(Debug, Default)]
pub(crate) struct Minutes(pub(crate) BTreeMap<i64, Outside>);

impl Minutes {
    pub(crate) fn count(&mut self, at: i64, failed: bool) {
        let of = self.0.entry(at.div_euclid(MINUTE)).or_default();
        of.requests += 1;
        of.failed += u64::from(failed);
    }

    fn add(&mut self, other: Self) {
        for (minute, counts) in other.0 {
            let of = self.0.entry(minute).or_default();
            of.requests += counts.requests;
            of.failed += counts.failed;
        }
    }

    /// All requests.
    pub(crate) fn all(&self) -> Outside {
        let mut sum = Outside::default();
        for counts in self.0.values() {
            sum.requests += counts.requests;
            sum.failed += counts.failed;
        }
        sum
    }

    /// The first whole minutes in `[from, to)` without a request, where the logs have some each minute around it: as
    /// `(from, to)` in ns since the epoch.
    pub(crate) fn hole(&self, from: i64, to: i64) -> Option<(i64, i64)> {
        let (first, last) = (from.div_euclid(MINUTE), to.div_euclid(MINUTE));
        let near = self.0.range(first - 30..=last + 30);
        let (minutes, requests) = near.fold((0, 0), |(n, sum), (_, c)| (n + 1, sum + c.requests));
        // Of a service that is asked once in a while, an empty minute says nothing.
        if minutes == 0 || requests / minutes < 10 {
            return (minutes == 0).then_some((from, to));
        }
        let empty = |minute: &i64| !self.0.contains_key(minute);
        let begin = (first + 1..last).find(empty)?;
        let end = (begin..last).find(|m| !empty(m)).unwrap_or(last);
        Some((begin * MINUTE, end * MINUTE))
    }
}

/// All that was read of the logs.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) lines: u64,
    pub(crate) malformed: Malformed,
    /// Compressed files that end before their end.
    pub(crate) cut: Vec<String>,
    pub(crate) minutes: Minutes,
    pub(crate) rows: Vec<Row>,
    pub(crate) texts: Texts,
}

impl Rows {
    /// Takes a line. `keep`: it lies near a deploy.
    pub(crate) fn take(&mut self, entry: &Entry<'_>, line: &str, keep: impl Fn(i64, i64) -> bool) {
        let (lo, hi) = entry.stamp.began(entry.duration_nanos);
        let began = lo.midpoint(hi);
        let end = End::of(entry);
        let took = entry.duration_nanos.unwrap_or(0).max(0);
        self.minutes.count(began, end.failed());
        if !keep(began, began.saturating_add(took)) {
            return;
        }
        let deciding = entry
            .tries
            .last()
            .filter(|t| t.end != TryEnd::Failed || end.failed());
        let row = Row {
            began,
            took,
            status: entry.status.unwrap_or(0),
            end,
            name: self.texts.names.bounded(&name(entry)),
            upstream: deciding.map_or(NONE, |t| self.texts.upstreams.number(&t.upstream)),
            line: match end.failed() || entry.is_near_miss() {
                true => self.keep_line(line),
                false => NONE,
            },
        };
        self.rows.push(row);
    }

    fn keep_line(&mut self, line: &str) -> u32 {
        let number = u32::try_from(self.texts.lines.len()).unwrap_or(NONE);
        self.texts.lines.push(redact::line(line).into_owned());
        number
    }

    /// Adds what another thread has read.
    pub(crate) fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.malformed.add(other.malformed);
        self.minutes.add(other.minutes);
        let names: Vec<u32> = other
            .texts
            .names
            .texts
            .iter()
            .map(|t| self.texts.names.bounded(t))
            .collect();
        let upstreams = &other.texts.upstreams.texts;
        let upstreams: Vec<u32> = upstreams
            .iter()
            .map(|t| self.texts.upstreams.number(t))
            .collect();
        let lines = u32::try_from(self.texts.lines.len()).unwrap_or(NONE);
        self.texts.lines.extend(other.texts.lines);
        let there =
            |numbers: &[u32], number: u32| numbers.get(number as usize).copied().unwrap_or(NONE);
        self.rows.extend(other.rows.into_iter().map(|row| Row {
            name: there(&names, row.name),
            upstream: there(&upstreams, row.upstream),
            line: if row.line == NONE {
                NONE
            } else {
                row.line.saturating_add(lines)
            },
            ..row
        }));
    }
}

/// The method and the first part of the path: `GET /orders`.
fn name(entry: &Entry<'_>) -> String {
    let method = entry.method.as_deref().unwrap_or("?");
    let path = entry.path.as_deref().unwrap_or("");
    let first = path
        .trim_start_matches('/')
        .split('/')
        .next()
        .unwrap_or_default();
    // An id is no name.
    let known = first.len() <= 40 && !first.chars().any(|c| c.is_ascii_digit());
    format!("{method} /{}", if known { first } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn minutes_without_a_line_in_a_busy_log_are_a_hole_and_in_a_quiet_one_are_not() {
        let (mut busy, mut quiet) = (Minutes::default(), Minutes::default());
        for minute in (0..60).filter(|m| !(20..23).contains(m)) {
            for second in 0..30 {
                busy.count((minute * 60 + second) * S, false);
            }
            quiet.count(minute * 60 * S, false);
        }
        assert_eq!(busy.hole(600 * S, 1_800 * S), Some((1_200 * S, 1_380 * S)));
        assert_eq!(busy.hole(1_400 * S, 1_800 * S), None);
        assert_eq!(quiet.hole(600 * S, 1_800 * S), None);
        assert_eq!(
            quiet.hole(90_000 * S, 90_100 * S),
            Some((90_000 * S, 90_100 * S))
        );
    }

    #[test]
    fn what_two_threads_read_has_the_same_texts_as_if_one_had() {
        let mut one = Rows::default();
        let mut other = Rows::default();
        one.texts.names.number("GET /a");
        let name = other.texts.names.number("GET /b");
        other.rows.push(Row {
            began: 0,
            took: 0,
            status: 200,
            end: End::Well,
            name,
            upstream: NONE,
            line: NONE,
        });
        one.add(other);
        assert_eq!(one.texts.names.text(one.rows[0].name), Some("GET /b"));
        assert_eq!(one.texts.upstreams.text(one.rows[0].upstream), None);
    }
}
