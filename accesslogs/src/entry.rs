//! What one line of an access log says.

use std::borrow::Cow;

/// A request as a balancer logged it. Texts are borrowed from the line where they stand in it unescaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// When, on the balancer's clock.
    pub stamp: Stamp,
    /// How long the balancer had the request, ns.
    pub duration_nanos: Option<i64>,
    /// The client's address, with its port where the format has it.
    pub client: Option<Cow<'a, str>>,
    /// The id that the request carried, or that the balancer gave it.
    pub request_id: Option<Cow<'a, str>>,
    /// The method.
    pub method: Option<Cow<'a, str>>,
    /// The path without its query, which may hold secrets.
    pub path: Option<Cow<'a, str>>,
    /// The status that the client was sent; `None` where there was none.
    pub status: Option<u16>,
    /// Who made that status.
    pub emitter: Emitter,
    /// The upstreams that were tried, in order.
    pub tries: Vec<Try<'a>>,
    /// Tries before the first of `tries` that are counted, but whose upstreams are not named.
    pub unnamed_tries: u32,
    /// The response had begun and did not come to its end.
    pub truncated: bool,
    /// The balancer's own word: termination state, response flags, error reason.
    pub reason: Option<Cow<'a, str>>,
}

impl Entry<'_> {
    /// How many tries failed before the one that decided.
    pub fn hidden_failures(&self) -> u32 {
        let before_last = self.tries.len().saturating_sub(1);
        u32::try_from(before_last)
            .unwrap_or(u32::MAX)
            .saturating_add(self.unnamed_tries)
    }

    /// Whether the client was served although a try had failed.
    pub fn is_near_miss(&self) -> bool {
        let served = self.status.is_some_and(|s| s < 500) && !self.truncated;
        served && self.emitter != Emitter::ClientGone && self.hidden_failures() > 0
    }
}

/// A moment that a balancer wrote, with its resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// ns since the Unix epoch.
    pub unix_nanos: i64,
    /// The moment lies in `[unix_nanos, unix_nanos + resolution_nanos)`.
    pub resolution_nanos: i64,
    /// Which moment of the request it is.
    pub marks: Marks,
}

/// Which moment of a request a line is stamped with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// Its arrival.
    Begin,
    /// Its end: the line was written then.
    End,
}

/// A length of time is known to this, ns: most programs write milliseconds, and read a clock that they keep.
const LENGTH_RESOLUTION: i64 = 1_000_000;

impl Stamp {
    /// When the request arrived, as `(earliest, latest)` in ns since the Unix epoch. Without its length only an end is
    /// known of a line that is stamped with the end; it stands for the beginning then.
    pub const fn began(self, duration_nanos: Option<i64>) -> (i64, i64) {
        let (lo, hi) = self.bounds();
        match (self.marks, duration_nanos) {
            (Marks::End, Some(length)) => (
                lo.saturating_sub(length).saturating_sub(LENGTH_RESOLUTION),
                hi.saturating_sub(length),
            ),
            _ => (lo, hi),
        }
    }

    /// When it was over, in the same way.
    pub const fn ended(self, duration_nanos: Option<i64>) -> (i64, i64) {
        let (lo, hi) = self.bounds();
        match (self.marks, duration_nanos) {
            (Marks::Begin, Some(length)) => (
                lo.saturating_add(length),
                hi.saturating_add(length).saturating_add(LENGTH_RESOLUTION),
            ),
            _ => (lo, hi),
        }
    }

    const fn bounds(self) -> (i64, i64) {
        let hi = self.unix_nanos.saturating_add(self.resolution_nanos);
        (self.unix_nanos, hi)
    }
}

/// Who made the status that the client saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Emitter {
    /// The upstream answered with it.
    Upstream,
    /// The balancer made it.
    Balancer,
    /// Nobody: the client left first.
    ClientGone,
    /// The line does not say.
    Unknown,
}

impl Emitter {
    /// In a word, for reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::Balancer => "balancer",
            Self::ClientGone => "client_gone",
            Self::Unknown => "unknown",
        }
    }
}

/// One upstream that was tried for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Try<'a> {
    /// Its address as `ip:port`, or the name that the balancer gives it.
    pub upstream: Cow<'a, str>,
    /// Its status, or the one that the balancer put down for it.
    pub status: Option<u16>,
    /// How long it took, ns.
    pub time_nanos: Option<i64>,
    /// How it ended.
    pub end: TryEnd,
}

/// How a try ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TryEnd {
    /// With a response.
    Answered,
    /// No connection was made.
    Refused,
    /// The connection ended before a response.
    Cut,
    /// The connection ended within the response.
    Truncated,
    /// It took too long.
    TimedOut,
    /// Without a response; the format does not say how.
    Failed,
}

impl TryEnd {
    /// In a word, for reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused => "refused",
            Self::Cut => "cut",
            Self::Truncated => "truncated",
            Self::TimedOut => "timed_out",
            Self::Failed => "failed",
        }
    }
}
