//! The shared connections of the http2 lane.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::TokioIo;
use rollscope_records::{Lane, Outcome, Phase, RunClock, RunOffset};
use tokio::sync::Notify;
use tokio::task::spawn_local;

use super::connect::{ProtocolTask, transport};
use super::socket::{Idle, Watched};
use super::wire::Wire;
use crate::context::Context;
use crate::outcome::{Ending, deadline_passed};
use crate::plan::KeepAlive;
use crate::recording::{Link, Slot};

/// An HTTP/2 connection, used by several requests at once. When the last of them and the lane let go, it ends with
/// GOAWAY.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) link: Rc<Link>,
    pub(crate) sender: http2::SendRequest<Full<Bytes>>,
    socket: Watched,
    in_flight: Cell<u32>,
    /// When the last request on it ended.
    last_response: Cell<Option<RunOffset>>,
    _protocol: ProtocolTask,
}

/// A request in flight on a shared connection; the connection is idle when the last of them is dropped.
#[derive(Debug)]
pub(crate) struct InFlight<'s> {
    shared: &'s Shared,
    clock: RunClock,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.shared.in_flight.set(self.shared.in_flight.get() - 1);
        self.shared.last_response.set(Some(self.clock.now()));
    }
}

/// Runs the tasks of HTTP/2 on the generator's own thread.
#[derive(Debug, Clone, Copy)]
struct OnThisThread;

impl<F> hyper::rt::Executor<F> for OnThisThread
where
    F: Future + 'static,
    F::Output: 'static,
{
    fn execute(&self, task: F) {
        spawn_local(task);
    }
}

impl Shared {
    /// A request begins on it.
    pub(crate) fn begin(&self, clock: RunClock) -> InFlight<'_> {
        self.in_flight.set(self.in_flight.get() + 1);
        InFlight {
            shared: self,
            clock,
        }
    }

    /// Whether it is to carry no further request at `now`. It is idle only while no request is in flight on it.
    fn is_over(&self, now: RunOffset, keep: &KeepAlive) -> bool {
        let idle = self.in_flight.get() == 0;
        let idle_since = self.last_response.get().filter(|_| idle);
        keep.is_over(&self.link.record(), idle_since, now)
    }

    /// Whether a request can begin on it, as far as is known at this moment. If the peer has ended it, that is noted.
    fn is_usable(&self, now: RunOffset, keep: &KeepAlive) -> bool {
        if self.sender.is_closed() || self.is_over(now, keep) {
            return false;
        }
        match self.socket.idle_state() {
            Some(Idle::Quiet | Idle::Talking) => true,
            Some(Idle::Ended(end)) => {
                self.link.found_ended(end, now);
                false
            }
            None => false,
        }
    }
}

/// The connections of the lane: each request takes the next one in turn.
#[derive(Debug)]
pub(crate) struct Multiplex {
    places: RefCell<Vec<Place>>,
    turn: Cell<usize>,
}

#[derive(Debug, Clone)]
enum Place {
    Empty,
    Connecting(Rc<Attempt>),
    Open(Rc<Shared>),
}

/// A connection that one request makes and others wait for.
#[derive(Debug, Default)]
struct Attempt {
    over: Notify,
    /// How it failed, for those who wait.
    failed: Cell<Option<Ending>>,
}

/// Ends an attempt whose request gave it up.
struct Connecting<'m> {
    multiplex: &'m Multiplex,
    place: usize,
    attempt: Rc<Attempt>,
}

impl Drop for Connecting<'_> {
    fn drop(&mut self) {
        let mut places = self.multiplex.places.borrow_mut();
        if let Place::Connecting(attempt) = &places[self.place]
            && Rc::ptr_eq(attempt, &self.attempt)
        {
            self.attempt
                .failed
                .set(Some(deadline_passed(Phase::Connect)));
            places[self.place] = Place::Empty;
        }
        self.attempt.over.notify_waiters();
    }
}

impl Multiplex {
    /// A lane of `size` connections, none of which is open yet.
    pub(crate) fn new(size: usize) -> Self {
        Self {
            places: RefCell::new(vec![Place::Empty; size.max(1)]),
            turn: Cell::new(0),
        }
    }

    /// A connection for `slot`: an open one, one that another request is making, or a fresh one.
    pub(crate) async fn take(
        &self,
        context: &Rc<Context>,
        slot: &mut Slot,
    ) -> Result<Rc<Shared>, Ending> {
        let place = self.next_place();
        loop {
            let found = self.places.borrow()[place].clone();
            match found {
                Place::Open(shared)
                    if shared.is_usable(context.clock.now(), &context.plan.keep_alive) =>
                {
                    return Ok(shared);
                }
                Place::Connecting(attempt) => {
                    slot.enter(Phase::Connect);
                    attempt.over.notified().await;
                    if let Some(failed) = attempt.failed.get() {
                        return Err(failed);
                    }
                }
                Place::Open(_) | Place::Empty => return self.connect(place, context, slot).await,
            }
        }
    }

    fn next_place(&self) -> usize {
        let places = self.places.borrow().len();
        let place = self.turn.get() % places;
        self.turn.set(place + 1);
        place
    }

    async fn connect(
        &self,
        place: usize,
        context: &Rc<Context>,
        slot: &mut Slot,
    ) -> Result<Rc<Shared>, Ending> {
        let attempt = Rc::<Attempt>::default();
        self.put(place, Place::Connecting(Rc::clone(&attempt)));
        let connecting = Connecting {
            multiplex: self,
            place,
            attempt,
        };
        match connect(context, slot).await {
            Ok(shared) => {
                let shared = Rc::new(shared);
                self.put(place, Place::Open(Rc::clone(&shared)));
                Ok(shared)
            }
            Err(failed) => {
                connecting.attempt.failed.set(Some(failed));
                self.put(place, Place::Empty);
                Err(failed)
            }
        }
    }

    fn put(&self, place: usize, new: Place) {
        // What was there is let go when nothing is borrowed any more: it may write its record.
        let old = std::mem::replace(&mut self.places.borrow_mut()[place], new);
        drop(old);
    }

    /// Takes no more requests for a connection that has ended.
    pub(crate) fn forget(&self, link: &Link) {
        let places = self.places.borrow();
        let is_it = |p: &Place| matches!(p, Place::Open(shared) if shared.link.id() == link.id());
        let place = places.iter().position(is_it);
        drop(places);
        if let Some(place) = place {
            self.put(place, Place::Empty);
        }
    }

    /// Lets go of connections that are to be kept no longer.
    pub(crate) fn expire(&self, now: RunOffset, keep: &KeepAlive) {
        let open: Vec<_> = self.places.borrow().clone();
        for place in open {
            if let Place::Open(shared) = place
                && shared.is_over(now, keep)
            {
                self.forget(&shared.link);
            }
        }
    }

    /// Lets go of all connections.
    pub(crate) fn clear(&self) {
        let places = self.places.borrow().len();
        (0..places).for_each(|place| self.put(place, Place::Empty));
    }
}

/// Makes an HTTP/2 connection for `slot`.
async fn connect(context: &Rc<Context>, slot: &mut Slot) -> Result<Shared, Ending> {
    let transport = transport(context, slot, Lane::Http2).await?;
    let link = transport.link;
    let wire = Wire::new(transport.stream, Rc::clone(&link), context.clock).with_frames();
    let (sender, protocol) = http2::Builder::new(OnThisThread)
        .handshake(TokioIo::new(wire))
        .await
        .map_err(|_| Ending {
            outcome: Outcome::Protocol,
            phase: Phase::Send,
            errno: None,
        })?;
    let (known, context) = (Rc::downgrade(&link), Rc::downgrade(context));
    let task = spawn_local(async move {
        // It ends by itself when the peer ended the connection, or takes no more requests. The wire knows which.
        let _ = protocol.await;
        if let (Some(link), Some(context)) = (known.upgrade(), context.upgrade()) {
            context.multiplex.forget(&link);
        }
    });
    Ok(Shared {
        link,
        sender,
        socket: transport.socket,
        in_flight: Cell::new(0),
        last_response: Cell::new(None),
        _protocol: ProtocolTask::new(&task),
    })
}
