//! Which subjects there are.

/// A shutdown behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The reference: readiness off, keep serving for the propagation delay, drain with a deadline, pool last, exit 0.
    Graceful,
    /// Closes its listener at the signal, waits for what it has, exits 0.
    EarlyClose,
    /// Exits 0 in the signal handler.
    ExitNow,
    /// Has no signal handler.
    NoHandler,
    /// Drains like the reference but waits for requests as long as they take.
    Overrun,
    /// Drains like the reference, with a deadline that the grace does not leave it.
    SameDeadline,
    /// Closes listener and idle connections, but never says `Connection: close`.
    KeepaliveHang,
    /// Closes its pool before the drain.
    PoolFirst,
    /// Two handlers of the signal: a framework's hooks close the pool at once while a library drains, and run again
    /// after it.
    DoubleOwner,
    /// Its pool never finishes closing; the safety timer exits 1.
    ForcedExit,
    /// Starts an asynchronous cleanup and exits 0 without waiting for it.
    UnawaitedCleanup,
    /// Closes idle keep-alive connections after a short time; shuts down like the reference.
    ShortKeepalive,
    /// Its health port answers before its traffic port listens; shuts down like the reference.
    ReadyTooEarly,
    /// Slow for its first seconds; shuts down like the reference.
    SlowStart,
    /// Ends by itself with exit code 1, after a time or on `/crash`; shuts down like the reference.
    Crash,
}

impl Subject {
    /// Every subject.
    pub const ALL: [Self; 15] = [
        Self::Graceful,
        Self::EarlyClose,
        Self::ExitNow,
        Self::NoHandler,
        Self::Overrun,
        Self::SameDeadline,
        Self::KeepaliveHang,
        Self::PoolFirst,
        Self::DoubleOwner,
        Self::ForcedExit,
        Self::UnawaitedCleanup,
        Self::ShortKeepalive,
        Self::ReadyTooEarly,
        Self::SlowStart,
        Self::Crash,
    ];

    /// The subject's name, as the environment variable `SUBJECT` spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Graceful => "graceful",
            Self::EarlyClose => "early-close",
            Self::ExitNow => "exit-now",
            Self::NoHandler => "no-handler",
            Self::Overrun => "overrun",
            Self::SameDeadline => "same-deadline",
            Self::KeepaliveHang => "keepalive-hang",
            Self::PoolFirst => "pool-first",
            Self::DoubleOwner => "double-owner",
            Self::ForcedExit => "forced-exit",
            Self::UnawaitedCleanup => "unawaited-cleanup",
            Self::ShortKeepalive => "short-keepalive",
            Self::ReadyTooEarly => "ready-too-early",
            Self::SlowStart => "slow-start",
            Self::Crash => "crash",
        }
    }

    /// The subject of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == name)
    }
}
