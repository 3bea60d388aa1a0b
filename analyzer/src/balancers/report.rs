//! What the report says of balancers' logs.

use std::collections::BTreeMap;

use rollscope_accesslogs::{Entry, Malformed};
use rollscope_records::Recording;

use super::Balancers;
use super::book::malformed_words;
use crate::analysis::{BalancerReport, NearMiss};

/// The counts of one balancer's logs.
#[derive(Debug, Default)]
pub(super) struct Counts {
    requests: u64,
    joined: u64,
    by_status: BTreeMap<String, u64>,
    by_emitter: BTreeMap<String, u64>,
    tries: BTreeMap<String, u64>,
    unnamed: u64,
    near_misses: u64,
    pub(super) malformed: Malformed,
}

impl Counts {
    pub(super) fn add(&mut self, entry: &Entry<'_>, joined: bool) {
        self.requests += 1;
        self.joined += u64::from(joined);
        let status = entry.status.map_or("none".to_owned(), |s| s.to_string());
        *self.by_status.entry(status).or_default() += 1;
        let emitter = entry.emitter.as_str().to_owned();
        *self.by_emitter.entry(emitter).or_default() += 1;
        for tried in &entry.tries {
            *self.tries.entry(tried.end.as_str().to_owned()).or_default() += 1;
        }
        self.unnamed += u64::from(entry.unnamed_tries);
        self.near_misses += u64::from(entry.is_near_miss());
    }
}

/// A report for each balancer. The near misses are of the first one: a run has one front end.
pub(crate) fn reports(balancers: &Balancers, mut near: Vec<NearMiss>) -> Vec<BalancerReport> {
    let counts = balancers.counts.iter();
    counts
        .map(|(name, c)| BalancerReport {
            name: name.clone(),
            requests: c.requests,
            joined: c.joined,
            by_status: c.by_status.clone(),
            by_emitter: c.by_emitter.clone(),
            tries: c.tries.clone(),
            unnamed_tries: c.unnamed,
            malformed: c.malformed.count,
            near_misses: c.near_misses,
            near: std::mem::take(&mut near),
        })
        .collect()
}

impl Balancers {
    /// What could not be read, and which log says nothing of this run, in words.
    pub(crate) fn notes(&self, recording: &Recording) -> Vec<String> {
        // Of what was imported only the lines of failures are there.
        let all_lines = recording.run.target.kind != "import" && !recording.requests.is_empty();
        let counts = self.counts.iter();
        counts
            .flat_map(|(name, c)| {
                let silent = (all_lines && c.joined == 0).then(|| {
                    format!(
                        "the log of {name} has no line of a request of this load: it decides nothing ({} of others)",
                        crate::words::count(c.requests, "line")
                    )
                });
                malformed_words(name, &c.malformed).into_iter().chain(silent)
            })
            .collect()
    }
}
