//! What failed before anything was changed: the rate of each kind of failure that the rollout is not to blame for.

use std::collections::BTreeMap;

use rollscope_records::{Field, Requests, RunOffset};

use crate::timeline::{PodIx, Timeline};
use crate::traffic::{Failure, Kind, Traffic, down_at};

/// So many failures before the rollout show how long they take.
const SEVERAL: u64 = 5;

/// So many that end in one way, and none in another, are a rule.
const ALWAYS: u64 = 20;

/// A connection is refused within this time, ns.
const AT_ONCE: i64 = 5_000_000;

/// Failures before the rollout.
#[derive(Debug, Clone, Default)]
pub(crate) struct Baseline {
    /// Length of the time before the rollout, ns; 0 when there is none.
    pub(crate) length: i64,
    /// Until when.
    pub(crate) until: Option<RunOffset>,
    /// Only of kinds that went on until the rollout.
    counts: BTreeMap<Kind, u64>,
    on_pod: BTreeMap<(Kind, PodIx), u64>,
    /// Pods that it spread over.
    pods: u64,
    /// How long those of each kind took, from the shortest to the longest, ns.
    ages: BTreeMap<Kind, (i64, i64)>,
    /// Refusals that had stopped before the rollout, while no container was down, and the last of them.
    refused_at_first: Option<(u64, RunOffset)>,
    /// By the request's name: how many were sent, and how many of them failed in which way.
    sent: BTreeMap<String, u64>,
    /// How many were sent from the rollout's start on.
    sent_since: BTreeMap<String, u64>,
    failed: BTreeMap<(String, Kind), u64>,
    /// Of the whole run.
    all_failed: BTreeMap<(String, Kind), u64>,
}

impl Baseline {
    /// Failures of pods that nothing happened to, from the first request to the rollout's start.
    pub(crate) fn of(traffic: &Traffic<'_>, timeline: &Timeline) -> Self {
        let Some(from) = traffic.requests.first().map(|r| r.scheduled) else {
            return Self::default();
        };
        let last = traffic.requests.last().map_or(from, |r| r.scheduled);
        let until = timeline.rollout.start.unwrap_or(last);
        let mut counts = BTreeMap::new();
        let mut on_pod = BTreeMap::new();
        let half = from.plus_nanos(until.nanos_since(from) / 2);
        let mut moments: BTreeMap<Kind, Vec<RunOffset>> = BTreeMap::new();
        let mut late: BTreeMap<Kind, u64> = BTreeMap::new();
        let mut ages: BTreeMap<Kind, (i64, i64)> = BTreeMap::new();
        for f in &traffic.failures {
            let unharmed = f.suspects.iter().all(|p| {
                let pod = timeline.pod(*p);
                let stopped = down_at(pod, f.at).is_some() || pod.killed_by_probe(f.at).is_some();
                !stopped && pod.ends().all(|e| !e.explains_cut_at(f.at))
            });
            if f.at < until && unharmed {
                moments.entry(f.kind).or_default().push(f.at);
                *counts.entry(f.kind).or_insert(0) += 1;
                *late.entry(f.kind).or_insert(0) += u64::from(f.at >= half);
                let (least, most) = ages.entry(f.kind).or_insert((f.age(), f.age()));
                (*least, *most) = (f.age().min(*least), f.age().max(*most));
                if let Some(pod) = f.pod {
                    *on_pod.entry((f.kind, pod)).or_insert(0) += 1;
                }
            }
        }
        let mut failed: BTreeMap<(String, Kind), u64> = BTreeMap::new();
        let mut all_failed = failed.clone();
        for f in &traffic.failures {
            let key = (traffic.request(f).name.to_owned(), f.kind);
            if f.at < until {
                *failed.entry(key.clone()).or_insert(0) += 1;
            }
            *all_failed.entry(key).or_insert(0) += 1;
        }
        let stopped = |kind: &Kind| {
            let moments = moments.get(kind).map_or(&[][..], Vec::as_slice);
            had_stopped(moments, until, traffic)
        };
        let refused_at_first = moments.get(&Kind::Refused).and_then(|moments| {
            let last = *moments.last().filter(|_| stopped(&Kind::Refused))?;
            let down = timeline.pods.iter().any(|p| down_at(p, last).is_some());
            (!down).then_some((moments.len() as u64, last))
        });
        counts
            .retain(|kind, n| goes_on(*n, late.get(kind).copied().unwrap_or(0)) && !stopped(kind));
        let sent = sent_before(until, traffic.requests);
        Self {
            length: until.nanos_since(from).max(0),
            until: timeline.rollout.start,
            counts,
            on_pod,
            pods: timeline
                .pods
                .iter()
                .filter(|p| p.first_seen < until)
                .count() as u64,
            ages,
            refused_at_first,
            sent_since: since(&sent, traffic.requests),
            sent,
            failed,
            all_failed,
        }
    }

    /// The share of requests of that name that failed in that way (one standard error above it), 0 to 1.
    pub(crate) fn share(&self, name: &str, kind: Kind) -> f64 {
        let sent = self.sent.get(name).copied().unwrap_or(0) as f64;
        let failed = self.failed.get(&(name.to_owned(), kind));
        let failed = failed.copied().unwrap_or(0) as f64;
        if sent > 0.0 {
            ((failed + failed.sqrt()) / sent).min(1.0)
        } else {
            0.0
        }
    }

    /// How many failures of `kind` all requests from the rollout's start on bring, by the shares before it.
    pub(crate) fn expected_since(&self, kind: Kind) -> f64 {
        let names = self.sent_since.iter();
        names
            .map(|(name, sent)| self.share(name, kind) * *sent as f64)
            .sum()
    }

    /// How many requests of that name failed in that way, where hardly one of that name ever went well.
    pub(crate) fn always(&self, name: &str, kind: Kind) -> Option<u64> {
        let sent = |of: &BTreeMap<String, u64>| of.get(name).copied().unwrap_or(0);
        let of_name = self.all_failed.iter().filter(|((n, _), _)| n == name);
        let failed: u64 = of_name.map(|(_, n)| n).sum();
        let well = (sent(&self.sent) + sent(&self.sent_since)).saturating_sub(failed);
        let n = *self.all_failed.get(&(name.to_owned(), kind))?;
        (n >= ALWAYS && well * 20 <= n).then_some(n)
    }

    /// A failure that took about as long as those of its kind before the rollout, where these took longer than a
    /// connection that is refused at once: the two are told apart by that.
    pub(crate) fn alike(&self, f: &Failure) -> bool {
        let Some((least, most)) = self.ages.get(&f.kind).copied() else {
            return false;
        };
        self.count(f.kind) >= SEVERAL
            && least >= AT_ONCE
            && (least / 2..most.saturating_mul(4)).contains(&f.age())
    }

    /// How many connections were refused before the rollout by pods that were ready, and the last of them, where this
    /// had stopped by the rollout.
    pub(crate) fn refused_at_first(&self) -> Option<(u64, RunOffset)> {
        self.refused_at_first
    }

    /// Failures of this kind before the rollout.
    pub(crate) fn count(&self, kind: Kind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// How many failures of `kind` a time of `nanos` brings at most, by the rate before the rollout (one standard
    /// error above it): on one pod its own rate or its share of the whole, whichever is more.
    pub(crate) fn expected(&self, kind: Kind, pod: Option<PodIx>, nanos: i64) -> f64 {
        let all = self.count(kind) as f64;
        if all == 0.0 || self.length <= 0 {
            return 0.0;
        }
        let n = match pod {
            Some(p) => {
                let own = self.on_pod.get(&(kind, p)).copied().unwrap_or(0) as f64;
                own.max(all / self.pods.max(1) as f64)
            }
            None => all,
        };
        (n + n.sqrt()) * nanos as f64 / self.length as f64
    }
}

/// How many requests of each name were due before `until`.
fn sent_before(until: RunOffset, requests: &Requests) -> BTreeMap<String, u64> {
    let names: Vec<&str> = requests.texts(Field::Name).collect();
    let rows = requests.partition_point(|r| r.scheduled < until);
    let stretches = requests.by_stretch(|blocks| {
        let mut counts = vec![0; names.len()];
        let mut unpacked = requests.unpacked([Field::Name]);
        for block in blocks {
            let [of_block] = unpacked.block(block);
            let left = rows.saturating_sub(block * Requests::BLOCK);
            of_block
                .iter()
                .take(left)
                .for_each(|name| counts[*name as usize] += 1);
        }
        counts
    });
    let sums = names.iter().enumerate().map(|(name, text)| {
        let n: u64 = stretches.iter().map(|counts| counts[name]).sum();
        ((*text).to_owned(), n)
    });
    sums.filter(|(_, n)| *n > 0).collect()
}

/// The others of each name, where so many of it were due before.
fn since(before: &BTreeMap<String, u64>, requests: &Requests) -> BTreeMap<String, u64> {
    let mut all = sent_before(RunOffset(i64::MAX), requests);
    for (name, sent) in &mut all {
        *sent = sent.saturating_sub(before.get(name).copied().unwrap_or(0));
    }
    all
}

/// Whether failures at these moments, in order, had stopped: by their share of the requests while they went on, one of
/// those from then to `until` would have failed too.
fn had_stopped(moments: &[RunOffset], until: RunOffset, traffic: &Traffic<'_>) -> bool {
    let (Some(first), Some(last)) = (moments.first().copied(), moments.last().copied()) else {
        return false;
    };
    if (moments.len() as u64) < 3 {
        return false;
    }
    let made = |from: RunOffset, to: RunOffset| traffic.made(from, to);
    let share = moments.len() as f64 / made(first, last).max(moments.len()) as f64;
    let after = made(last, until).saturating_sub(1);
    (1.0 - share.min(0.9)).powi(i32::try_from(after).unwrap_or(i32::MAX)) < 0.01
}

/// Whether `n` failures, `late` of them in the second half, are a rate and not something that had stopped before.
fn goes_on(n: u64, late: u64) -> bool {
    n < 4 || late.saturating_mul(8) >= n
}

/// The chance of `n` or more where `mean` are expected (Poisson).
pub(crate) fn chance_of_at_least(n: u64, mean: f64) -> f64 {
    if mean <= 0.0 {
        return if n == 0 { 1.0 } else { 0.0 };
    }
    let mut term = (-mean).exp();
    let mut below = 0.0;
    for k in 0..n.min(10_000) {
        below += term;
        term *= mean / (k + 1) as f64;
    }
    (1.0 - below).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_likely_where_many_are_expected_and_many_unlikely_where_few_are() {
        assert!(chance_of_at_least(1, 5.0) > 0.99);
        assert!(chance_of_at_least(8, 0.5) < 1e-5);
        assert!((chance_of_at_least(0, 0.0) - 1.0).abs() < f64::EPSILON);
        assert!(chance_of_at_least(1, 0.0) < f64::EPSILON);
    }
}
