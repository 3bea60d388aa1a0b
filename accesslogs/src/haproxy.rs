//! HAProxy: `option httplog`, and any other `log-format`.
//!
//! The termination state says who ended the session (`C` client, `S` server, `P` proxy; `c` and `s` their timeouts) and
//! in which phase (`C` connecting, `H` waiting for the head, `D` data). Only the last server is named; earlier tries are
//! counted as retries.

use std::borrow::Cow;

use crate::captures::{Captures, Field};
use crate::entry::{Emitter, Entry, Try, TryEnd};
use crate::error::{FormatError, LineError};
use crate::template::{Piece, Template};
use crate::values;

/// The format of `option httplog`.
pub(crate) const HTTPLOG: &str = r#"%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc %ac/%fc/%bc/%sc/%rc %sq/%bq %hr %hs %{+Q}r"#;

/// What stands for a server where there was none.
const NO_SERVER: &str = "<NOSRV>";

/// The template of a `log-format`.
pub(crate) fn template(format: &str) -> Result<Template, FormatError> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        pieces.push(Piece::Literal(rest[..at].to_owned()));
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            pieces.push(Piece::Literal("%".to_owned()));
            rest = after;
            continue;
        }
        let (flags, after) = rest
            .strip_prefix('{')
            .and_then(|r| r.split_once('}'))
            .unwrap_or(("", rest));
        let quoted = flags.contains("+Q");
        let (name, field, after) = variable(after);
        let quote = || quoted.then(|| Piece::Literal("\"".to_owned()));
        pieces.extend(quote());
        pieces.push(Piece::Variable {
            name: format!("%{name}"),
            field,
            list: false,
        });
        pieces.extend(quote());
        rest = after;
    }
    pieces.push(Piece::Literal(rest.to_owned()));
    Template::of(pieces)
}

/// The name at the beginning, its field, and what follows.
fn variable(text: &str) -> (&str, Field, &str) {
    if let Some((expression, after)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        let id = [
            "request-id",
            "request_id",
            "unique-id",
            "capture.req.hdr(0)",
        ];
        let field = match id.iter().any(|i| expression.contains(i)) {
            true => Field::RequestId,
            false => Field::Other,
        };
        return (expression, field, after);
    }
    let letter = |c: char| !c.is_ascii_alphabetic();
    let (name, after) = text.split_at(text.find(letter).unwrap_or(text.len()));
    let field = match name {
        "ci" => Field::ClientIp,
        "cp" => Field::ClientPort,
        "tr" | "trg" | "trl" | "t" | "T" | "Tl" => Field::StartTime,
        "s" => Field::Server,
        "si" => Field::ServerIp,
        "sp" => Field::ServerPort,
        "Ta" | "Tt" => Field::DurationMillis,
        "ST" => Field::Status,
        "ts" | "tsc" => Field::Reason,
        "rc" => Field::Retries,
        "r" => Field::Request,
        "HM" => Field::Method,
        "HP" | "HPO" | "HU" => Field::Path,
        "ID" => Field::RequestId,
        "hr" | "hs" => Field::Braces,
        _ => Field::Other,
    };
    (name, field, after)
}

/// A line without what syslog puts before it.
pub(crate) fn without_syslog(line: &str) -> &str {
    let Some(at) = line.find("haproxy[") else {
        return line;
    };
    line[at..]
        .find("]: ")
        .map_or(line, |end| &line[at + end + 3..])
}

/// The entry of a line's values.
pub(crate) fn entry<'a>(found: &Captures<'a>, zone_seconds: i32) -> Result<Entry<'a>, LineError> {
    let mut entry = values::entry(found, zone_seconds)?;
    if entry.duration_nanos.is_none() {
        // With `option logasap` a total so far, written as +12.
        let so_far = found.get(Field::DurationMillis);
        let so_far = so_far.and_then(|t| t.strip_prefix('+'));
        entry.duration_nanos = so_far.and_then(crate::times::millis);
    }
    let state = found.raw(Field::Reason).unwrap_or_default().as_bytes();
    let (who, when) = match state {
        [who, when, ..] => (*who, *when),
        _ => return Err(LineError::Lacks("termination state")),
    };
    let upstream = upstream(found);
    entry.emitter = emitter(who, when, upstream.is_some());
    entry.truncated = matches!(when, b'D' | b'L') && who != b'-';
    entry.unnamed_tries = retries(found);
    entry.tries.extend(upstream.map(|upstream| Try {
        upstream,
        status: entry.status,
        time_nanos: None,
        end: end(who, when),
    }));
    Ok(entry)
}

/// The last server, by its address where the format has it.
fn upstream<'a>(found: &Captures<'a>) -> Option<Cow<'a, str>> {
    let named = found.get(Field::Server).filter(|s| *s != NO_SERVER);
    if found.raw(Field::Server).is_some() && named.is_none() {
        return None;
    }
    match (found.get(Field::ServerIp), found.get(Field::ServerPort)) {
        (Some(ip), Some(port)) => Some(Cow::Owned(format!("{ip}:{port}"))),
        (Some(ip), None) => Some(Cow::Borrowed(ip)),
        _ => named.map(Cow::Borrowed),
    }
}

/// Retries; a plus says that the last one went to another server.
fn retries(found: &Captures<'_>) -> u32 {
    let text = found.get(Field::Retries).unwrap_or("0");
    text.trim_start_matches('+').parse().unwrap_or(0)
}

const fn emitter(who: u8, when: u8, server: bool) -> Emitter {
    match (who, when) {
        (b'C' | b'c', _) => Emitter::ClientGone,
        (b'-', _) if server => Emitter::Upstream,
        // The status had been passed on when it ended.
        (b'S' | b's' | b'D' | b'P' | b'K' | b'U', b'D' | b'L') => Emitter::Upstream,
        _ => Emitter::Balancer,
    }
}

const fn end(who: u8, when: u8) -> TryEnd {
    match (who, when) {
        (b's', b'C' | b'H') => TryEnd::TimedOut,
        (_, b'C') => TryEnd::Refused,
        (b'-', _) => TryEnd::Answered,
        (b'C' | b'c', b'H') => TryEnd::Failed,
        (_, b'H') => TryEnd::Cut,
        (_, b'D' | b'L') => TryEnd::Truncated,
        _ => TryEnd::Failed,
    }
}
