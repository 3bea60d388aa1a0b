//! Envoy and Istio: the default text formats, any other format string, and JSON.
//!
//! Response flags say what went wrong (`UF` no connection, `UC` connection ended, `UT` timeout, `UH` no healthy host,
//! `URX` retries used up, `DC` client gone). Only the last host is named.

use std::borrow::Cow;

use crate::captures::{Captures, Field};
use crate::entry::{Emitter, Entry, Try, TryEnd};
use crate::error::{FormatError, LineError};
use crate::template::{Piece, Template};
use crate::{json, values};

/// Envoy's own format.
pub(crate) const DEFAULT: &str = r#"[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%""#;

/// Istio's.
pub(crate) const ISTIO: &str = r#"[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%"#;

/// The template of a format string.
pub(crate) fn template(format: &str) -> Result<Template, FormatError> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        pieces.push(Piece::Literal(before.to_owned()));
        let Some((operator, after)) = after.split_once('%') else {
            return Err(FormatError::Touching("%".to_owned(), "the end".to_owned()));
        };
        pieces.push(Piece::Variable {
            name: format!("%{operator}%"),
            field: field(operator),
            list: false,
        });
        rest = after;
    }
    pieces.push(Piece::Literal(rest.to_owned()));
    Template::of(pieces)
}

fn field(operator: &str) -> Field {
    let operator = operator.to_ascii_uppercase();
    let (name, argument) = operator.split_once('(').unwrap_or((&operator, ""));
    match (name, argument.trim_end_matches(')')) {
        ("START_TIME", _) => Field::StartTime,
        ("REQ", ":METHOD") => Field::Method,
        ("REQ", argument) if argument.ends_with(":PATH") => Field::Path,
        ("REQ", "X-REQUEST-ID") => Field::RequestId,
        ("RESPONSE_CODE", _) => Field::Status,
        ("RESPONSE_FLAGS", _) => Field::Reason,
        ("RESPONSE_CODE_DETAILS", _) => Field::Details,
        ("UPSTREAM_TRANSPORT_FAILURE_REASON", _) => Field::TransportFailure,
        ("UPSTREAM_REQUEST_ATTEMPT_COUNT", _) => Field::Attempts,
        ("UPSTREAM_HOST", _) => Field::Upstream,
        ("DURATION", _) => Field::DurationMillis,
        ("DOWNSTREAM_REMOTE_ADDRESS", _) => Field::ClientIp,
        _ => Field::Other,
    }
}

/// The keys of JSON logs that matter, as Istio names them.
const KEYS: &[(&str, Field)] = &[
    ("start_time", Field::StartTime),
    ("method", Field::Method),
    ("path", Field::Path),
    ("request_id", Field::RequestId),
    ("x_request_id", Field::RequestId),
    ("response_code", Field::Status),
    ("response_flags", Field::Reason),
    ("response_code_details", Field::Details),
    ("upstream_transport_failure_reason", Field::TransportFailure),
    ("upstream_request_attempt_count", Field::Attempts),
    ("upstream_host", Field::Upstream),
    ("duration", Field::DurationMillis),
    ("downstream_remote_address", Field::ClientIp),
];

/// The entry of a JSON line.
pub(crate) fn of_json(line: &str, zone_seconds: i32) -> Result<Entry<'static>, LineError> {
    let object = json::object(line)?;
    let of = KEYS.iter().map(|(key, field)| (*field, object.get(*key)));
    let texts: Vec<(Field, String)> = of
        .filter_map(|(field, value)| Some((field, json::text(value?)?)))
        .collect();
    json::with(&texts, |found| entry(found, zone_seconds))
}

/// The entry of a line's values.
pub(crate) fn entry<'a>(found: &Captures<'a>, zone_seconds: i32) -> Result<Entry<'a>, LineError> {
    let mut entry = values::entry(found, zone_seconds)?;
    let flags = Flags(found.get(Field::Reason).unwrap_or_default());
    let details = found.get(Field::Details).unwrap_or_default();
    let failure = found.get(Field::TransportFailure).unwrap_or_default();
    let begun = details.starts_with("upstream_reset_after_response_started");
    entry.truncated = begun || (flags.has("DC") && entry.status.is_some());
    let end = if begun {
        TryEnd::Truncated
    } else {
        flags.end(details, failure)
    };
    entry.emitter = if flags.has("DC") || entry.status.is_none() {
        Emitter::ClientGone
    } else if begun || details == "via_upstream" {
        Emitter::Upstream
    } else if flags.is_balancers_own()
        || found.get(Field::Upstream).is_none()
        || !details.is_empty()
    {
        Emitter::Balancer
    } else {
        Emitter::Upstream
    };
    let attempts = found
        .get(Field::Attempts)
        .and_then(|n| n.parse::<u32>().ok());
    entry.unnamed_tries = attempts.unwrap_or(1).saturating_sub(1);
    entry
        .tries
        .extend(found.get(Field::Upstream).map(|host| Try {
            upstream: Cow::Borrowed(host.strip_prefix("tcp://").unwrap_or(host)),
            status: entry.status.filter(|_| entry.emitter == Emitter::Upstream),
            time_nanos: None,
            end,
        }));
    if entry.reason.is_none() && !details.is_empty() && details != "via_upstream" {
        entry.reason = Some(Cow::Borrowed(details));
    }
    Ok(entry)
}

/// Response flags, separated by commas.
#[derive(Clone, Copy)]
struct Flags<'a>(&'a str);

impl Flags<'_> {
    fn has(self, flag: &str) -> bool {
        self.0.split(',').any(|f| f == flag)
    }

    /// Whether one of them says that Envoy made the status. `URX` alone passes on what the last try answered.
    fn is_balancers_own(self) -> bool {
        self.0
            .split(',')
            .any(|f| !matches!(f, "" | "-" | "URX" | "DC" | "DI"))
    }

    fn end(self, details: &str, failure: &str) -> TryEnd {
        let slow = |text: &str| text.contains("timeout");
        if self.has("UF") && (slow(details) || slow(failure)) {
            return TryEnd::TimedOut;
        }
        match () {
            () if self.has("UF") => TryEnd::Refused,
            () if self.has("UC") || self.has("UR") || self.has("LR") => TryEnd::Cut,
            () if self.has("UT") || self.has("DT") => TryEnd::TimedOut,
            () if self.has("DC") => TryEnd::Failed,
            () => TryEnd::Answered,
        }
    }
}

/// Whether a line is JSON.
pub(crate) fn is_json(line: &str) -> bool {
    line.trim_start().starts_with('{')
}
