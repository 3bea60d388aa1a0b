//! The files of an AWS Application Load Balancer: fields separated by blanks, some of them in quotes.

use std::borrow::Cow;

use crate::captures::{Captures, Field};
use crate::entry::{Emitter, Entry, Try, TryEnd};
use crate::error::LineError;
use crate::{times, values};

/// The client closed the connection before the idle timeout.
const CLIENT_LEFT: u16 = 460;

/// Positions of the fields.
mod at {
    pub(super) const TIME: usize = 1;
    pub(super) const CLIENT: usize = 3;
    pub(super) const TARGET: usize = 4;
    pub(super) const REQUEST_TIME: usize = 5;
    pub(super) const TARGET_TIME: usize = 6;
    pub(super) const RESPONSE_TIME: usize = 7;
    pub(super) const STATUS: usize = 8;
    pub(super) const TARGET_STATUS: usize = 9;
    pub(super) const REQUEST: usize = 12;
    pub(super) const TRACE: usize = 17;
    pub(super) const ERROR: usize = 24;
    pub(super) const TARGETS: usize = 25;
    pub(super) const TARGET_STATUSES: usize = 26;
    /// As many as are looked at; later fields may be added.
    pub(super) const KNOWN: usize = 27;
}

/// The entry of a line.
pub(crate) fn entry(line: &str) -> Result<Entry<'_>, LineError> {
    let fields = Fields::of(line)?;
    let mut found = Captures::new();
    for (position, field) in [
        (at::TIME, Field::Time),
        (at::CLIENT, Field::ClientIp),
        (at::STATUS, Field::Status),
        (at::REQUEST, Field::Request),
        (at::TRACE, Field::RequestId),
        (at::ERROR, Field::Reason),
    ] {
        if let Some(value) = fields.get(position) {
            found.set(field, value);
        }
    }
    let mut entry = values::entry(&found, 0)?;
    entry.duration_nanos = fields.duration();
    entry.tries = fields.tries(entry.status)?;
    entry.emitter = match entry.status {
        Some(CLIENT_LEFT) => Emitter::ClientGone,
        None => Emitter::Unknown,
        status => values::of_last_try(status, &entry.tries),
    };
    Ok(entry)
}

/// The fields of a line, without their quotes.
struct Fields<'a> {
    known: [&'a str; at::KNOWN],
    count: usize,
}

impl<'a> Fields<'a> {
    fn of(line: &'a str) -> Result<Self, LineError> {
        let mut fields = Self {
            known: [""; at::KNOWN],
            count: 0,
        };
        let mut rest = line.trim_end();
        while fields.count < at::KNOWN && !rest.is_empty() {
            let (value, after) = match rest.strip_prefix('"') {
                Some(quoted) => {
                    let end = end_of_quoted(quoted).ok_or_else(|| LineError::Form("\"".into()))?;
                    (&quoted[..end], &quoted[end + 1..])
                }
                None => rest.split_at(rest.find(' ').unwrap_or(rest.len())),
            };
            fields.known[fields.count] = value;
            fields.count += 1;
            rest = after.strip_prefix(' ').unwrap_or(after);
        }
        if fields.count <= at::REQUEST {
            return Err(LineError::Lacks("request: too few fields"));
        }
        Ok(fields)
    }

    fn get(&self, position: usize) -> Option<&'a str> {
        (position < self.count).then(|| self.known[position])
    }

    /// The three parts of the time together; -1 where a target gave no answer, and then it is not known.
    fn duration(&self) -> Option<i64> {
        [at::REQUEST_TIME, at::TARGET_TIME, at::RESPONSE_TIME]
            .into_iter()
            .map(|part| times::seconds(self.known[part]))
            .sum()
    }

    fn tries(&self, status: Option<u16>) -> Result<Vec<Try<'a>>, LineError> {
        let value = |position| self.get(position).filter(|v| !matches!(*v, "-" | ""));
        let (targets, statuses) = match value(at::TARGETS) {
            Some(targets) => (targets, value(at::TARGET_STATUSES)),
            None => match value(at::TARGET) {
                Some(target) => (target, value(at::TARGET_STATUS)),
                None => return Ok(Vec::new()),
            },
        };
        let mut statuses = statuses.into_iter().flat_map(|s| s.split(' '));
        let time = times::seconds(self.known[at::TARGET_TIME]);
        targets
            .split(' ')
            .map(|target| {
                let own = statuses.next().map_or(Ok(None), values::status)?;
                Ok(Try {
                    upstream: Cow::Borrowed(target),
                    status: own,
                    time_nanos: time,
                    end: match own {
                        Some(_) => TryEnd::Answered,
                        None if status == Some(504) => TryEnd::TimedOut,
                        None => TryEnd::Failed,
                    },
                })
            })
            .collect()
    }
}

/// Where the quote is that is not escaped.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|b| {
        let end = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        end
    })
}
