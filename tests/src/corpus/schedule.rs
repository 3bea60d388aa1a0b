//! Runs cases several at a time, without overloading the machine.

use std::sync::{Condvar, Mutex};
use std::thread;

/// What may run at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Runs.
    pub(crate) jobs: usize,
    /// Requests per second over all runs; a run alone may have more.
    pub(crate) rate: u32,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<usize>,
    rate: u32,
    running: usize,
}

/// Does `work` for each item, at most `jobs` at once and as long as their rates fit. Those that wait longest go first,
/// unless a smaller one fits beside what runs.
pub(crate) fn each<T: Sync>(
    items: &[T],
    limits: Limits,
    rate: impl Fn(&T) -> u32 + Sync,
    work: impl Fn(&T) + Sync,
) {
    let state = Mutex::new(State {
        waiting: (0..items.len()).collect(),
        ..State::default()
    });
    let freed = Condvar::new();
    thread::scope(|scope| {
        for _ in 0..limits.jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let mut now = state.lock().unwrap();
                    let item = loop {
                        if now.waiting.is_empty() {
                            return;
                        }
                        let fits = |i: &usize| {
                            now.running == 0 || now.rate + rate(&items[*i]) <= limits.rate
                        };
                        if let Some(place) = now.waiting.iter().position(fits) {
                            break now.waiting.remove(place);
                        }
                        now = freed.wait(now).unwrap();
                    };
                    let item = &items[item];
                    now.running += 1;
                    now.rate += rate(item);
                    drop(now);
                    work(item);
                    let mut now = state.lock().unwrap();
                    now.running -= 1;
                    now.rate -= rate(item);
                    drop(now);
                    freed.notify_all();
                }
            });
        }
    });
}
