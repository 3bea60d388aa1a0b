//! Work on all cores, with results that do not depend on how many there are.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// Does each job once, on as many threads as there are cores; the results are in the order of the jobs.
pub fn in_parallel<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let rest = || {
        let jobs = std::iter::from_fn(|| {
            let number = next.fetch_add(1, Relaxed);
            Some((number, jobs.get(number)?))
        });
        jobs.map(|(number, job)| (number, work(job)))
            .collect::<Vec<_>>()
    };
    let threads = cores().min(jobs.len());
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(rest)).collect();
        let mut done = rest();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        let jobs: Vec<u64> = (0..1000).collect();
        let squares = in_parallel(&jobs, |n| n * n);
        assert_eq!(squares, jobs.iter().map(|n| n * n).collect::<Vec<_>>());
        assert!(in_parallel(&[], |n: &u64| *n).is_empty());
    }
}
