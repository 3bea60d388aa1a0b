//! A small job queue in memory with one worker.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::pool::Pool;

/// Jobs and what became of them.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Duration>,
    stopped: bool,
    running: u64,
    done: u64,
    returned: u64,
    lost: u64,
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job that takes `length`. Once the worker has stopped it is returned at once.
    pub(super) fn enqueue(&self, length: Duration) {
        let mut state = self.lock();
        if state.stopped {
            state.returned += 1;
        } else {
            state.queue.push_back(length);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// The counts.
    pub(super) fn counts(&self) -> Value {
        let state = self.lock();
        json!({
            "queued": state.queue.len(),
            "running": state.running,
            "done": state.done,
            "returned": state.returned,
            "lost": state.lost,
            "duplicated": 0,
        })
    }

    /// Works on jobs, one after the other, until stopped. A job whose query the pool refuses is lost.
    pub(super) async fn work(&self, pool: &Pool) {
        loop {
            let changed = self.changed.notified();
            let Some(length) = self.reserve() else {
                if self.lock().stopped {
                    return;
                }
                changed.await;
                continue;
            };
            sleep(length).await;
            let reported = pool.query().await;
            let mut state = self.lock();
            state.running -= 1;
            match reported {
                Ok(()) => state.done += 1,
                Err(_) => state.lost += 1,
            }
            drop(state);
            self.changed.notify_waiters();
        }
    }

    fn reserve(&self) -> Option<Duration> {
        let mut state = self.lock();
        let next = state.queue.pop_front()?;
        state.running += 1;
        Some(next)
    }

    /// Returns what is queued and waits for the job that is running. Gives the number of returned jobs, or `None` if
    /// there never was a job.
    pub(super) async fn stop(&self) -> Option<u64> {
        {
            let mut state = self.lock();
            state.stopped = true;
            state.returned += state.queue.len() as u64;
            state.queue.clear();
        }
        self.changed.notify_waiters();
        loop {
            let changed = self.changed.notified();
            {
                let state = self.lock();
                if state.running == 0 {
                    let any = state.done + state.returned + state.lost > 0;
                    return any.then_some(state.returned);
                }
            }
            changed.await;
        }
    }
}
