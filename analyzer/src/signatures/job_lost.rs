//! `job_lost`: a job was accepted and never done, although there was time enough.

use rollscope_records::Interval;

use super::Signature;
use crate::advice;
use crate::analysis::{Advice, Evidence, Finding};
use crate::context::{Context, general};
use crate::jobs::{Job, Jobs};
use crate::words::{count, names, span};

/// Jobs are no requests: no case of failed requests is one of this. [`finding`] weighs the jobs.
pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh: |_, _| Vec::new(),
    summary: |group, cx| summary(group.pods.len() as u64, &cx.timeline.names(group.pods)),
    advice: |_, _| change(),
};

const NAME: &str = "job_lost";

/// Lost jobs of which evidence is given.
const SHOWN: usize = 5;

/// The lost jobs of a run.
pub(crate) fn finding(jobs: &Jobs, cx: &Context<'_>) -> Option<Finding> {
    let lost: Vec<&Job> = jobs.lost().collect();
    if lost.is_empty() {
        return None;
    }
    let mut holders: Vec<_> = lost.iter().filter_map(|j| j.last_holder()?.pod).collect();
    holders.sort_by_key(|ix| ix.0);
    holders.dedup();
    let pods = cx.timeline.names(&holders);
    let shown = lost.iter().take(SHOWN);
    Some(Finding {
        cause: NAME.to_owned(),
        detail: None,
        summary: summary(lost.len() as u64, &pods),
        pods,
        evidence: shown.map(|job| never_done(job, jobs, cx)).collect(),
        advice: change(),
    })
}

fn never_done(job: &Job, jobs: &Jobs, cx: &Context<'_>) -> Evidence {
    let accepted = job.accepted.unwrap_or_default();
    let watched = jobs.until.unwrap_or(accepted).nanos_since(accepted);
    let never = format!(
        "job {} was accepted and not done within {}",
        job.key,
        span(watched)
    );
    let Some(holder) = job.last_holder() else {
        let text = format!("{never}; nobody is known to have taken it");
        return general("job_never_done", Some(accepted), text);
    };
    let end = holder.pod.and_then(|pod| {
        let ends = cx.pod(pod).ends();
        let end = ends
            .filter(|e| e.point() >= holder.at)
            .min_by_key(|e| e.point())?;
        Some((pod, end))
    });
    match end {
        Some((pod, end)) => cx.fact(
            "job_never_done",
            pod,
            Some(Interval::new(holder.at, end.point().max(holder.at))),
            format!(
                "{never}: it had taken it {} before it ended with {}",
                span(end.point().nanos_since(holder.at)),
                end.words()
            ),
        ),
        None => {
            let who = holder.who.as_deref().unwrap_or("an unknown instance");
            let text = format!("{never}; {who} took it last");
            general("job_never_done", Some(holder.at), text)
        }
    }
}

fn summary(lost: u64, pods: &[String]) -> String {
    let by = match pods {
        [] => String::new(),
        pods => format!(", last held by {}", names(pods)),
    };
    format!("{} accepted and never done{by}", count(lost, "job"))
}

fn change() -> Vec<Advice> {
    vec![advice::program(
        "keep a job in the queue until its work is done: reserve it with an owner and a lease, give it back at SIGTERM, and let another instance take what a dead one held",
    )]
}
