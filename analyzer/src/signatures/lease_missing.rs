//! `lease_missing`: an instance ended with a job in its hands, and nobody took the job from it.

use rollscope_records::Interval;

use super::Signature;
use crate::advice;
use crate::analysis::{Advice, Finding};
use crate::context::Context;
use crate::jobs::{Abandoned, Job, Jobs, What};
use crate::tame::tame_nanos;
use crate::timeline::PodIx;
use crate::words::{count, names, span};

/// Jobs are no requests: no case of failed requests is one of this. [`finding`] weighs the jobs.
pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh: |_, _| Vec::new(),
    summary: |group, cx| summary(group.pods.len() as u64, &cx.timeline.names(group.pods)),
    advice: |_, _| change(),
};

const NAME: &str = "lease_missing";

/// Jobs of which evidence is given.
const SHOWN: usize = 5;

/// The jobs of a run that stayed in the hands of the dead.
pub(crate) fn finding(jobs: &Jobs, cx: &Context<'_>) -> Option<Finding> {
    let kept: Vec<(&Job, Abandoned)> = jobs
        .lost()
        .filter_map(|job| Some((job, kept_by_the_dead(job, jobs, cx)?)))
        .collect();
    if kept.is_empty() {
        return None;
    }
    let mut holders: Vec<PodIx> = kept.iter().map(|(_, a)| a.pod).collect();
    holders.sort_by_key(|ix| ix.0);
    holders.dedup();
    let pods = cx.timeline.names(&holders);
    let until = jobs.until.unwrap_or_default();
    let evidence = kept.iter().take(SHOWN).map(|(job, a)| {
        let words = cx
            .pod(a.pod)
            .ends()
            .find(|e| e.point() == a.ended)
            .map_or_else(String::new, |e| format!(" with {}", e.words()));
        cx.fact(
            "held_by_the_dead",
            a.pod,
            Some(Interval::new(a.reserved, until.max(a.reserved))),
            format!(
                "it had taken job {} and ended{words}; {} later the job was neither given back, nor taken from it, nor \
                 taken up by another one",
                job.key,
                span(until.nanos_since(a.ended))
            ),
        )
    });
    Some(Finding {
        cause: NAME.to_owned(),
        detail: None,
        summary: summary(kept.len() as u64, &pods),
        evidence: evidence.collect(),
        pods,
        advice: change(),
    })
}

/// The last time for which the job was held, if its holder ended then and nothing came after it for longer than a lease.
fn kept_by_the_dead(job: &Job, jobs: &Jobs, cx: &Context<'_>) -> Option<Abandoned> {
    let last = job.abandoned(cx.timeline).pop()?;
    if job.last_holder()?.at != last.reserved {
        return None;
    }
    let plan = &jobs.plan;
    let lease = tame_nanos(plan.lease_nanos.unwrap_or(plan.complete_within_nanos));
    let expired = job
        .events
        .iter()
        .any(|e| e.what == What::LeaseExpired && e.at >= last.reserved);
    let waited = jobs.until?.nanos_since(last.ended);
    (!expired && last.taken_up.is_none() && waited > lease).then_some(last)
}

fn summary(kept: u64, pods: &[String]) -> String {
    format!(
        "{} stayed with {} after the end: nobody takes a job from an instance that is gone",
        count(kept, "job"),
        names(pods)
    )
}

fn change() -> Vec<Advice> {
    vec![advice::program(
        "write an owner and an expiry with each job that is taken, renew it while the job runs, and let any instance take what has expired",
    )]
}
