//! The outcome of a step, from the chain of causes behind its error.

use std::error::Error;
use std::io::{self, ErrorKind};

use rollscope_records::{Outcome, Phase};
use rustix::io::Errno;

use super::client::NotResolved;
use crate::outcome::{Ending, connect_failure};

/// What is behind an error, as far as it tells outcomes apart.
#[derive(Debug, Default)]
struct Causes<'e> {
    io: Option<&'e io::Error>,
    hyper: Option<&'e hyper::Error>,
    tls: Option<&'e rustls::Error>,
    resolve: Option<&'e NotResolved>,
}

impl<'e> Causes<'e> {
    fn behind(error: &'e (dyn Error + 'static)) -> Self {
        let mut found = Self::default();
        let mut next = Some(error);
        while let Some(error) = next {
            found.note(error);
            next = error.source();
        }
        found
    }

    /// The innermost cause of a kind counts.
    fn note(&mut self, error: &'e (dyn Error + 'static)) {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            self.io = Some(io);
            // An I/O error does not name the error in it as its source, but that one's source.
            if let Some(inner) = io.get_ref() {
                self.note(inner);
            }
        }
        self.hyper = error.downcast_ref().or(self.hyper);
        self.tls = error.downcast_ref().or(self.tls);
        self.resolve = error.downcast_ref().or(self.resolve);
    }
}

/// What it means that no connection could be made, and why in words. `secured`: it was to have TLS.
pub(super) fn not_connected(
    error: &(dyn Error + 'static),
    secured: bool,
) -> (Ending, Option<String>) {
    let causes = Causes::behind(error);
    let ending = |outcome, phase| Ending {
        outcome,
        phase,
        errno: causes.io.and_then(io::Error::raw_os_error),
    };
    if let Some(resolve) = causes.resolve {
        return (
            ending(Outcome::Dns, Phase::Resolve),
            Some(resolve.to_string()),
        );
    }
    if let Some(tls) = causes.tls {
        return (ending(Outcome::Tls, Phase::Tls), Some(tls.to_string()));
    }
    let Some(io) = causes.io else {
        return (
            ending(Outcome::ConnectLocal, Phase::Connect),
            Some(innermost(error)),
        );
    };
    let failed = connect_failure(io);
    // Once there was a connection, only the handshake on it can end or be reset.
    let in_handshake = secured
        && matches!(
            io.kind(),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
        );
    if in_handshake {
        return (ending(Outcome::Tls, Phase::Tls), Some(io.to_string()));
    }
    (failed, None)
}

/// What it means that an exchange on a connection failed in `phase` (`Head` or `Body`), and why in words.
pub(super) fn broken_off(error: &(dyn Error + 'static), phase: Phase) -> (Ending, Option<String>) {
    let causes = Causes::behind(error);
    let errno = causes.io.and_then(io::Error::raw_os_error);
    let in_body = phase == Phase::Body;
    let ending = |outcome| Ending {
        outcome,
        phase,
        errno,
    };
    if let Some(tls) = causes.tls {
        return (ending(Outcome::Tls), Some(tls.to_string()));
    }
    if causes.hyper.is_some_and(hyper::Error::is_parse) {
        return (ending(Outcome::Protocol), None);
    }
    if causes.hyper.is_some_and(hyper::Error::is_canceled) {
        let unsent = Ending {
            phase: Phase::Send,
            ..ending(Outcome::ClosedBeforeSend)
        };
        return (unsent, None);
    }
    let eof = if in_body {
        Outcome::TruncatedBody
    } else {
        Outcome::EofBeforeHeaders
    };
    let reset = if in_body {
        Outcome::ResetInBody
    } else {
        Outcome::ResetBeforeHeaders
    };
    match causes.io.map(|io| (io.kind(), io)) {
        Some((ErrorKind::UnexpectedEof, _)) => (ending(eof), None),
        Some((ErrorKind::BrokenPipe, _)) if !in_body => {
            let unwritten = Ending {
                phase: Phase::Send,
                ..ending(Outcome::WriteFailed)
            };
            (unwritten, None)
        }
        Some((ErrorKind::InvalidData | ErrorKind::InvalidInput, io)) => {
            (ending(Outcome::Protocol), Some(io.to_string()))
        }
        Some(_) => (ending(reset), None),
        None if causes
            .hyper
            .is_some_and(hyper::Error::is_incomplete_message) =>
        {
            (ending(eof), None)
        }
        None => (ending(Outcome::Protocol), Some(innermost(error))),
    }
}

/// The last of the causes in words: the first ones name the URL, which may hold a secret.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// The error that a connection gets that the parent refuses, by its number.
pub(super) fn refused(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

/// The number of an error that a dialler gives without one.
pub(super) fn number_of(error: &io::Error) -> i32 {
    let refused = Errno::CONNREFUSED.raw_os_error();
    error.raw_os_error().unwrap_or(match error.kind() {
        ErrorKind::TimedOut => Errno::TIMEDOUT.raw_os_error(),
        ErrorKind::HostUnreachable => Errno::HOSTUNREACH.raw_os_error(),
        _ => refused,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a client wraps what went wrong.
    #[derive(Debug)]
    struct Outer(Box<dyn Error + Send + Sync>);

    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("error sending request for url (http://shop/?token=s3cret)")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(self.0.as_ref())
        }
    }

    fn os(errno: Errno) -> Outer {
        Outer(io::Error::from_raw_os_error(errno.raw_os_error()).into())
    }

    fn eof() -> Outer {
        Outer(io::Error::from(ErrorKind::UnexpectedEof).into())
    }

    #[test]
    fn attempts_to_connect_fail_by_the_innermost_cause() {
        let outcome = |error: Outer, secured| not_connected(&error, secured).0.outcome;
        assert_eq!(
            outcome(os(Errno::CONNREFUSED), true),
            Outcome::ConnectRefused
        );
        assert_eq!(outcome(os(Errno::CONNRESET), false), Outcome::ConnectReset);
        assert_eq!(outcome(os(Errno::CONNRESET), true), Outcome::Tls);
        assert_eq!(outcome(eof(), true), Outcome::Tls);
        let unknown = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let wrapped = io::Error::new(ErrorKind::InvalidData, unknown);
        let (ending, why) = not_connected(&Outer(wrapped.into()), true);
        assert_eq!((ending.outcome, ending.phase), (Outcome::Tls, Phase::Tls));
        assert!(why.is_some_and(|w| w.contains("UnknownIssuer")));
        let nowhere = NotResolved("no such name".to_owned());
        let (ending, why) = not_connected(&Outer(nowhere.into()), true);
        assert_eq!(ending.outcome, Outcome::Dns);
        assert_eq!(why.as_deref(), Some("no such name"));
    }

    #[test]
    fn exchanges_that_the_peer_ends_and_resets_are_told_apart() {
        for (error, phase, outcome) in [
            (eof(), Phase::Head, Outcome::EofBeforeHeaders),
            (eof(), Phase::Body, Outcome::TruncatedBody),
            (
                os(Errno::CONNRESET),
                Phase::Head,
                Outcome::ResetBeforeHeaders,
            ),
            (os(Errno::CONNRESET), Phase::Body, Outcome::ResetInBody),
            (os(Errno::PIPE), Phase::Head, Outcome::WriteFailed),
        ] {
            let (ending, _) = broken_off(&error, phase);
            assert_eq!(ending.outcome, outcome, "{error:?}");
        }
    }

    #[test]
    fn what_no_outcome_explains_is_told_without_the_url() {
        let odd = Outer("something odd".into());
        let (ending, why) = broken_off(&odd, Phase::Head);
        assert_eq!(ending.outcome, Outcome::Protocol);
        assert_eq!(why.as_deref(), Some("something odd"));
    }
}
