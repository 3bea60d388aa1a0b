//! A thread of the generator: sends its slots when they are due.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use hdrhistogram::Histogram;
use rollscope_records::{GeneratorRecord, Outcome, Phase, RequestRecord, RunOffset, Text};
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::{LocalSet, spawn_local, yield_now};
use tokio::time::{sleep, timeout};

use crate::context::{ConnectionIds, Context};
use crate::pacing::{Going, Pacer, SlotTimer, tolerance};
use crate::plan::Plan;
use crate::protocol::run_slot;
use crate::recording::{Counters, Slot, Tally, lateness};
use crate::running::Checked;

/// Slots of a backlog that are dispatched before the others get a turn.
const BURST: u64 = 32;

/// Tasks that run before the runtime looks at sockets and timers again.
const EVENT_INTERVAL: u32 = 4;

/// How often records are handed over and connections looked after, however little happens.
const HOUSEKEEPING: Duration = Duration::from_millis(100);

/// How often a thread that has stopped looks whether the others have.
const OTHERS: Duration = Duration::from_millis(1);

/// What the generator is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Wait.
    Wait,
    /// Send; slot 0 is due at this time.
    Run(RunOffset),
    /// Send what is due, no more, and wait this long for what is in flight.
    Drain(Duration),
    /// End now.
    Abort,
}

/// Which of the slots a thread sends: each `of`th from `index` on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    pub(crate) index: u64,
    pub(crate) of: u64,
}

/// Where the threads of a load end, so that together they leave no slot out.
#[derive(Debug)]
pub(crate) struct Finish {
    /// Threads that still send.
    sending: AtomicUsize,
    /// The number after the last slot that was due when the load was stopped.
    end: AtomicU64,
}

impl Finish {
    /// The end of a load of so many threads.
    pub(crate) const fn new(threads: usize) -> Self {
        Self {
            sending: AtomicUsize::new(threads),
            end: AtomicU64::new(0),
        }
    }
}

/// A thread that still sends; the others wait for it at the end.
struct Sending(Arc<Finish>);

impl Sending {
    /// Stops, and waits until every thread has; `end` is what this one thinks the end is. Returns the end for all.
    async fn agree(self, end: u64) -> u64 {
        let finish = Arc::clone(&self.0);
        finish.end.fetch_max(end, SeqCst);
        drop(self);
        while finish.sending.load(SeqCst) > 0 {
            sleep(OTHERS).await;
        }
        finish.end.load(SeqCst)
    }
}

/// However a thread ends, nobody waits for it any more.
impl Drop for Sending {
    fn drop(&mut self) {
        self.0.sending.fetch_sub(1, SeqCst);
    }
}

/// A thread of the generator, ready to run.
pub(crate) struct Driver {
    runtime: Runtime,
    context: Rc<Context>,
    timer: SlotTimer,
    share: Share,
    sending: Sending,
}

/// What a thread says of itself in the end.
pub(crate) struct Part {
    lateness: Histogram<u64>,
    cpu_us: u64,
    from: RunOffset,
    /// When its last slot was due.
    to: Option<RunOffset>,
}

impl Driver {
    /// Sets a thread of the generator up on the calling thread.
    pub(crate) fn new(
        checked: &Checked,
        share: Share,
        counters: Arc<Counters>,
        finish: Arc<Finish>,
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .event_interval(EVENT_INTERVAL)
            .build()?;
        let timer = {
            let _inside = runtime.enter();
            SlotTimer::new(checked.clock)?
        };
        let tally = Tally::new(counters, share.index as usize, checked.clock.now());
        let ids = ConnectionIds::new(share.index, share.of);
        let context = Rc::new(Context::new(checked, tally, ids));
        Ok(Self {
            runtime,
            context,
            timer,
            share,
            sending: Sending(finish),
        })
    }

    /// Runs the load until it is told otherwise, and says what became of it.
    pub(crate) fn run(self, mut commands: watch::Receiver<Command>) -> Part {
        let Self {
            runtime,
            context,
            timer,
            share,
            sending,
        } = self;
        let tasks = LocalSet::new();
        let sender = Sender {
            context: Rc::clone(&context),
            timer,
            share,
        };
        let part = tasks.block_on(&runtime, sender.send_until_stopped(&mut commands, sending));
        // Whatever is in flight now is aborted: each slot that is dropped writes its record.
        drop(tasks);
        context.pool.clear();
        context.multiplex.clear();
        context.outbox.hand_over();
        runtime.shutdown_background();
        Part {
            cpu_us: thread_cpu_us(),
            ..part
        }
    }
}

/// Sends the slots of a thread, inside its runtime.
struct Sender {
    context: Rc<Context>,
    timer: SlotTimer,
    share: Share,
}

impl Sender {
    async fn send_until_stopped(
        &self,
        commands: &mut watch::Receiver<Command>,
        sending: Sending,
    ) -> Part {
        spawn_local(housekeeping(Rc::clone(&self.context)));
        let from = match commands.wait_for(|c| *c != Command::Wait).await.as_deref() {
            Ok(Command::Run(from)) => *from,
            _ => self.context.clock.now(),
        };
        let plan = &self.context.plan;
        let Share { index, of } = self.share;
        // Of several generators, this thread sends its part of this one's part.
        let (first, generators) = plan.share.map_or((0, 1), |s| (s.index, s.of));
        let (first, step) = (first + generators * index, generators * of);
        let mut pacer = Pacer::new(plan.timetable.clone(), &plan.load, from, first, step);
        if let Some(share) = plan.share {
            pacer.end_before(share.slots);
        }
        let command = self.send(&mut pacer, commands).await;
        if let Command::Drain(at_most) = command {
            let drain = async {
                self.send_the_rest(&mut pacer, sending).await;
                let _ = timeout(at_most, self.nothing_in_flight()).await;
            };
            tokio::select! {
                () = drain => {}
                _ = commands.wait_for(|c| *c == Command::Abort) => {}
            }
        }
        Part {
            lateness: self.context.tally.lateness(),
            cpu_us: 0,
            from,
            to: pacer.last(),
        }
    }

    /// Sends slots until a command says otherwise.
    async fn send(&self, pacer: &mut Pacer, commands: &mut watch::Receiver<Command>) -> Command {
        loop {
            let command = match commands.has_changed() {
                Ok(_) => *commands.borrow_and_update(),
                // Nobody holds the load any more.
                Err(_) => Command::Abort,
            };
            if !matches!(command, Command::Run(_)) {
                return command;
            }
            self.send_due(pacer).await;
            self.context.tally.publish(self.context.clock.now());
            let wake = pacer.wake(self.context.clock.now());
            tokio::select! {
                biased;
                _ = commands.changed() => {}
                () = self.wait(wake), if !pacer.is_over() => {}
            }
        }
    }

    /// Sends the slots that are due before the end of the load, however late.
    async fn send_the_rest(&self, pacer: &mut Pacer, sending: Sending) {
        let end = pacer.end_at(self.context.clock.now());
        pacer.end_before(sending.agree(end).await);
        while !pacer.is_over() {
            self.send_due(pacer).await;
            if !pacer.is_over() {
                self.wait(pacer.wake(self.context.clock.now())).await;
            }
        }
    }

    async fn wait(&self, until: RunOffset) {
        if self.timer.wait(until).await.is_err() {
            // Not expected of a timer; a millisecond's precision is better than none.
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Dispatches every slot that may go now.
    async fn send_due(&self, pacer: &mut Pacer) {
        let now = self.context.clock.now();
        let mut gone = 0_u64;
        while let Some(going) = pacer.go(now) {
            self.dispatch(going);
            gone += 1;
            if gone.is_multiple_of(BURST) {
                yield_now().await;
            }
        }
    }

    fn dispatch(&self, going: Going) {
        let (seq, scheduled) = (going.slot, going.due);
        let context = &self.context;
        let plan: &Plan = &context.plan;
        let index = plan.sends(going.place);
        let request = &plan.requests[index];
        if !context.tally.admit(plan.max_in_flight as u64) {
            let mut record =
                RequestRecord::due(seq, request.lane, Text::clone(&request.name), scheduled);
            (record.outcome, record.phase) = (Outcome::Dropped, Phase::Queue);
            record.close_requested = request.close_requested;
            record.ended = Some(context.clock.now());
            context.outbox.request(record);
            return;
        }
        let slot = Slot::new(context, seq, request, scheduled);
        spawn_local(run_slot(Rc::clone(context), slot, index));
    }

    async fn nothing_in_flight(&self) {
        loop {
            let idle = self.context.tally.idle.notified();
            if !self.context.tally.is_busy() {
                return;
            }
            idle.await;
        }
    }
}

/// Hands records over, and closes connections that are to be kept no longer.
pub(crate) async fn housekeeping(context: Rc<Context>) {
    loop {
        sleep(HOUSEKEEPING).await;
        context.outbox.hand_over();
        let now = context.clock.now();
        context.pool.expire(now);
        context.multiplex.expire(now, &context.plan.keep_alive);
    }
}

/// What the generator says of itself, from what its threads say.
pub(crate) fn record(
    plan: &Plan,
    counters: &Counters,
    parts: &[Part],
    lost_records: u64,
) -> GeneratorRecord {
    let stats = counters.snapshot();
    let from = parts.iter().map(|p| p.from).min().unwrap_or_default();
    GeneratorRecord {
        planned: stats.planned,
        sent: stats.sent,
        dropped: stats.dropped,
        lost_records,
        lateness_us: lateness(parts.iter().map(|p| &p.lateness)),
        cpu_us: parts.iter().map(|p| p.cpu_us).sum(),
        idle_closes: stats.idle_closes,
        max_in_flight: counters.max_in_flight(),
        from,
        to: parts.iter().filter_map(|p| p.to).max().unwrap_or(from),
        tolerance_us: u64::try_from(tolerance(&plan.load).as_micros()).ok(),
        threads: u32::try_from(parts.len()).unwrap_or(u32::MAX),
        journeys: None,
    }
}

/// User and system time of the calling thread so far, microseconds.
pub(crate) fn thread_cpu_us() -> u64 {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    let spent = Duration::try_from(spent).unwrap_or_default();
    u64::try_from(spent.as_micros()).unwrap_or(u64::MAX)
}
