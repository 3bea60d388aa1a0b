//! The generator's thread: sends every slot when it is due.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rollscope_records::{GeneratorRecord, Outcome, Phase, RequestRecord, RunOffset};
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::{LocalSet, spawn_local, yield_now};
use tokio::time::timeout;

use crate::connection::Pool;
use crate::context::Context;
use crate::pacing::SlotTimer;
use crate::protocol::run_slot;
use crate::recording::{Counters, Slot, Tally};
use crate::running::Checked;

/// Slots of a backlog that are dispatched before the others get a turn.
const BURST: u64 = 32;

/// Tasks that run before the runtime looks at sockets and timers again.
const EVENT_INTERVAL: u32 = 4;

/// What the generator is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Go on.
    Run,
    /// Send no more, and wait this long for what is in flight.
    Drain(Duration),
    /// End now.
    Abort,
}

/// The slots that have been due.
struct Progress {
    from: RunOffset,
    next: u64,
}

/// A generator on its thread, ready to run.
pub(crate) struct Driver {
    runtime: Runtime,
    context: Rc<Context>,
    counters: Arc<Counters>,
    timer: SlotTimer,
}

impl Driver {
    /// Sets the generator up on the calling thread.
    pub(crate) fn new(checked: Checked, counters: Arc<Counters>) -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .event_interval(EVENT_INTERVAL)
            .build()?;
        let timer = {
            let _inside = runtime.enter();
            SlotTimer::new(checked.clock)?
        };
        let tally = Tally::new(Arc::clone(&counters), checked.clock.now());
        let context = Rc::new(Context {
            pool: Rc::new(Pool::new(checked.plan.pool_size)),
            plan: checked.plan,
            clock: checked.clock,
            sink: checked.sink,
            dialer: checked.dialer,
            tls: checked.tls,
            tally: Rc::new(tally),
            next_connection: Cell::new(0),
        });
        Ok(Self {
            runtime,
            context,
            counters,
            timer,
        })
    }

    /// Runs the load until it is told otherwise, and says what became of it.
    pub(crate) fn run(self, mut commands: watch::Receiver<Command>) -> GeneratorRecord {
        let tasks = LocalSet::new();
        let progress = tasks.block_on(&self.runtime, self.send_until_stopped(&mut commands));
        // Whatever is in flight now is aborted: each slot that is dropped writes its record.
        drop(tasks);
        self.context.pool.clear();
        let record = self.record(&progress);
        self.runtime.shutdown_background();
        record
    }

    async fn send_until_stopped(&self, commands: &mut watch::Receiver<Command>) -> Progress {
        let mut progress = Progress {
            from: self.context.clock.now(),
            next: 0,
        };
        let command = self.send(&mut progress, commands).await;
        if let Command::Drain(at_most) = command {
            tokio::select! {
                _ = timeout(at_most, self.nothing_in_flight()) => {}
                _ = commands.wait_for(|c| *c == Command::Abort) => {}
            }
        }
        progress
    }

    /// Sends slots until a command says otherwise.
    async fn send(
        &self,
        progress: &mut Progress,
        commands: &mut watch::Receiver<Command>,
    ) -> Command {
        loop {
            let command = match commands.has_changed() {
                Ok(_) => *commands.borrow_and_update(),
                // Nobody holds the load any more.
                Err(_) => Command::Abort,
            };
            if command == Command::Abort {
                return command;
            }
            self.send_due(progress).await;
            if command != Command::Run {
                return command;
            }
            self.context.tally.publish(self.context.clock.now());
            let due = self.due(progress, progress.next);
            tokio::select! {
                biased;
                _ = commands.changed() => {}
                waited = self.timer.wait(due) => if waited.is_err() {
                    // Not expected of a timer; a millisecond's precision is better than none.
                    tokio::time::sleep(Duration::from_millis(1)).await;
                },
            }
        }
    }

    fn due(&self, progress: &Progress, slot: u64) -> RunOffset {
        progress.from.plus(self.context.plan.rate.due(slot))
    }

    /// Dispatches every slot that is due by now.
    async fn send_due(&self, progress: &mut Progress) {
        let now = self.context.clock.now();
        while self.due(progress, progress.next) <= now {
            self.dispatch(progress.next, self.due(progress, progress.next));
            progress.next += 1;
            if progress.next.is_multiple_of(BURST) {
                yield_now().await;
            }
        }
    }

    fn dispatch(&self, seq: u64, scheduled: RunOffset) {
        let context = &self.context;
        let index = context.plan.mix.request(seq);
        let request = &context.plan.requests[index];
        if context.tally.in_flight() >= context.plan.max_in_flight as u64 {
            let mut record = RequestRecord::scheduled(seq, request.lane, &request.name, scheduled);
            (record.outcome, record.phase) = (Outcome::Dropped, Phase::Queue);
            record.close_requested = request.close_requested;
            record.ended = Some(context.clock.now());
            context.tally.dropped();
            context.sink.request(record);
            return;
        }
        let slot = Slot::new(context, seq, request, scheduled);
        spawn_local(run_slot(Rc::clone(context), slot, index));
    }

    async fn nothing_in_flight(&self) {
        loop {
            let idle = self.context.tally.idle.notified();
            if self.context.tally.in_flight() == 0 {
                return;
            }
            idle.await;
        }
    }

    fn record(&self, progress: &Progress) -> GeneratorRecord {
        let stats = self.counters.snapshot();
        GeneratorRecord {
            planned: stats.planned,
            sent: stats.sent,
            dropped: stats.dropped,
            lost_records: 0,
            lateness_us: self.context.tally.lateness(),
            cpu_us: thread_cpu_us(),
            idle_closes: stats.idle_closes,
            max_in_flight: self.counters.max_in_flight(),
            from: progress.from,
            to: self.due(progress, progress.next.saturating_sub(1)),
            tolerance_us: Some(0),
            threads: 1,
        }
    }
}

/// User and system time of the calling thread so far, microseconds.
fn thread_cpu_us() -> u64 {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    let spent = Duration::try_from(spent).unwrap_or_default();
    u64::try_from(spent.as_micros()).unwrap_or(u64::MAX)
}
