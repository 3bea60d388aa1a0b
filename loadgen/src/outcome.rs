//! The outcome of a request, as a pure function of what happened on its wire.

use std::error::Error;
use std::io;

use h2::Reason;
use rollscope_records::{Outcome, Phase};
use rustix::io::Errno;

use crate::connection::{NoRoute, PeerEnd, WireFacts};

/// How and where a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ending {
    /// How.
    pub(crate) outcome: Outcome,
    /// Where.
    pub(crate) phase: Phase,
    /// The operating system's error number, where there was one.
    pub(crate) errno: Option<i32>,
}

/// What a failed connection attempt means. Errors without an errno (from a [`Dialer`](crate::Dialer)) are told apart by
/// their kind.
pub(crate) fn connect_failure(error: &io::Error) -> Ending {
    use io::ErrorKind as Kind;
    if error.get_ref().is_some_and(|e| e.is::<NoRoute>()) {
        return Ending {
            outcome: Outcome::Unrouted,
            phase: Phase::Connect,
            errno: None,
        };
    }
    let outcome = match error.kind() {
        Kind::ConnectionRefused => Outcome::ConnectRefused,
        Kind::ConnectionReset | Kind::ConnectionAborted => Outcome::ConnectReset,
        Kind::TimedOut => Outcome::ConnectTimeout,
        Kind::HostUnreachable | Kind::NetworkUnreachable | Kind::NetworkDown => {
            Outcome::ConnectUnreachable
        }
        _ if error.raw_os_error() == Some(Errno::HOSTDOWN.raw_os_error()) => {
            Outcome::ConnectUnreachable
        }
        _ => Outcome::ConnectLocal,
    };
    let errno = error.raw_os_error().or(match outcome {
        Outcome::ConnectRefused => Some(Errno::CONNREFUSED.raw_os_error()),
        _ => None,
    });
    Ending {
        outcome,
        phase: Phase::Connect,
        errno,
    }
}

/// What it means that the deadline passed in `phase`.
pub(crate) const fn deadline_passed(phase: Phase) -> Ending {
    let outcome = match phase {
        Phase::Resolve => Outcome::Dns,
        Phase::Connect => Outcome::ConnectTimeout,
        _ => Outcome::DeadlineExceeded,
    };
    Ending {
        outcome,
        phase,
        errno: None,
    }
}

/// What it means that no response's head came. `malformed`: what came was not HTTP.
pub(crate) fn head_failure(facts: &WireFacts, malformed: bool) -> Ending {
    let phase = if facts.written.is_some() {
        Phase::Head
    } else {
        Phase::Send
    };
    let failed = |outcome, errno| Ending {
        outcome,
        phase,
        errno,
    };
    match facts.end {
        _ if malformed => failed(Outcome::Protocol, None),
        None => failed(Outcome::Protocol, None),
        Some(end) if end.end == PeerEnd::BrokenTls => failed(Outcome::Tls, end.errno),
        Some(end) if facts.sent == 0 => failed(Outcome::ClosedBeforeSend, end.errno),
        Some(end) if end.writing => failed(Outcome::WriteFailed, end.errno),
        Some(end) => match end.end {
            PeerEnd::Fin => failed(Outcome::EofBeforeHeaders, end.errno),
            _ => failed(Outcome::ResetBeforeHeaders, end.errno),
        },
    }
}

/// What it means that a response's body did not come to its end.
pub(crate) fn body_failure(facts: &WireFacts) -> Ending {
    let (outcome, errno) = match facts.end {
        // The framing of the body was broken.
        None => (Outcome::Protocol, None),
        Some(end) => match end.end {
            PeerEnd::Fin => (Outcome::TruncatedBody, end.errno),
            PeerEnd::BrokenTls => (Outcome::Tls, end.errno),
            PeerEnd::Reset | PeerEnd::Lost => (Outcome::ResetInBody, end.errno),
        },
    };
    Ending {
        outcome,
        phase: Phase::Body,
        errno,
    }
}

/// What it means that a request on a shared connection failed in `phase`, and why in words.
pub(crate) fn stream_failure(
    error: &(dyn Error + 'static),
    facts: &WireFacts,
    phase: Phase,
) -> (Ending, Option<String>) {
    let failed = |outcome| Ending {
        outcome,
        phase,
        errno: None,
    };
    let cause = h2_cause(error);
    if let Some(cause) = cause.filter(|c| c.is_remote()) {
        let reason = cause.reason().unwrap_or(Reason::NO_ERROR);
        let detail = Some(format!("{reason:?}"));
        if cause.is_go_away() {
            return (failed(Outcome::Goaway), detail);
        }
        if reason == Reason::REFUSED_STREAM {
            return (failed(Outcome::RefusedStream), detail);
        }
        return (failed(Outcome::StreamReset), detail);
    }
    match facts.end {
        Some(_) if phase == Phase::Body => (body_failure(facts), None),
        Some(end) => {
            let outcome = match (phase, end.end) {
                (_, PeerEnd::BrokenTls) => Outcome::Tls,
                (Phase::Send, _) => Outcome::ClosedBeforeSend,
                (_, PeerEnd::Fin) => Outcome::EofBeforeHeaders,
                _ => Outcome::ResetBeforeHeaders,
            };
            let errno = end.errno;
            (
                Ending {
                    errno,
                    ..failed(outcome)
                },
                None,
            )
        }
        None => {
            let detail = cause.map_or_else(|| error.to_string(), ToString::to_string);
            (failed(Outcome::Protocol), Some(detail))
        }
    }
}

/// The HTTP/2 error behind `error`.
fn h2_cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e h2::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(h2) = error.downcast_ref::<h2::Error>() {
            return Some(h2);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use rollscope_records::RunOffset;

    use super::*;
    use crate::connection::WireEnd;

    fn os(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.raw_os_error())
    }

    #[test]
    fn connection_attempts_fail_by_their_errno() {
        for (errno, outcome) in [
            (Errno::CONNREFUSED, Outcome::ConnectRefused),
            (Errno::CONNRESET, Outcome::ConnectReset),
            (Errno::TIMEDOUT, Outcome::ConnectTimeout),
            (Errno::HOSTUNREACH, Outcome::ConnectUnreachable),
            (Errno::NETUNREACH, Outcome::ConnectUnreachable),
            (Errno::HOSTDOWN, Outcome::ConnectUnreachable),
            (Errno::ADDRNOTAVAIL, Outcome::ConnectLocal),
            (Errno::MFILE, Outcome::ConnectLocal),
            (Errno::PERM, Outcome::ConnectLocal),
        ] {
            let failed = connect_failure(&os(errno));
            assert_eq!(failed.outcome, outcome, "{errno:?}");
            assert_eq!(failed.errno, Some(errno.raw_os_error()));
            assert_eq!(failed.phase, Phase::Connect);
        }
    }

    #[test]
    fn a_dialer_without_an_endpoint_refuses_like_the_kernel() {
        let failed = connect_failure(&io::ErrorKind::ConnectionRefused.into());
        assert_eq!(failed, connect_failure(&os(Errno::CONNREFUSED)));
    }

    #[test]
    fn a_withdrawn_route_is_no_failure() {
        let ending = connect_failure(&NoRoute.into());
        assert_eq!(ending.outcome, Outcome::Unrouted);
        assert!(!ending.outcome.is_failure());
        assert_eq!(ending.errno, None);
    }

    fn facts(sent: u64, written: bool, end: Option<(PeerEnd, bool)>) -> WireFacts {
        WireFacts {
            sent,
            written: written.then_some(RunOffset::ZERO),
            end: end.map(|(end, writing)| WireEnd {
                end,
                at: RunOffset::ZERO,
                errno: None,
                writing,
            }),
            ..WireFacts::default()
        }
    }

    #[test]
    fn heads_that_do_not_come_fail_by_what_the_wire_saw() {
        use PeerEnd::{BrokenTls, Fin, Lost, Reset};
        for (sent, written, end, outcome, phase) in [
            (
                0,
                false,
                Some((Fin, false)),
                Outcome::ClosedBeforeSend,
                Phase::Send,
            ),
            (
                0,
                false,
                Some((Reset, true)),
                Outcome::ClosedBeforeSend,
                Phase::Send,
            ),
            (
                9,
                false,
                Some((Reset, true)),
                Outcome::WriteFailed,
                Phase::Send,
            ),
            (
                9,
                false,
                Some((Fin, false)),
                Outcome::EofBeforeHeaders,
                Phase::Send,
            ),
            (
                9,
                true,
                Some((Fin, false)),
                Outcome::EofBeforeHeaders,
                Phase::Head,
            ),
            (
                9,
                true,
                Some((Reset, false)),
                Outcome::ResetBeforeHeaders,
                Phase::Head,
            ),
            (
                9,
                true,
                Some((Lost, false)),
                Outcome::ResetBeforeHeaders,
                Phase::Head,
            ),
            (9, true, Some((BrokenTls, false)), Outcome::Tls, Phase::Head),
            (9, true, None, Outcome::Protocol, Phase::Head),
        ] {
            let failed = head_failure(&facts(sent, written, end), false);
            assert_eq!((failed.outcome, failed.phase), (outcome, phase), "{end:?}");
        }
        let garbage = head_failure(&facts(9, true, Some((Fin, false))), true);
        assert_eq!(garbage.outcome, Outcome::Protocol);
    }

    #[test]
    fn deadlines_are_named_after_what_they_waited_for() {
        for (phase, outcome) in [
            (Phase::Resolve, Outcome::Dns),
            (Phase::Connect, Outcome::ConnectTimeout),
            (Phase::Tls, Outcome::DeadlineExceeded),
            (Phase::Send, Outcome::DeadlineExceeded),
            (Phase::Head, Outcome::DeadlineExceeded),
            (Phase::Body, Outcome::DeadlineExceeded),
        ] {
            assert_eq!(deadline_passed(phase).outcome, outcome);
        }
    }
}
