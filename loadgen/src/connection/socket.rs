//! Our own TCP sockets, and the question whether the peer is still there.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};

use super::wire::PeerEnd;

/// A connected socket. It is shared, so that the pool can ask about it while the protocol owns its reads and writes;
/// both borrow it for a single call.
#[derive(Debug)]
pub(crate) struct Socket(Rc<RefCell<TcpStream>>);

/// A socket that somebody else reads from and writes to.
#[derive(Debug)]
pub(crate) struct Watched(Weak<RefCell<TcpStream>>);

impl Watched {
    /// What the kernel knows about it while no request is on it. `None` when its owner has let it go.
    pub(crate) fn idle_state(&self) -> Option<Idle> {
        self.0.upgrade().map(|socket| idle_state(&socket.borrow()))
    }
}

impl Socket {
    /// Connects to `address`, without Nagle's delay.
    pub(crate) async fn connect(address: SocketAddr) -> io::Result<Self> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }?;
        socket.set_nodelay(true)?;
        let stream = socket.connect(address).await?;
        Ok(Self(Rc::new(RefCell::new(stream))))
    }

    /// The same socket, to be asked about.
    pub(crate) fn watched(&self) -> Watched {
        Watched(Rc::downgrade(&self.0))
    }

    /// Our address, as long as there is one.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        self.0.borrow().local_addr().ok()
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
fn idle_state(stream: &TcpStream) -> Idle {
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
        Pin::new(&mut *self.0.borrow_mut()).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(match shutdown(&*self.0.borrow(), Shutdown::Write) {
            // The peer was faster.
            Ok(()) | Err(Errno::NOTCONN) => Ok(()),
            Err(e) => Err(e.into()),
        })
    }
}
