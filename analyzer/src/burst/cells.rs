//! Failures of one kind on one pod, near each other in time.

use std::collections::BTreeMap;

use crate::signatures::{Case, Judgement};
use crate::timeline::{PodIx, Timeline};
use crate::traffic::{Failure, FailureIx, Kind, starts};

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
pub(crate) fn cells(
    failures: &[Failure],
    gap: i64,
    timeline: &Timeline,
    name: impl Fn(&Failure) -> String,
    usual: impl Fn(&Failure) -> bool,
) -> Vec<Case<'static>> {
    let mut open: BTreeMap<Key, usize> = BTreeMap::new();
    let mut cases: Vec<Case<'static>> = Vec::new();
    for (i, f) in failures.iter().enumerate() {
        let usual = usual(f);
        let key = if usual {
            Key::usual(f.kind)
        } else {
            Key::of(f, timeline, &name)
        };
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
                    usual,
                });
            }
        }
    }
    cases
}

/// What failures of one cell have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    kind: Kind,
    likeliest: Option<PodIx>,
    /// The first leaving pod that can have had it.
    leaving: Option<PodIx>,
    /// The first new pod that can have had it as well.
    new: Option<PodIx>,
    /// Which end of the likeliest pod explains a cut.
    end: Option<usize>,
    /// No endpoint was ready: what is refused then may have another cause than what is refused before and after.
    none_ready: bool,
    /// The request's name, for what the application itself answered and for streams older than the grace or held open.
    name: String,
    /// It took as long as those that failed before the rollout.
    usual: bool,
}

impl Key {
    /// Failures as they were before the rollout, on whichever pod.
    fn usual(kind: Kind) -> Self {
        Self {
            kind,
            likeliest: None,
            leaving: None,
            new: None,
            end: None,
            none_ready: false,
            name: String::new(),
            usual: true,
        }
    }

    fn of(f: &Failure, timeline: &Timeline, name: impl Fn(&Failure) -> String) -> Self {
        let refused = matches!(f.kind, Kind::Refused | Kind::NoBackend);
        let new = |p: &&PodIx| starts(timeline.pod(**p), f.at);
        let leaves = |p: &&PodIx| {
            let seen = timeline.pod(**p).deletion_seen();
            seen.is_some_and(|d| d <= f.at)
        };
        let likeliest = f.pod.or_else(|| f.suspects.first().copied());
        let nearest = |pod: PodIx| {
            let ends = timeline.pod(pod).ends().enumerate();
            ends.filter(|(_, e)| e.explains_cut_at(f.at))
                .min_by_key(|(_, e)| e.point().nanos_since(f.at).abs())
                .map(|(i, _)| i)
        };
        Self {
            kind: f.kind,
            likeliest,
            end: likeliest.filter(|_| f.kind == Kind::Cut).and_then(nearest),
            leaving: f.suspects.iter().find(leaves).filter(|_| refused).copied(),
            new: f.suspects.iter().find(new).filter(|_| refused).copied(),
            none_ready: refused && timeline.fewest_ready(f.at, f.at) == Some(0),
            name: match f.kind {
                Kind::AppStatus(_) => name(f),
                // A stream that is older than any drain, or has no end, has a cause of its own.
                Kind::Cut if f.in_body && (f.held || f.age() >= grace(likeliest, timeline)) => {
                    name(f)
                }
                _ => String::new(),
            },
            usual: false,
        }
    }
}

/// The grace of the pod, ns.
fn grace(pod: Option<PodIx>, timeline: &Timeline) -> i64 {
    let seconds = pod.and_then(|p| timeline.pod(p).grace_seconds());
    seconds.unwrap_or(30).saturating_mul(SECOND)
}

fn join(case: &mut Case<'_>, i: FailureIx, f: &Failure) {
    case.failures.push(i);
    for p in &f.suspects {
        if !case.suspects.contains(p) {
            case.suspects.push(*p);
        }
    }
}
