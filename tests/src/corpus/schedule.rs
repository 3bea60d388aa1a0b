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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn everything_is_done_once_and_the_limits_hold() {
        let rates: Vec<u32> = (0..40).map(|i| 10 + i * 7 % 90).collect();
        let limits = Limits { jobs: 4, rate: 120 };
        let (now, done) = (Mutex::new((0, 0)), Mutex::new(BTreeSet::new()));
        let items: Vec<usize> = (0..rates.len()).collect();
        each(
            &items,
            limits,
            |i| rates[*i],
            |i| {
                let mut running = now.lock().unwrap();
                *running = (running.0 + 1, running.1 + rates[*i]);
                assert!(running.0 <= limits.jobs, "{running:?}");
                assert!(running.0 == 1 || running.1 <= limits.rate, "{running:?}");
                drop(running);
                thread::yield_now();
                let mut running = now.lock().unwrap();
                *running = (running.0 - 1, running.1 - rates[*i]);
                drop(running);
                assert!(done.lock().unwrap().insert(*i));
            },
        );
        assert_eq!(done.into_inner().unwrap().len(), rates.len());
    }
}
