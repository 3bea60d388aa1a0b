//! Our own TCP sockets, and the question whether the peer is still there.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};

use super::wire::PeerEnd;

/// A connected socket. It is shared, so that the pool can ask about it while the protocol owns its reads and writes.
#[derive(Debug)]
pub(crate) struct Socket(Rc<TcpStream>);

impl Socket {
    /// Connects to `address`, without Nagle's delay.
    pub(crate) async fn connect(address: SocketAddr) -> io::Result<Rc<TcpStream>> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }?;
        socket.set_nodelay(true)?;
        Ok(Rc::new(socket.connect(address).await?))
    }

    /// The socket around a connected stream.
    pub(crate) const fn new(stream: Rc<TcpStream>) -> Self {
        Self(stream)
    }
}

/// What the kernel knows about an idle connection that nobody has read from yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Idle {
    /// Nothing has come.
    Quiet,
    /// Bytes have come that nobody asked for.
    Talking,
    /// The peer has ended it.
    Ended(PeerEnd),
}

/// Asks the kernel, without reading, whether the peer has ended an idle connection.
pub(crate) fn idle_state(stream: &TcpStream) -> Idle {
    let mut fds = [PollFd::new(stream, PollFlags::IN | PollFlags::RDHUP)];
    let asked = poll(&mut fds, Some(&Timespec::default()));
    let seen = fds[0].revents();
    if asked.is_err() || seen.intersects(PollFlags::ERR | PollFlags::NVAL) {
        Idle::Ended(PeerEnd::Reset)
    } else if seen.intersects(PollFlags::RDHUP | PollFlags::HUP) {
        Idle::Ended(PeerEnd::Fin)
    } else if seen.contains(PollFlags::IN) {
        Idle::Talking
    } else {
        Idle::Quiet
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read_buf(buf) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done.map(|_| ())),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write_vectored(bufs) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(match shutdown(&self.0, Shutdown::Write) {
            // The peer was faster.
            Ok(()) | Err(Errno::NOTCONN) => Ok(()),
            Err(e) => Err(e.into()),
        })
    }
}
