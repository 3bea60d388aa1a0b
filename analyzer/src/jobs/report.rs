//! Jobs in the report: counts, and each job of which there is something to tell.

use serde::Serialize;

use super::{Job, Jobs, What};
use crate::analysis::{Ms, MsLength};
use crate::timeline::Timeline;

/// Jobs that are told of one by one, at most.
const MOST_TOLD: usize = 200;

/// Background jobs that the load submitted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobsReport {
    /// The request that submitted them.
    pub submit: String,
    /// Where their events were read: `redis`, `http`, `postgresql` or `logs`.
    pub source: String,
    /// Submissions that were answered with success.
    pub accepted: u64,
    /// Accepted jobs that were done.
    pub done: u64,
    /// Jobs that were done more often than the scenario allows.
    pub done_twice: u64,
    /// Accepted jobs that were not done although there was time enough.
    pub lost: u64,
    /// Accepted jobs that were not done when the run ended, and had time left.
    pub open: u64,
    /// How often a job was given back.
    pub returned: u64,
    /// How often a job was taken from an instance that showed no sign of life.
    pub lease_expired: u64,
    /// How often a job whose instance had ended was taken up by another one.
    pub recovered: u64,
    /// The longest time from the end of an instance until another one took up its job.
    pub longest_recovery_ms: Option<MsLength>,
    /// How often a job may be done beyond once.
    pub max_repeats: u64,
    /// Why events may be missing; the counts are then lower bounds, and no job is called lost.
    pub missing: Option<String>,
    /// Jobs that were lost, repeated, given back or taken from their instance, in the order of their submission; at
    /// most 200.
    pub told: Vec<JobReport>,
}

/// One job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobReport {
    /// Its key.
    pub job: String,
    /// When it was accepted.
    pub accepted_ms: Option<Ms>,
    /// `lost`, `done_twice`, `done` or `open`.
    pub state: &'static str,
    /// What happened to it, in order of time.
    pub events: Vec<JobEventReport>,
}

/// What happened to a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobEventReport {
    /// When.
    pub at_ms: Ms,
    /// `reserved`, `done`, `returned`, `lease_expired` or `failed`.
    pub event: &'static str,
    /// The instance, as the event names it.
    pub by: Option<String>,
}

/// The jobs in the report; `None` where the scenario has none.
pub(crate) fn job_reports(jobs: Option<&Jobs>, timeline: &Timeline) -> Option<JobsReport> {
    let jobs = jobs?;
    let accepted = || jobs.all.iter().filter(|j| j.accepted.is_some());
    let events = |what: What| {
        let all = jobs.all.iter().flat_map(|j| &j.events);
        all.filter(|e| e.what == what).count() as u64
    };
    let done = accepted().filter(|j| j.done() > 0).count() as u64;
    let lost = jobs.lost().count() as u64;
    let recoveries: Vec<i64> = jobs
        .all
        .iter()
        .flat_map(|j| j.abandoned(timeline))
        .filter_map(|a| Some(a.taken_up?.nanos_since(a.ended).max(0)))
        .collect();
    let told = jobs.all.iter().filter(|j| is_told(j, jobs));
    Some(JobsReport {
        submit: jobs.plan.submit.clone(),
        source: match (jobs.plan.source.as_str(), &jobs.plan.log_pattern) {
            ("", Some(_)) => "logs".to_owned(),
            ("", None) => "redis".to_owned(),
            (told, _) => told.to_owned(),
        },
        accepted: accepted().count() as u64,
        done,
        done_twice: jobs.repeated().count() as u64,
        lost,
        open: accepted().count() as u64 - done - lost,
        returned: events(What::Returned),
        lease_expired: events(What::LeaseExpired),
        recovered: recoveries.len() as u64,
        longest_recovery_ms: recoveries.iter().max().map(|n| MsLength(*n)),
        max_repeats: jobs.plan.max_repeats,
        missing: jobs.missing.clone(),
        told: told.take(MOST_TOLD).map(|j| report(j, jobs)).collect(),
    })
}

fn state(job: &Job, jobs: &Jobs) -> &'static str {
    match job.done() {
        n if n > jobs.plan.max_repeats.saturating_add(1) => "done_twice",
        0 if jobs.is_lost(job) => "lost",
        0 => "open",
        _ => "done",
    }
}

fn is_told(job: &Job, jobs: &Jobs) -> bool {
    let moved = |e: &super::JobEvent| matches!(e.what, What::Returned | What::LeaseExpired);
    matches!(state(job, jobs), "lost" | "done_twice") || job.events.iter().any(moved)
}

fn report(job: &Job, jobs: &Jobs) -> JobReport {
    let events = job.events.iter().map(|e| JobEventReport {
        at_ms: Ms(e.at),
        event: e.what.as_str(),
        by: e.who.clone(),
    });
    JobReport {
        job: job.key.clone(),
        accepted_ms: job.accepted.map(Ms),
        state: state(job, jobs),
        events: events.collect(),
    }
}
