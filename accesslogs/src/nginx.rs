//! nginx: `combined`, the ingress controller's format, and any other `log_format`.
//!
//! nginx writes the status 502 or 504 down for an upstream that gave none. Whether the upstream or nginx made it shows in
//! `$upstream_connect_time` and `$upstream_header_time`, which are `-` where no connection or no head came; without them
//! in the length of the response, which is 0 where nothing came.

use std::borrow::Cow;

use crate::captures::{Captures, Field};
use crate::entry::{Emitter, Entry, Try, TryEnd};
use crate::error::{FormatError, LineError};
use crate::template::{Piece, Template};
use crate::{times, values};

/// nginx's own format.
pub(crate) const COMBINED: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;

/// The format of the Kubernetes ingress controller.
pub(crate) const INGRESS: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id"#;

/// A status that nginx gives a request whose client has left.
const CLIENT_LEFT: u16 = 499;

/// The template of a `log_format`.
pub(crate) fn template(format: &str) -> Result<Template, FormatError> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('$') {
        pieces.push(Piece::Literal(rest[..at].to_owned()));
        rest = &rest[at + 1..];
        let (name, after) = match rest.strip_prefix('{').and_then(|r| r.split_once('}')) {
            Some(braced) => braced,
            None => {
                let letter = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
                rest.split_at(rest.find(letter).unwrap_or(rest.len()))
            }
        };
        pieces.push(Piece::Variable {
            name: format!("${name}"),
            field: field(name),
            list: name.starts_with("upstream_"),
        });
        rest = after;
    }
    pieces.push(Piece::Literal(rest.to_owned()));
    Template::of(pieces)
}

fn field(name: &str) -> Field {
    match name {
        "remote_addr" => Field::ClientIp,
        "remote_port" => Field::ClientPort,
        "time_local" | "time_iso8601" | "msec" => Field::Time,
        "request" => Field::Request,
        "request_method" => Field::Method,
        "request_uri" | "uri" => Field::Path,
        "request_time" => Field::DurationSeconds,
        "status" => Field::Status,
        "req_id" | "request_id" | "http_x_request_id" => Field::RequestId,
        "request_completion" => Field::Completion,
        "body_bytes_sent" => Field::BodySent,
        "sent_http_content_length" => Field::BodyPromised,
        "upstream_addr" => Field::Upstream,
        "upstream_status" => Field::UpstreamStatus,
        "upstream_response_time" => Field::UpstreamSeconds,
        "upstream_connect_time" => Field::ConnectSeconds,
        "upstream_header_time" => Field::HeaderSeconds,
        "upstream_response_length" | "upstream_bytes_received" => Field::UpstreamLength,
        _ => Field::Other,
    }
}

/// The entry of a line's values.
pub(crate) fn entry<'a>(found: &Captures<'a>, zone_seconds: i32) -> Result<Entry<'a>, LineError> {
    let mut entry = values::entry(found, zone_seconds)?;
    entry.tries = tries(found);
    entry.emitter = emitter(&entry, found);
    if entry.emitter == Emitter::Upstream && is_short(found, entry.method.as_deref()) {
        entry.truncated = true;
        if found.raw(Field::Completion) == Some("") {
            entry.emitter = Emitter::ClientGone;
        } else if let Some(last) = entry.tries.last_mut() {
            last.end = TryEnd::Truncated;
        }
    }
    Ok(entry)
}

/// Whether less of the body was sent than its head had promised. Of a body without a length the line does not tell.
fn is_short(found: &Captures<'_>, method: Option<&str>) -> bool {
    let bytes = |field| found.get(field).and_then(|n| n.parse::<u64>().ok());
    let sent = bytes(Field::BodySent).zip(bytes(Field::BodyPromised));
    method != Some("HEAD") && sent.is_some_and(|(sent, promised)| sent < promised)
}

/// The upstreams that were tried. A group without a server that could be tried is logged by its name, which is none.
fn tries<'a>(found: &Captures<'a>) -> Vec<Try<'a>> {
    let Some(upstreams) = found.get(Field::Upstream) else {
        return Vec::new();
    };
    let column = |field| found.get(field).into_iter().flat_map(values::list);
    let mut statuses = column(Field::UpstreamStatus);
    let mut times = column(Field::UpstreamSeconds);
    let mut connects = column(Field::ConnectSeconds);
    let mut heads = column(Field::HeaderSeconds);
    let mut lengths = column(Field::UpstreamLength);
    values::list(upstreams)
        .map(|upstream| {
            let status = statuses
                .next()
                .and_then(|s| values::status(s).ok().flatten());
            let told = Told {
                status,
                connect: known(found, Field::ConnectSeconds, connects.next()),
                head: known(found, Field::HeaderSeconds, heads.next()),
                length: lengths.next().map(|l| !matches!(l, "0" | "-")),
            };
            Try {
                upstream: Cow::Borrowed(upstream),
                status,
                time_nanos: times.next().and_then(times::seconds),
                end: told.end(),
            }
        })
        .filter(|t| t.upstream.contains(':') && t.upstream != "-")
        .collect()
}

/// Whether a moment was reached, where the format tells it.
fn known(found: &Captures<'_>, field: Field, value: Option<&str>) -> Option<bool> {
    found.raw(field)?;
    Some(value.is_some_and(|v| v != "-"))
}

/// What a format tells of one try.
struct Told {
    status: Option<u16>,
    /// A connection was made.
    connect: Option<bool>,
    /// A response's head came.
    head: Option<bool>,
    /// Anything of a response came.
    length: Option<bool>,
}

impl Told {
    const fn end(&self) -> TryEnd {
        let own = matches!(self.status, Some(502 | 504) | None);
        match self.head {
            Some(true) => return TryEnd::Answered,
            Some(false) if matches!(self.status, Some(504)) => return TryEnd::TimedOut,
            Some(false) => {
                return match self.connect {
                    Some(false) => TryEnd::Refused,
                    Some(true) => TryEnd::Cut,
                    None => TryEnd::Failed,
                };
            }
            None => {}
        }
        match self.length {
            Some(true) => TryEnd::Answered,
            _ if !own => TryEnd::Answered,
            _ if matches!(self.status, Some(504)) => TryEnd::TimedOut,
            _ => TryEnd::Failed,
        }
    }
}

fn emitter(entry: &Entry<'_>, found: &Captures<'_>) -> Emitter {
    if entry.status == Some(CLIENT_LEFT) {
        return Emitter::ClientGone;
    }
    if found.raw(Field::Upstream).is_none() {
        return Emitter::Unknown;
    }
    values::of_last_try(entry.status, &entry.tries)
}
