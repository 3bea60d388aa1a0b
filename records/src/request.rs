//! One row for each scheduled slot of the load, success or failure, no exception.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::RunOffset;

/// How a request gets its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// A connection of its own, closed by us after the response.
    New,
    /// A connection of the keep-alive pool.
    Reused,
    /// A stream on a shared HTTP/2 connection.
    Http2,
    /// A response that is held open: server-sent events, or any other body that goes on.
    Stream,
    /// A WebSocket.
    WebSocket,
    /// A step of a user's journey, on a connection of its own that another HTTP client made. Closed loop: a user sends it
    /// when the step before is over, however long that took.
    Journey,
}

impl Lane {
    /// Every lane.
    pub const ALL: [Self; 6] = [
        Self::New,
        Self::Reused,
        Self::Http2,
        Self::Stream,
        Self::WebSocket,
        Self::Journey,
    ];

    /// The lane's name in recordings and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Reused => "reused",
            Self::Http2 => "http2",
            Self::Stream => "stream",
            Self::WebSocket => "websocket",
            Self::Journey => "journey",
        }
    }

    /// Whether it is held open for as long as it goes, instead of answering and ending.
    pub const fn is_long_lived(self) -> bool {
        matches!(self, Self::Stream | Self::WebSocket)
    }

    /// Whether its requests are slots of the schedule; the others are due when they are sent.
    pub const fn has_slot(self) -> bool {
        !self.is_long_lived() && !self.is_closed_loop()
    }

    /// Whether its requests wait for one another: a service that hangs is asked less often, so that their latency and
    /// their number say less than those of slots.
    pub const fn is_closed_loop(self) -> bool {
        matches!(self, Self::Journey)
    }
}

/// How a request ended. Each way of failing on the wire has its own value; `errno` says the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A complete response with an expected status.
    Ok,
    /// A complete response with a status that was not expected.
    Status,
    /// Never sent: the cap of requests in flight was reached when it was due.
    Dropped,
    /// Unfinished when the tool itself was interrupted.
    Aborted,
    /// The host name could not be resolved.
    Dns,
    /// The connection was refused (`ECONNREFUSED`).
    ConnectRefused,
    /// The connection was reset while it was being made.
    ConnectReset,
    /// No answer to the connection attempt before the deadline (or `ETIMEDOUT`).
    ConnectTimeout,
    /// No route to the host or network (`EHOSTUNREACH`, `ENETUNREACH`).
    ConnectUnreachable,
    /// The connection could not be made for a local reason (`EADDRNOTAVAIL`, `EMFILE` and the like).
    ConnectLocal,
    /// The TLS handshake failed.
    Tls,
    /// The peer had closed the connection before a byte of the request was written, and no fresh one could be used.
    ClosedBeforeSend,
    /// Writing the request failed.
    WriteFailed,
    /// The peer closed (FIN) before the response's head was complete.
    EofBeforeHeaders,
    /// The peer reset (RST) before the response's head was complete.
    ResetBeforeHeaders,
    /// The peer closed in the middle of the body.
    TruncatedBody,
    /// The peer reset in the middle of the body.
    ResetInBody,
    /// The request's own deadline passed.
    DeadlineExceeded,
    /// The peer sent something that is not HTTP.
    Protocol,
    /// HTTP/2 GOAWAY that covered this request.
    Goaway,
    /// HTTP/2 REFUSED_STREAM.
    RefusedStream,
    /// HTTP/2 RST_STREAM with another code.
    StreamReset,
    /// A complete response with an expected status whose body is not what the scenario expects.
    BodyMismatch,
    /// The client gave up in mid-answer, as the scenario told it to (`abort_after`).
    GaveUp,
    /// The peer ended a long-lived stream in good order, where the scenario wants it to stay open.
    EndedEarly,
    /// A WebSocket close frame whose code tells of a failure (another one than 1000, 1001 and 1012).
    CloseCode,
    /// Not sent: the front end had withdrawn the route to the only instance, and a new connection would have gone to
    /// another one (`rollscope signal`).
    Unrouted,
}

impl Outcome {
    /// Every outcome, in the order of the definition.
    pub const ALL: [Self; 27] = [
        Self::Ok,
        Self::Status,
        Self::Dropped,
        Self::Aborted,
        Self::Dns,
        Self::ConnectRefused,
        Self::ConnectReset,
        Self::ConnectTimeout,
        Self::ConnectUnreachable,
        Self::ConnectLocal,
        Self::Tls,
        Self::ClosedBeforeSend,
        Self::WriteFailed,
        Self::EofBeforeHeaders,
        Self::ResetBeforeHeaders,
        Self::TruncatedBody,
        Self::ResetInBody,
        Self::DeadlineExceeded,
        Self::Protocol,
        Self::Goaway,
        Self::RefusedStream,
        Self::StreamReset,
        Self::BodyMismatch,
        Self::GaveUp,
        Self::EndedEarly,
        Self::CloseCode,
        Self::Unrouted,
    ];

    /// The outcome's name in recordings and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Status => "status",
            Self::Dropped => "dropped",
            Self::Aborted => "aborted",
            Self::Dns => "dns",
            Self::ConnectRefused => "connect_refused",
            Self::ConnectReset => "connect_reset",
            Self::ConnectTimeout => "connect_timeout",
            Self::ConnectUnreachable => "connect_unreachable",
            Self::ConnectLocal => "connect_local",
            Self::Tls => "tls",
            Self::ClosedBeforeSend => "closed_before_send",
            Self::WriteFailed => "write_failed",
            Self::EofBeforeHeaders => "eof_before_headers",
            Self::ResetBeforeHeaders => "reset_before_headers",
            Self::TruncatedBody => "truncated_body",
            Self::ResetInBody => "reset_in_body",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::Protocol => "protocol",
            Self::Goaway => "goaway",
            Self::RefusedStream => "refused_stream",
            Self::StreamReset => "stream_reset",
            Self::BodyMismatch => "body_mismatch",
            Self::GaveUp => "gave_up",
            Self::EndedEarly => "ended_early",
            Self::CloseCode => "close_code",
            Self::Unrouted => "unrouted",
        }
    }

    /// The outcome of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|o| o.as_str() == name)
    }

    /// Whether the request was sent (or an attempt was made) and failed. `Ok`, `Dropped`, and what ended by our own doing
    /// are not failures.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Ok | Self::Dropped) && !self.is_own_doing()
    }

    /// Whether it was begun and left unfinished by our own doing: the tool was interrupted, the scenario says so, or the
    /// route to the only instance had been withdrawn.
    pub const fn is_own_doing(self) -> bool {
        matches!(self, Self::Aborted | Self::GaveUp | Self::Unrouted)
    }

    /// Whether it was answered, as far as the client waited for that.
    pub const fn is_answered(self) -> bool {
        !self.is_failure() && !matches!(self, Self::Unrouted)
    }

    /// Whether it failed while the connection was being made.
    pub const fn is_connect_failure(self) -> bool {
        matches!(
            self,
            Self::ConnectRefused
                | Self::ConnectReset
                | Self::ConnectTimeout
                | Self::ConnectUnreachable
                | Self::ConnectLocal
                | Self::Dns
                | Self::Tls
        )
    }

    /// Whether a body that had begun did not come to its end, or a stream to its own.
    pub const fn is_truncated(self) -> bool {
        matches!(
            self,
            Self::TruncatedBody | Self::ResetInBody | Self::EndedEarly
        )
    }
}

/// Where in its life a request was when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Not sent at all.
    Queue,
    /// Resolving the name.
    Resolve,
    /// Making the connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Writing the request.
    Send,
    /// Waiting for the response's head.
    Head,
    /// Reading the response's body.
    Body,
    /// The response was complete.
    Done,
}

impl Phase {
    /// Every phase, in the order in which a request goes through them.
    pub const ALL: [Self; 8] = [
        Self::Queue,
        Self::Resolve,
        Self::Connect,
        Self::Tls,
        Self::Send,
        Self::Head,
        Self::Body,
        Self::Done,
    ];

    /// The phase's name in recordings and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Resolve => "resolve",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Send => "send",
            Self::Head => "head",
            Self::Body => "body",
            Self::Done => "done",
        }
    }
}

/// One scheduled slot of the load. Absent times were never reached. `T` is what holds its texts.
///
/// A request on a long-lived lane is a row too, from the attempt to open it to its end. It has no slot: it is due when it
/// is sent, and its `seq` counts from [`FIRST_LONG_LIVED`](RequestRecord::FIRST_LONG_LIVED). One that was still open when
/// the load ended is `ok` in phase `body`. What happened while it was open is in its
/// [`StreamRecord`](crate::StreamRecord).
///
/// A step of a journey is a row too, due when it is sent; its `seq` counts from
/// [`FIRST_JOURNEY`](RequestRecord::FIRST_JOURNEY). goose's client sends it, and does not show everything: `written`,
/// `connection`, `ordinal`, `connection_age` and `idle` are always absent, `bytes_sent` is 0, `bytes_received` counts the
/// body alone, `connected` is when the connection was ready with its TLS, `local_port` and `peer` are absent where the
/// connection could not be made to a host with several addresses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord<T = String> {
    /// Number of the slot, from 0, in the order of the schedule.
    pub seq: u64,
    /// Which kind of connection it asked for.
    pub lane: Lane,
    /// Name of the request in the scenario.
    pub name: T,
    /// When it was due.
    pub scheduled: RunOffset,
    /// When the generator began with it.
    pub dispatched: Option<RunOffset>,
    /// When its own connection was established (only for the request that made it).
    pub connected: Option<RunOffset>,
    /// When the request had been written.
    pub written: Option<RunOffset>,
    /// When the response's head was complete.
    pub first_byte: Option<RunOffset>,
    /// When it was over, one way or the other.
    pub ended: Option<RunOffset>,
    /// The connection's id, unique in the run.
    pub connection: Option<u64>,
    /// Requests that the connection had carried before this one (HTTP/2: that had begun on it).
    pub ordinal: Option<u32>,
    /// Age of the connection when the request was dispatched, ns.
    pub connection_age: Option<i64>,
    /// Time since the previous response on the connection, ns.
    pub idle: Option<i64>,
    /// Whether the connection had carried a request before.
    pub reused: bool,
    /// Our port.
    pub local_port: Option<u16>,
    /// The address that the client connected to, as `ip:port`.
    pub peer: Option<T>,
    /// The response's status.
    pub status: Option<u16>,
    /// How it ended.
    pub outcome: Outcome,
    /// Where it ended.
    pub phase: Phase,
    /// The operating system's error number, where there was one.
    pub errno: Option<i32>,
    /// Bytes of the request that were handed to the socket (HTTP/2: of its body, once the request was written).
    pub bytes_sent: u64,
    /// Bytes of the response that came (head and body; HTTP/2: of the body).
    pub bytes_received: u64,
    /// Whether the request said `Connection: close`.
    pub close_requested: bool,
    /// Whether the response said `Connection: close`.
    pub close_received: bool,
    /// The pod that answered, from the configured response header.
    pub pod: Option<T>,
    /// Hints at who emitted the response: `server`, `via`, `x-envoy-*`, `l5d-proxy-error`, as `name=value` joined by `; `.
    pub emitted_by: Option<T>,
    /// Whether a client that silently re-sends would have hidden this failure: reused connection, replayable method,
    /// no byte of a response.
    pub maskable: bool,
    /// Why, in words, where the outcome leaves it open: the TLS error, the resolver's, the HTTP/2 code, the body check.
    #[serde(default)]
    pub detail: Option<T>,
}

impl RequestRecord {
    /// The first `seq` of a request on a long-lived lane, and the first id of its connections: far beyond any slot.
    pub const FIRST_LONG_LIVED: u64 = 1 << 41;

    /// The first `seq` of a step of a journey: far beyond those of long-lived lanes.
    pub const FIRST_JOURNEY: u64 = 1 << 42;

    /// A slot that nothing has happened to yet.
    pub fn scheduled(seq: u64, lane: Lane, name: &str, scheduled: RunOffset) -> Self {
        Self::due(seq, lane, name.to_owned(), scheduled)
    }
}

/// A text that many records have in common.
pub type Text = Arc<str>;

impl<T> RequestRecord<T> {
    /// A slot that nothing has happened to yet.
    pub const fn due(seq: u64, lane: Lane, name: T, scheduled: RunOffset) -> Self {
        Self {
            seq,
            lane,
            name,
            scheduled,
            dispatched: None,
            connected: None,
            written: None,
            first_byte: None,
            ended: None,
            connection: None,
            ordinal: None,
            connection_age: None,
            idle: None,
            reused: false,
            local_port: None,
            peer: None,
            status: None,
            outcome: Outcome::Dropped,
            phase: Phase::Queue,
            errno: None,
            bytes_sent: 0,
            bytes_received: 0,
            close_requested: false,
            close_received: false,
            pod: None,
            emitted_by: None,
            maskable: false,
            detail: None,
        }
    }
}

/// A request whose texts are borrowed: a row of [`Requests`](crate::Requests).
pub type Request<'r> = RequestRecord<&'r str>;

impl<T: AsRef<str>> RequestRecord<T> {
    /// The same request with its texts borrowed.
    #[inline]
    pub fn view(&self) -> Request<'_> {
        self.map(T::as_ref)
    }

    /// The same request with texts of its own.
    pub fn to_record(&self) -> RequestRecord {
        self.map(|text| text.as_ref().to_owned())
    }

    /// The same request with texts that can be shared.
    pub fn to_shared(&self) -> RequestRecord<Text> {
        self.map(|text| Text::from(text.as_ref()))
    }

    #[inline]
    fn map<'t, U>(&'t self, text: impl Fn(&'t T) -> U) -> RequestRecord<U> {
        RequestRecord {
            seq: self.seq,
            lane: self.lane,
            name: text(&self.name),
            scheduled: self.scheduled,
            dispatched: self.dispatched,
            connected: self.connected,
            written: self.written,
            first_byte: self.first_byte,
            ended: self.ended,
            connection: self.connection,
            ordinal: self.ordinal,
            connection_age: self.connection_age,
            idle: self.idle,
            reused: self.reused,
            local_port: self.local_port,
            peer: self.peer.as_ref().map(&text),
            status: self.status,
            outcome: self.outcome,
            phase: self.phase,
            errno: self.errno,
            bytes_sent: self.bytes_sent,
            bytes_received: self.bytes_received,
            close_requested: self.close_requested,
            close_received: self.close_received,
            pod: self.pod.as_ref().map(&text),
            emitted_by: self.emitted_by.as_ref().map(&text),
            maskable: self.maskable,
            detail: self.detail.as_ref().map(&text),
        }
    }
}

/// Who ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClosedBy {
    /// We did.
    Client,
    /// The peer sent FIN.
    PeerFin,
    /// The peer sent RST.
    PeerReset,
    /// The peer sent GOAWAY (HTTP/2).
    PeerGoaway,
}

impl ClosedBy {
    /// Every way.
    pub const ALL: [Self; 4] = [
        Self::Client,
        Self::PeerFin,
        Self::PeerReset,
        Self::PeerGoaway,
    ];

    /// The name in recordings and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::PeerFin => "peer_fin",
            Self::PeerReset => "peer_reset",
            Self::PeerGoaway => "peer_goaway",
        }
    }
}

/// One connection of the load generator. `T` is what holds its texts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConnectionRecord<T = String> {
    /// Unique in the run.
    pub id: u64,
    /// The lane that it served.
    pub lane: Lane,
    /// When the attempt began.
    pub started: RunOffset,
    /// When it was established; `None` when it never was.
    pub established: Option<RunOffset>,
    /// When its TLS handshake was complete; `None` without TLS.
    #[serde(default)]
    pub secured: Option<RunOffset>,
    /// When it ended.
    pub closed: Option<RunOffset>,
    /// Who ended it.
    pub closed_by: Option<ClosedBy>,
    /// Whether it ended while it was idle, between two requests.
    pub closed_idle: bool,
    /// Requests that it carried.
    pub requests: u32,
    /// Our port.
    pub local_port: Option<u16>,
    /// The address that we connected to, as `ip:port`.
    pub peer: Option<T>,
    /// Our address, without the port.
    #[serde(default)]
    pub local_ip: Option<T>,
    /// How long the host's name took to resolve for this connection, ns; `None` where there was nothing to resolve.
    #[serde(default)]
    pub resolve_nanos: Option<i64>,
    /// What the name resolved to for this connection, in the resolver's order, joined by a blank.
    #[serde(default)]
    pub resolved: Option<T>,
    /// Why it could not be made, or how the protocol on it ended (a GOAWAY's code), in words.
    #[serde(default)]
    pub detail: Option<T>,
}

impl ConnectionRecord {
    /// An attempt that begins.
    pub const fn attempt(id: u64, lane: Lane, started: RunOffset) -> Self {
        Self {
            id,
            lane,
            started,
            established: None,
            secured: None,
            closed: None,
            closed_by: None,
            closed_idle: false,
            requests: 0,
            local_port: None,
            peer: None,
            local_ip: None,
            resolve_nanos: None,
            resolved: None,
            detail: None,
        }
    }
}

/// A connection whose texts are borrowed: a row of [`Connections`](crate::Connections).
pub type Connection<'r> = ConnectionRecord<&'r str>;

impl<T: AsRef<str>> ConnectionRecord<T> {
    /// The same connection with its texts borrowed.
    #[inline]
    pub fn view(&self) -> Connection<'_> {
        self.map(T::as_ref)
    }

    /// The same connection with texts of its own.
    pub fn to_record(&self) -> ConnectionRecord {
        self.map(|text| text.as_ref().to_owned())
    }

    #[inline]
    fn map<'t, U>(&'t self, text: impl Fn(&'t T) -> U) -> ConnectionRecord<U> {
        ConnectionRecord {
            id: self.id,
            lane: self.lane,
            started: self.started,
            established: self.established,
            secured: self.secured,
            closed: self.closed,
            closed_by: self.closed_by,
            closed_idle: self.closed_idle,
            requests: self.requests,
            local_port: self.local_port,
            peer: self.peer.as_ref().map(&text),
            local_ip: self.local_ip.as_ref().map(&text),
            resolve_nanos: self.resolve_nanos,
            resolved: self.resolved.as_ref().map(&text),
            detail: self.detail.as_ref().map(&text),
        }
    }
}
