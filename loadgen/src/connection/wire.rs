//! An I/O wrapper that remembers what happened on a connection: the source of truth for bytes, times and errors.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use rollscope_records::{RunClock, RunOffset};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

use super::frames::Frames;
use super::socket::Socket;
use crate::recording::Link;

/// How the other side of a connection ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerEnd {
    /// It sent FIN.
    Fin,
    /// It sent RST.
    Reset,
    /// It sent something that the TLS layer refused.
    BrokenTls,
    /// The kernel gave the connection up for another reason (for example `ETIMEDOUT`).
    Lost,
}

impl PeerEnd {
    /// What an I/O error says of the peer.
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.kind() {
            // A TLS stream that ends without a close alert.
            io::ErrorKind::UnexpectedEof => Self::Fin,
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted => Self::Reset,
            _ if error.raw_os_error().is_none() => Self::BrokenTls,
            _ => Self::Lost,
        }
    }
}

/// The end of a connection, as our side of it met it first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WireEnd {
    /// How.
    pub(crate) end: PeerEnd,
    /// When.
    pub(crate) at: RunOffset,
    /// The error number, where there was one.
    pub(crate) errno: Option<i32>,
    /// Whether a write met it.
    pub(crate) writing: bool,
}

/// What has happened on a connection. Bytes are those of HTTP (inside TLS, if there is any).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WireFacts {
    /// Bytes of the current request that the socket has taken.
    pub(crate) sent: u64,
    /// Bytes that came since the current request began.
    pub(crate) received: u64,
    /// When the current request had been handed over completely.
    pub(crate) written: Option<RunOffset>,
    /// When bytes came last.
    pub(crate) last_read: Option<RunOffset>,
    /// When the socket took bytes last.
    pub(crate) last_write: Option<RunOffset>,
    /// How the connection ended, if it did and it was not our doing.
    pub(crate) end: Option<WireEnd>,
}

impl WireFacts {
    /// Begins a new request.
    pub(crate) fn begin_request(&mut self) {
        *self = Self {
            end: self.end,
            ..Self::default()
        };
    }

    /// The socket took bytes of it.
    pub(crate) fn took(&mut self, bytes: usize, at: RunOffset) {
        self.sent += bytes as u64;
        self.last_write = Some(at);
    }

    fn flushed(&mut self) {
        if self.sent > 0 {
            self.written = self.written.max(self.last_write);
        }
    }

    fn came(&mut self, bytes: usize, at: RunOffset) {
        self.received += bytes as u64;
        self.last_read = Some(at);
    }

    /// Remembers how the connection ended; the first end stays.
    pub(crate) fn ended(&mut self, end: WireEnd) {
        self.end.get_or_insert(end);
    }
}

/// The byte stream below HTTP.
#[derive(Debug)]
pub(crate) enum Stream {
    /// TCP.
    Plain(Socket),
    /// TLS on TCP.
    Tls(Box<TlsStream<Socket>>),
}

/// A [`Stream`] that writes down in its [`Link`] what happens.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: Stream,
    link: Rc<Link>,
    clock: RunClock,
    /// The frames that come, where HTTP/2 is spoken.
    frames: Option<Frames>,
}

impl Wire {
    /// Wraps `stream`, the byte stream of `link`.
    pub(crate) fn new(stream: Stream, link: Rc<Link>, clock: RunClock) -> Self {
        Self {
            stream,
            link,
            clock,
            frames: None,
        }
    }

    /// The same, with HTTP/2 on it.
    pub(crate) fn with_frames(self) -> Self {
        Self {
            frames: Some(Frames::default()),
            ..self
        }
    }

    fn came(&mut self, bytes: &[u8]) {
        let now = self.clock.now();
        self.link.facts.borrow_mut().came(bytes.len(), now);
        let goaway = self.frames.as_mut().and_then(|frames| frames.read(bytes));
        if let Some(goaway) = goaway {
            self.link.went_away(goaway, now);
        }
    }

    fn failed(&self, error: &io::Error, writing: bool) {
        let end = WireEnd {
            end: PeerEnd::of(error),
            at: self.clock.now(),
            errno: error.raw_os_error(),
            writing,
        };
        self.link.ended(end);
    }

    fn wrote(&self, done: io::Result<usize>) -> Poll<io::Result<usize>> {
        match &done {
            Ok(bytes) => {
                let now = self.clock.now();
                self.link.wrote(*bytes, now);
            }
            Err(e) => self.failed(e, true),
        }
        Poll::Ready(done)
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (before, room) = (buf.filled().len(), buf.remaining() > 0);
        let done = ready!(match &mut self.stream {
            Stream::Plain(s) => Pin::new(s).poll_read(cx, buf),
            Stream::Tls(s) => Pin::new(s).poll_read(cx, buf),
        });
        match (&done, buf.filled().len() - before) {
            (Err(e), _) => self.failed(e, false),
            (Ok(()), 0) if room => self.link.ended(WireEnd {
                end: PeerEnd::Fin,
                at: self.clock.now(),
                errno: None,
                writing: false,
            }),
            (Ok(()), _) => self.came(&buf.filled()[before..]),
        }
        Poll::Ready(done)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = ready!(match &mut self.stream {
            Stream::Plain(s) => Pin::new(s).poll_write(cx, buf),
            Stream::Tls(s) => Pin::new(s).poll_write(cx, buf),
        });
        self.wrote(done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = ready!(match &mut self.stream {
            Stream::Plain(s) => Pin::new(s).poll_write_vectored(cx, bufs),
            Stream::Tls(s) => Pin::new(s).poll_write_vectored(cx, bufs),
        });
        self.wrote(done)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(s) => s.is_write_vectored(),
            Stream::Tls(s) => s.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = ready!(match &mut self.stream {
            Stream::Plain(s) => Pin::new(s).poll_flush(cx),
            Stream::Tls(s) => Pin::new(s).poll_flush(cx),
        });
        match &done {
            Ok(()) => self.link.facts.borrow_mut().flushed(),
            Err(e) => self.failed(e, true),
        }
        Poll::Ready(done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(s) => Pin::new(s).poll_shutdown(cx),
            Stream::Tls(s) => Pin::new(s).poll_shutdown(cx),
        }
    }
}
