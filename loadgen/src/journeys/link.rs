//! The journeys' process's side of the pipes, and the run's clock there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use rollscope_records::{JourneysRecord, Outcome, RequestRecord, RunOffset};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::oneshot;

use super::plan::{Order, Said};

/// The run's clock in another process than the one that started it: both read `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    zero_nanos: i64,
}

impl Clock {
    /// The clock of a run that began at that time of `CLOCK_MONOTONIC`, ns.
    pub(super) const fn new(zero_nanos: i64) -> Self {
        Self { zero_nanos }
    }

    /// Now, on the run's clock.
    pub(super) fn now(self) -> RunOffset {
        RunOffset(monotonic_nanos().saturating_sub(self.zero_nanos))
    }
}

/// `CLOCK_MONOTONIC`, ns.
pub(super) fn monotonic_nanos() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}

/// What waits for an answer, and what is in flight.
#[derive(Default)]
struct Open {
    dials: BTreeMap<u64, oneshot::Sender<Result<SocketAddr, i32>>>,
    dialled: u64,
    steps: BTreeMap<u64, RequestRecord>,
    next_step: u64,
    /// Whether what was in flight has been given up.
    aborted: bool,
}

/// The pipe to the parent. Every line goes out whole; there are few enough of them that none has to wait for others.
pub(super) struct Link {
    out: Mutex<File>,
    open: Mutex<Open>,
    clock: Clock,
}

impl Link {
    pub(super) fn new(out: File, clock: Clock) -> Self {
        Self {
            out: Mutex::new(out),
            open: Mutex::default(),
            clock,
        }
    }

    /// The run's clock.
    pub(super) const fn clock(&self) -> Clock {
        self.clock
    }

    fn say(&self, said: &Said) {
        let Ok(mut line) = serde_json::to_vec(said) else {
            return;
        };
        line.push(b'\n');
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a parent this process ends as soon as its stdin does.
        let _ = out.write_all(&line);
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A step is about to be sent: `of` makes its record, given its number from 0.
    pub(super) fn begin(&self, of: impl FnOnce(u64) -> RequestRecord) -> (u64, RequestRecord) {
        let mut open = self.open();
        let number = open.next_step;
        open.next_step += 1;
        let record = of(number);
        open.steps.insert(record.seq, record.clone());
        (number, record)
    }

    /// A step is over, unless it was given up before.
    pub(super) fn end(&self, record: RequestRecord) {
        if self.open().steps.remove(&record.seq).is_some() {
            self.say(&Said::Step(Box::new(record)));
        }
    }

    /// Asks the parent where a connection goes.
    pub(super) async fn dial(&self) -> Result<SocketAddr, i32> {
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut open = self.open();
            open.dialled += 1;
            let id = open.dialled;
            open.dials.insert(id, answer);
            id
        };
        self.say(&Said::Dial(id));
        answered
            .await
            .unwrap_or(Err(rustix::io::Errno::CONNABORTED.raw_os_error()))
    }

    /// Says that it is over.
    pub(super) fn over(&self, record: JourneysRecord) {
        if !self.open().aborted {
            self.say(&Said::Over(record));
        }
    }

    fn abort(&self, users: u64) {
        let steps = {
            let mut open = self.open();
            open.aborted = true;
            std::mem::take(&mut open.steps)
        };
        for (_, mut record) in steps {
            record.outcome = Outcome::Aborted;
            record.ended = Some(self.clock.now());
            self.say(&Said::Step(Box::new(record)));
        }
        let record = JourneysRecord {
            users,
            failure: Some("they were aborted with the run".to_owned()),
            ..JourneysRecord::default()
        };
        self.say(&Said::Over(record));
    }

    /// Follows the parent's orders to the end of `orders`, which is the parent's end.
    pub(super) fn follow(&self, orders: impl BufRead, users: u64, stop: impl Fn()) {
        for line in orders.lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Order::Stop) => stop(),
                Ok(Order::Abort) => return self.abort(users),
                Ok(Order::Dialled(id, answer)) => {
                    if let Some(asked) = self.open().dials.remove(&id) {
                        let _ = asked.send(answer);
                    }
                }
                Err(_) => return,
            }
        }
    }
}
