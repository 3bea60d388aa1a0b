//! One place: a connection after the other, for as long as the load goes on.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use rollscope_records::{Outcome, Phase, RequestRecord, RunOffset, StreamEnd, StreamRecord};
use rollscope_scenarios::StreamKind;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use super::Order;
use super::heartbeat::Heartbeat;
use super::{response, websocket};
use crate::connection::{PeerEnd, WireFacts};
use crate::context::Context;
use crate::outcome::{Ending, body_failure, deadline_passed};
use crate::plan::PreparedStream;
use crate::recording::Slot;

/// What all places share.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) context: Rc<Context>,
    next: Cell<u64>,
    /// Other generators of the load use the numbers in between.
    step: u64,
}

impl Places {
    pub(super) const fn new(context: Rc<Context>, index: u64, of: u64) -> Self {
        Self {
            context,
            next: Cell::new(RequestRecord::FIRST_LONG_LIVED + index),
            step: of,
        }
    }

    fn next_seq(&self) -> u64 {
        let seq = self.next.get();
        self.next.set(seq + self.step);
        seq
    }
}

/// One connection of a place, while it lives.
pub(super) struct Life<'a> {
    pub(super) context: &'a Rc<Context>,
    pub(super) stream: &'a PreparedStream,
    pub(super) slot: Slot,
    pub(super) beat: Heartbeat,
    pub(super) orders: watch::Receiver<Order>,
}

/// How a connection's life ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    /// What the request record says; `None` for one that we left unfinished.
    pub(super) ending: Option<Ending>,
    pub(super) end: StreamEnd,
    pub(super) close_code: Option<u16>,
}

impl Ended {
    /// It was never opened.
    pub(super) const fn not_opened(ending: Ending) -> Self {
        Self {
            ending: Some(ending),
            end: StreamEnd::NotOpened,
            close_code: None,
        }
    }

    /// An order ended it while it was open.
    pub(super) const fn ordered(order: Order) -> Self {
        let held = Ending {
            outcome: Outcome::Ok,
            phase: Phase::Body,
            errno: None,
        };
        match order {
            Order::Abort => Self {
                ending: None,
                end: StreamEnd::Aborted,
                close_code: None,
            },
            Order::Hold | Order::Finish => Self::open(held, StreamEnd::Held),
        }
    }

    /// It ended while it was open.
    pub(super) const fn open(ending: Ending, end: StreamEnd) -> Self {
        Self {
            ending: Some(ending),
            end,
            close_code: None,
        }
    }

    /// The peer ended it in good order.
    pub(super) const fn closed(outcome: Outcome, close_code: Option<u16>) -> Self {
        let ending = Ending {
            outcome,
            phase: Phase::Done,
            errno: None,
        };
        Self {
            ending: Some(ending),
            end: StreamEnd::Closed,
            close_code,
        }
    }

    /// Nothing came for too long.
    pub(super) const fn silent() -> Self {
        Self::open(deadline_passed(Phase::Body), StreamEnd::Silence)
    }

    /// The wire broke, or what came over it was wrong.
    pub(super) fn broken(facts: &WireFacts) -> Self {
        let end = match facts.end.map(|e| e.end) {
            Some(PeerEnd::Fin) => StreamEnd::Eof,
            Some(PeerEnd::Reset | PeerEnd::Lost) => StreamEnd::Reset,
            Some(PeerEnd::BrokenTls) | None => StreamEnd::Protocol,
        };
        Self::open(body_failure(facts), end)
    }
}

impl Life<'_> {
    /// The connection's life, to its end.
    async fn live(&mut self) -> Ended {
        match self.stream.kind {
            StreamKind::WebSocket => websocket::live(self).await,
            StreamKind::Sse | StreamKind::Chunked => response::live(self).await,
        }
    }

    /// Waits for `opening`, until the deadline or an order.
    pub(super) async fn opened<T>(
        &mut self,
        opening: impl AsyncFnOnce(&Rc<Context>, &mut Slot, &PreparedStream) -> Result<T, Ending>,
    ) -> Result<T, Ended> {
        let begun = self.context.clock.instant(self.slot.dispatched());
        let deadline = Instant::from_std(begun) + self.stream.request.deadline;
        let mut orders = self.orders.clone();
        let opened = tokio::select! {
            opened = timeout_at(deadline, opening(self.context, &mut self.slot, self.stream)) => opened,
            _ = stopped(&mut orders) => return Err(Ended::ordered(Order::Abort)),
        };
        match opened {
            Ok(opened) => opened.map_err(Ended::not_opened),
            Err(_) => Err(Ended::not_opened(deadline_passed(self.slot.phase()))),
        }
    }

    pub(super) fn now(&self) -> RunOffset {
        self.context.clock.now()
    }
}

/// Waits for an order to stop. Nobody to give orders any more is one to abort.
pub(super) async fn stopped(orders: &mut watch::Receiver<Order>) -> Order {
    match orders.wait_for(|o| *o != Order::Hold).await {
        Ok(order) => *order,
        Err(_) => Order::Abort,
    }
}

/// A connection that was lost and has no successor yet.
#[derive(Debug, Clone, Copy)]
struct Lost {
    seq: u64,
    at: RunOffset,
}

/// Holds place `place` of stream `stream` until an order ends it.
pub(super) async fn hold(
    places: Rc<Places>,
    stream: usize,
    place: u32,
    mut orders: watch::Receiver<Order>,
) {
    let context = &places.context;
    let stream = &context.plan.streams[stream];
    let mut lost: Option<Lost> = None;
    let mut pause = first_pause(stream, place);
    loop {
        tokio::select! {
            () = sleep(pause) => {}
            _ = stopped(&mut orders) => return,
        }
        let seq = places.next_seq();
        // Nothing caps what is held open.
        context.tally.admit(u64::MAX);
        let mut life = Life {
            context,
            stream,
            slot: Slot::new(context, seq, &stream.request, context.clock.now()),
            beat: Heartbeat::new(stream.cadence),
            orders: orders.clone(),
        };
        let ended = life.live().await;
        let at = context.clock.now();
        let answered = life.beat.messages > 0;
        life.end(place, seq, ended, at, lost);
        if matches!(ended.end, StreamEnd::Held | StreamEnd::Aborted) {
            return;
        }
        // The first attempt after a loss is made at once.
        pause = match ended.end {
            StreamEnd::NotOpened => stream.retry,
            _ => Duration::ZERO,
        };
        // Until another one answers, the user is without since the first loss.
        lost = lost.filter(|_| !answered).or(Some(Lost { seq, at }));
    }
}

/// Places of one name are taken one after the other, within a cadence or a second.
fn first_pause(stream: &PreparedStream, place: u32) -> Duration {
    let all = stream.cadence.min(Duration::from_secs(1));
    all * place / stream.count.max(1)
}

impl Life<'_> {
    /// Leaves both records.
    fn end(mut self, place: u32, seq: u64, ended: Ended, at: RunOffset, lost: Option<Lost>) {
        self.beat.ended(at);
        let (stream, beat) = (self.stream, &self.beat);
        self.context.outbox.stream(StreamRecord {
            seq,
            name: stream.request.name.to_string(),
            place,
            cadence_nanos: i64::try_from(stream.cadence.as_nanos()).unwrap_or(i64::MAX),
            messages: beat.messages,
            first_message: beat.first,
            last_message: beat.last,
            silences: beat.silences,
            longest_silence_nanos: beat.longest_nanos,
            end: ended.end,
            close_code: ended.close_code,
            resumes: lost.map(|l| l.seq),
            resumption_nanos: lost.and_then(|l| Some(beat.first?.nanos_since(l.at))),
        });
        match ended.ending {
            Some(ending) => self.slot.end(ending),
            None => drop(self.slot),
        }
    }
}
