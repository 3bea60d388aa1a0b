//! Runs of the table's rows, some at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::table::Expected;

/// Runs that go on at the same time, whichever test they are of: most of each is waiting.
const AT_ONCE: usize = 4;

/// How many go on.
static RUNNING: Mutex<usize> = Mutex::new(0);
static ONE_LESS: Condvar = Condvar::new();

fn running() -> MutexGuard<'static, usize> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place among those that go on.
struct Place;

impl Place {
    fn wait() -> Self {
        let full = |n: &mut usize| *n >= AT_ONCE;
        let free = ONE_LESS.wait_while(running(), full);
        *free.unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *running() -= 1;
        ONE_LESS.notify_one();
    }
}

/// Runs `check` on each row, some at a time, and tells of all that failed.
pub(crate) fn for_each(rows: &[Expected], check: impl Fn(&Expected) + Sync) {
    let next = Mutex::new(rows.iter());
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let _place = Place::wait();
                    let Some(row) = next.lock().unwrap().next() else {
                        return;
                    };
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(row))) {
                        let why = panic.downcast_ref::<String>().cloned();
                        failed.lock().unwrap().push(format!(
                            "{}: {}",
                            row.subject,
                            why.unwrap_or_default()
                        ));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
