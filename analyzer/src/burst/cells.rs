//! Failures of one kind on one pod, near each other in time.

use std::collections::BTreeMap;

use crate::signatures::{Case, Judgement};
use crate::timeline::PodIx;
use crate::traffic::{Failure, FailureIx, Kind};

const SECOND: i64 = 1_000_000_000;

/// A judged case.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) failures: Vec<FailureIx>,
    pub(crate) judgement: Judgement,
}

/// Failures further apart than this are not of one cell, ns: see the module.
pub(crate) fn gap(rate_per_second: f64) -> i64 {
    if rate_per_second > 0.0 && rate_per_second.is_finite() {
        ((5.0 / rate_per_second * SECOND as f64) as i64).clamp(SECOND, 5 * SECOND)
    } else {
        SECOND
    }
}

/// Groups failures (in order of their moment) into cases.
pub(crate) fn cells(failures: &[Failure], gap: i64) -> Vec<Case<'static>> {
    let mut open: BTreeMap<(Kind, Option<PodIx>), usize> = BTreeMap::new();
    let mut cases: Vec<Case<'static>> = Vec::new();
    for (i, f) in failures.iter().enumerate() {
        let key = (f.kind, f.pod.or_else(|| f.suspects.first().copied()));
        let joined = open.get(&key).copied().filter(|c| {
            let last = cases[*c].failures.last().map(|l| failures[*l].at);
            last.is_some_and(|l| f.at.nanos_since(l) <= gap)
        });
        match joined {
            Some(c) => join(&mut cases[c], i, f),
            None => {
                open.insert(key, cases.len());
                cases.push(Case {
                    kind: f.kind,
                    failures: vec![i],
                    suspects: f.suspects.clone(),
                    end: None,
                });
            }
        }
    }
    cases
}

fn join(case: &mut Case<'_>, i: FailureIx, f: &Failure) {
    case.failures.push(i);
    for p in &f.suspects {
        if !case.suspects.contains(p) {
            case.suspects.push(*p);
        }
    }
}
