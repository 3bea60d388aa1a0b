//! The thread on which connections are held.

use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rollscope_records::RequestRecord;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinSet, LocalSet};

use super::place::{Places, hold};
use crate::LoadShare;
use crate::context::{ConnectionIds, Context};
use crate::driver::{housekeeping, thread_cpu_us};
use crate::recording::{Counters, LoadStats, Tally};
use crate::running::Checked;

/// What is to become of the held connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Hold them.
    Hold,
    /// Close them in good order.
    Finish,
    /// Leave them as they are.
    Abort,
}

/// Held connections, on a thread of their own.
#[derive(Debug)]
pub(crate) struct Holding {
    counters: Arc<Counters>,
    orders: watch::Sender<Order>,
    cpu_us: oneshot::Receiver<u64>,
    thread: JoinHandle<()>,
}

impl Holding {
    /// Begins to hold the connections of the plan; `None` where it has none.
    pub(crate) fn start(checked: &Checked) -> std::io::Result<Option<Self>> {
        if checked.plan.streams.is_empty() {
            return Ok(None);
        }
        let counters = Arc::new(Counters::new(1));
        let (orders, given) = watch::channel(Order::Hold);
        let (report, cpu_us) = oneshot::channel();
        let (ready, is_ready) = mpsc::sync_channel(1);
        let (checked, shared) = (checked.clone(), Arc::clone(&counters));
        let thread = std::thread::Builder::new()
            .name("loadgen-held".to_owned())
            .spawn(
                move || match Builder::new_current_thread().enable_all().build() {
                    Ok(runtime) => {
                        let _ = ready.send(Ok(()));
                        run(&runtime, &checked, shared, given);
                        runtime.shutdown_background();
                        let _ = report.send(thread_cpu_us());
                    }
                    Err(e) => drop(ready.send(Err(e))),
                },
            )?;
        is_ready.recv().map_err(std::io::Error::other)??;
        Ok(Some(Self {
            counters,
            orders,
            cpu_us,
            thread,
        }))
    }

    /// Their part of the load's state.
    pub(crate) fn stats(&self) -> LoadStats {
        self.counters.snapshot()
    }

    /// Gives an order.
    pub(crate) fn order(&self, order: Order) {
        self.orders.send_replace(order);
    }

    /// Waits until every record has been handed over, after an order to finish or abort. Returns the thread's CPU time,
    /// microseconds.
    ///
    /// # Panics
    ///
    /// If the thread has panicked, with its panic.
    pub(crate) async fn over(self) -> u64 {
        match self.cpu_us.await {
            Ok(cpu_us) => cpu_us,
            Err(gone) => match self.thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => unreachable!("the thread reports before it ends: {gone}"),
            },
        }
    }
}

fn run(
    runtime: &Runtime,
    checked: &Checked,
    counters: Arc<Counters>,
    orders: watch::Receiver<Order>,
) {
    let share = checked.plan.share.unwrap_or(LoadShare {
        index: 0,
        of: 1,
        starts: checked.clock.now(),
        slots: 0,
    });
    let tally = Tally::new(counters, 0, checked.clock.now());
    let ids = ConnectionIds::new(RequestRecord::FIRST_LONG_LIVED, 1);
    let context = Rc::new(Context::new(checked, tally, ids));
    let places = Rc::new(Places::new(Rc::clone(&context), share.index, share.of));
    let wait = share.starts.nanos_since(checked.clock.now());
    let wait = Duration::from_nanos(u64::try_from(wait).unwrap_or(0));
    LocalSet::new().block_on(runtime, async {
        tokio::task::spawn_local(housekeeping(Rc::clone(&context)));
        let mut stopped = orders.clone();
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            _ = super::place::stopped(&mut stopped) => return,
        }
        let mut held = JoinSet::new();
        for (stream, spec) in checked.plan.streams.iter().enumerate() {
            // Of several generators, each holds its part of the places.
            for place in (0..spec.count).filter(|p| u64::from(*p) % share.of == share.index) {
                held.spawn_local(hold(Rc::clone(&places), stream, place, orders.clone()));
            }
        }
        while let Some(ended) = held.join_next().await {
            if let Err(e) = ended
                && e.is_panic()
            {
                std::panic::resume_unwind(e.into_panic());
            }
        }
    });
    context.outbox.hand_over();
}
