//! Cells with the same verdict become one burst.

use std::collections::BTreeMap;

use rollscope_records::RunOffset;

use super::Cell;
use crate::timeline::PodIx;
use crate::traffic::{Failure, FailureIx};

/// Failures with one verdict, near each other in time.
#[derive(Debug, Clone)]
pub(crate) struct Merged {
    pub(crate) cause: String,
    pub(crate) detail: Option<String>,
    /// In order of the moment at which they failed.
    pub(crate) failures: Vec<FailureIx>,
    /// The pods, in the order in which they failed.
    pub(crate) pods: Vec<PodIx>,
    /// Indices of its cells.
    pub(crate) cells: Vec<usize>,
    last: RunOffset,
}

/// Merges judged cells, which are in order of their first failure.
pub(crate) fn merge(cells: &[Cell], failures: &[Failure], gap: i64) -> Vec<Merged> {
    let mut open: BTreeMap<(String, Option<String>), usize> = BTreeMap::new();
    let mut bursts: Vec<Merged> = Vec::new();
    for (i, cell) in cells.iter().enumerate() {
        let moments = || cell.failures.iter().map(|f| failures[*f].at);
        let (Some(first), Some(last)) = (moments().min(), moments().max()) else {
            continue;
        };
        let key = (cell.judgement.cause.clone(), cell.judgement.detail.clone());
        let joined = open
            .get(&key)
            .copied()
            .filter(|b| first.nanos_since(bursts[*b].last) <= gap.saturating_mul(2));
        let b = joined.unwrap_or_else(|| {
            bursts.push(Merged {
                cause: key.0.clone(),
                detail: key.1.clone(),
                failures: Vec::new(),
                pods: Vec::new(),
                cells: Vec::new(),
                last,
            });
            bursts.len() - 1
        });
        open.insert(key, b);
        let burst = &mut bursts[b];
        burst.last = burst.last.max(last);
        burst.cells.push(i);
        burst.failures.extend(&cell.failures);
        let of_failures = cell.failures.iter().filter_map(|f| failures[*f].pod);
        for pod in of_failures.chain(cell.judgement.pod) {
            if !burst.pods.contains(&pod) {
                burst.pods.push(pod);
            }
        }
    }
    for b in &mut bursts {
        b.failures.sort_unstable();
    }
    bursts
}
