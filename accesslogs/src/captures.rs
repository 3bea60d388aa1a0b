//! The values that a line has for the fields that matter.

/// A field of a line. What means nothing here is [`Field::Other`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// The end of the request, in any notation.
    Time,
    /// Its arrival.
    StartTime,
    DurationSeconds,
    DurationMillis,
    ClientIp,
    ClientPort,
    RequestId,
    /// `GET /path HTTP/1.1`
    Request,
    Method,
    Path,
    Status,
    /// Addresses of the tries, as a list.
    Upstream,
    UpstreamStatus,
    UpstreamSeconds,
    /// Until the connection was made; `-` where it never was.
    ConnectSeconds,
    /// Until the response's head had come; `-` where it never did.
    HeaderSeconds,
    /// Bytes of the responses.
    UpstreamLength,
    /// `OK` unless the client left.
    Completion,
    /// Bytes of the body that were sent.
    BodySent,
    /// Bytes that its head had promised.
    BodyPromised,
    Reason,
    /// Envoy's word of where a status came from.
    Details,
    TransportFailure,
    Attempts,
    /// HAProxy's name of the server.
    Server,
    ServerIp,
    ServerPort,
    Retries,
    /// Captured headers in braces, which are not there at all where nothing is captured.
    Braces,
    Other,
}

const COUNT: usize = Field::Other as usize + 1;

/// The names of the fields that patterns and mappings may have.
pub(crate) const FIELDS: &[&str] = &[
    "time",
    "start_time",
    "duration_s",
    "duration_ms",
    "client",
    "request_id",
    "request",
    "method",
    "path",
    "status",
    "upstream",
    "upstream_status",
    "upstream_s",
    "reason",
];

impl Field {
    /// The field of one of [`FIELDS`].
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "time" => Self::Time,
            "start_time" => Self::StartTime,
            "duration_s" => Self::DurationSeconds,
            "duration_ms" => Self::DurationMillis,
            "client" => Self::ClientIp,
            "request_id" => Self::RequestId,
            "request" => Self::Request,
            "method" => Self::Method,
            "path" => Self::Path,
            "status" => Self::Status,
            "upstream" => Self::Upstream,
            "upstream_status" => Self::UpstreamStatus,
            "upstream_s" => Self::UpstreamSeconds,
            "reason" => Self::Reason,
            _ => return None,
        })
    }
}

/// A line's values by field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Captures<'a>([Option<&'a str>; COUNT]);

impl<'a> Captures<'a> {
    pub(crate) const fn new() -> Self {
        Self([None; COUNT])
    }

    pub(crate) fn set(&mut self, field: Field, value: &'a str) {
        self.0[field as usize] = Some(value);
    }

    /// The value as it stands.
    pub(crate) fn raw(&self, field: Field) -> Option<&'a str> {
        self.0[field as usize]
    }

    /// The value, unless it is empty or a dash.
    pub(crate) fn get(&self, field: Field) -> Option<&'a str> {
        self.raw(field).filter(|v| !matches!(*v, "" | "-"))
    }
}
