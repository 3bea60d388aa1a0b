//! Making a connection: resolve, dial, shake hands.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rollscope_records::{Lane, Outcome, Phase, RunOffset};
use tokio::task::{AbortHandle, JoinHandle};

use super::pool::OpenInPool;
use super::socket::{Idle, Socket, Watched};
use super::wire::{PeerEnd, Stream, Wire, WireEnd};
use crate::context::Context;
use crate::outcome::{Ending, connect_failure};
use crate::recording::{Link, Slot};
use crate::target::Resolved;

/// An established HTTP/1.1 connection. Dropping it closes the socket at once; [`Connection::close`] lets HTTP and TLS
/// end first.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) link: Rc<Link>,
    pub(crate) sender: http1::SendRequest<Full<Bytes>>,
    /// When its last response ended.
    pub(crate) last_response: Option<RunOffset>,
    socket: Watched,
    protocol: ProtocolTask,
    /// Counts it as open for the pool, if it belongs there.
    _open: Option<OpenInPool>,
}

/// The task that drives HTTP on a connection; aborted when this is dropped.
#[derive(Debug)]
pub(super) struct ProtocolTask(Option<AbortHandle>);

impl ProtocolTask {
    pub(super) fn new(task: &JoinHandle<()>) -> Self {
        Self(Some(task.abort_handle()))
    }
}

impl Drop for ProtocolTask {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}

impl Connection {
    /// Closes it in the ordinary way; no request may be in flight on it. Without a sender, the protocol's task shuts
    /// the stream down and ends.
    pub(crate) fn close(mut self) {
        self.protocol.0 = None;
    }

    /// Whether a request can be sent on this idle connection, as far as the kernel knows at this moment. If the peer
    /// has ended it, that is noted.
    pub(crate) fn is_usable(&self, now: RunOffset) -> bool {
        // Without a socket, the protocol's task met the end first, and noted it.
        let Some(state) = self.socket.idle_state() else {
            return false;
        };
        match state {
            Idle::Quiet => !self.sender.is_closed(),
            // TLS has messages of its own between requests (session tickets).
            Idle::Talking => self.link.is_tls() && !self.sender.is_closed(),
            Idle::Ended(end) => {
                self.link.found_ended(end, now);
                false
            }
        }
    }
}

/// A connected socket, with TLS on it if the target has that, before any HTTP.
pub(crate) struct Transport {
    pub(crate) link: Rc<Link>,
    pub(crate) socket: Watched,
    pub(crate) stream: Stream,
}

/// Makes an HTTP/1.1 connection for `slot`.
pub(crate) async fn connect(
    context: &Rc<Context>,
    slot: &mut Slot,
    lane: Lane,
) -> Result<Connection, Ending> {
    let open = (lane == Lane::Reused).then(|| context.pool.count_open());
    let transport = transport(context, slot, lane).await?;
    let link = transport.link;
    let (sender, protocol) = handshake(context, &link, transport.stream).await?;
    Ok(Connection {
        link,
        sender,
        last_response: None,
        socket: transport.socket,
        protocol,
        _open: open,
    })
}

/// Connects for `slot`: the addresses of the target are tried in order, the last failure is returned.
pub(crate) async fn transport(
    context: &Context,
    slot: &mut Slot,
    lane: Lane,
) -> Result<Transport, Ending> {
    slot.enter(Phase::Resolve);
    let mut last = Ending {
        outcome: Outcome::Dns,
        phase: Phase::Resolve,
        errno: None,
    };
    let resolved = context.plan.destination.resolve(&context.clock).await;
    let resolved = resolved.map_err(|error| {
        slot.because(error.to_string());
        Ending {
            errno: error.raw_os_error(),
            ..last
        }
    })?;
    for address in &resolved.addresses {
        match transport_to(context, slot, lane, *address, &resolved).await {
            Ok(transport) => return Ok(transport),
            Err(failed) => last = failed,
        }
    }
    Err(last)
}

async fn transport_to(
    context: &Context,
    slot: &mut Slot,
    lane: Lane,
    address: SocketAddr,
    resolved: &Resolved,
) -> Result<Transport, Ending> {
    slot.enter(Phase::Connect);
    let link = context.new_link(lane, address, resolved);
    slot.on_fresh(&link);
    let socket = dial(context, address)
        .await
        .map_err(|e| connect_failure(&e))?;
    link.established(context.clock.now(), socket.local_addr());
    slot.connected(&link);
    let watched = socket.watched();
    let stream = secure(context, slot, &link, lane, socket).await?;
    Ok(Transport {
        link,
        socket: watched,
        stream,
    })
}

async fn dial(context: &Context, address: SocketAddr) -> io::Result<Socket> {
    Socket::connect(context.dialer.dial(address)?).await
}

/// The byte stream for HTTP on `socket`: the socket itself, or TLS on it.
async fn secure(
    context: &Context,
    slot: &mut Slot,
    link: &Link,
    lane: Lane,
    socket: Socket,
) -> Result<Stream, Ending> {
    let Some(tls) = &context.tls else {
        return Ok(Stream::Plain(socket));
    };
    slot.enter(Phase::Tls);
    match tls.handshake(socket, lane).await {
        Ok(stream) => {
            link.secured(context.clock.now());
            Ok(Stream::Tls(stream))
        }
        Err(error) => {
            let reason = error.to_string();
            link.because(&reason);
            slot.because(reason);
            let end = PeerEnd::of(&error);
            if end != PeerEnd::BrokenTls {
                link.ended(WireEnd {
                    end,
                    at: context.clock.now(),
                    errno: error.raw_os_error(),
                    writing: false,
                });
            }
            Err(Ending {
                outcome: Outcome::Tls,
                phase: Phase::Tls,
                errno: error.raw_os_error(),
            })
        }
    }
}

/// Starts HTTP/1.1 on `stream`, in a task of its own.
async fn handshake(
    context: &Rc<Context>,
    link: &Rc<Link>,
    stream: Stream,
) -> Result<(http1::SendRequest<Full<Bytes>>, ProtocolTask), Ending> {
    let wire = Wire::new(stream, Rc::clone(link), context.clock);
    let (sender, protocol) = http1::handshake(TokioIo::new(wire))
        .await
        .map_err(|_| Ending {
            outcome: Outcome::Protocol,
            phase: Phase::Send,
            errno: None,
        })?;
    let (id, pool) = (link.id(), Rc::downgrade(&context.pool));
    let task = tokio::task::spawn_local(async move {
        // How it ended is known from the wire.
        let _ = protocol.await;
        if let Some(pool) = pool.upgrade() {
            pool.evict(id);
        }
    });
    Ok((sender, ProtocolTask::new(&task)))
}
