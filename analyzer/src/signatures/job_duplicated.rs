//! `job_duplicated`: the work of a job was done more often than the scenario allows.

use rollscope_records::Interval;

use super::Signature;
use crate::advice;
use crate::analysis::{Advice, Evidence, Finding};
use crate::context::{Context, general};
use crate::jobs::{Job, JobEvent, Jobs, What};
use crate::timeline::PodIx;
use crate::words::{count, names, span};

/// Jobs are no requests: no case of failed requests is one of this. [`finding`] weighs the jobs.
pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh: |_, _| Vec::new(),
    summary: |group, cx| summary(group.pods.len() as u64, &cx.timeline.names(group.pods)),
    advice: |_, _| change(),
};

const NAME: &str = "job_duplicated";

/// Jobs of which evidence is given.
const SHOWN: usize = 5;

/// The jobs of a run that were done too often.
pub(crate) fn finding(jobs: &Jobs, cx: &Context<'_>) -> Option<Finding> {
    let repeated: Vec<&Job> = jobs.repeated().collect();
    if repeated.is_empty() {
        return None;
    }
    let mut first: Vec<PodIx> = repeated
        .iter()
        .filter_map(|j| done(j).next()?.pod)
        .collect();
    first.sort_by_key(|ix| ix.0);
    first.dedup();
    let pods = cx.timeline.names(&first);
    let shown = repeated.iter().take(SHOWN);
    Some(Finding {
        cause: NAME.to_owned(),
        detail: None,
        summary: summary(repeated.len() as u64, &pods),
        evidence: shown.filter_map(|job| done_again(job, cx)).collect(),
        pods,
        advice: change(),
    })
}

fn done(job: &Job) -> impl Iterator<Item = &JobEvent> {
    job.events.iter().filter(|e| e.what == What::Done)
}

fn done_again(job: &Job, cx: &Context<'_>) -> Option<Evidence> {
    let (first, last) = (done(job).next()?, done(job).last()?);
    let who = |e: &JobEvent| {
        e.who
            .clone()
            .unwrap_or_else(|| "an unknown instance".to_owned())
    };
    let times = count(job.done(), "time");
    let text = format!(
        "job {} was done {times}: by {}, and {} later by {}",
        job.key,
        who(first),
        span(last.at.nanos_since(first.at)),
        who(last)
    );
    let at = Interval::new(first.at, last.at);
    let Some(pod) = first.pod else {
        return Some(general("job_done_again", Some(first.at), text));
    };
    let stopping = cx.pod(pod).deletion_seen().filter(|d| *d <= last.at);
    let between = match stopping {
        Some(d) if d <= first.at => {
            let ago = span(first.at.nanos_since(d));
            format!("; the first of them had been told to stop {ago} before")
        }
        Some(_) => "; the first of them was told to stop in between".to_owned(),
        None => String::new(),
    };
    Some(cx.fact("job_done_again", pod, Some(at), text + &between))
}

fn summary(repeated: u64, pods: &[String]) -> String {
    let by = match pods {
        [] => String::new(),
        pods => format!(", first by {}", names(pods)),
    };
    format!("{} done more than once{by}", count(repeated, "job"))
}

fn change() -> Vec<Advice> {
    vec![advice::program(
        "make the work of a job idempotent by its key, and report its end before the queue's and the database's connections are closed",
    )]
}
