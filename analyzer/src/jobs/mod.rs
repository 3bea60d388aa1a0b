//! Jobs that the load submitted, and what their queue said of them.

mod events;
mod report;

use std::collections::BTreeMap;

use rollscope_records::{JobPlan, JobRecord, Outcome, Recording, RunOffset};

use crate::tame::tame_nanos;
use crate::timeline::{PodIx, Timeline};

pub(crate) use events::{JobEvent, What};
pub(crate) use report::job_reports;
pub use report::{JobEventReport, JobReport, JobsReport};

/// The jobs of a run.
#[derive(Debug)]
pub(crate) struct Jobs {
    pub(crate) plan: JobPlan,
    /// In the order in which they were submitted.
    pub(crate) all: Vec<Job>,
    /// Until when all their events are known.
    pub(crate) until: Option<RunOffset>,
    /// Why events may be missing.
    pub(crate) missing: Option<String>,
}

/// One job.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: String,
    /// When its submission was answered with success; `None` where it was not: the job may be there all the same.
    pub(crate) accepted: Option<RunOffset>,
    /// In order of time.
    pub(crate) events: Vec<JobEvent>,
}

/// A time for which a job was held by one who ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Abandoned {
    pub(crate) pod: PodIx,
    pub(crate) reserved: RunOffset,
    pub(crate) ended: RunOffset,
    /// When somebody took it up again.
    pub(crate) taken_up: Option<RunOffset>,
}

impl Jobs {
    /// The jobs of a recording; `None` where the scenario has none.
    pub(crate) fn of(recording: &Recording, timeline: &Timeline) -> Option<Self> {
        let plan = recording.jobs.iter().find_map(|r| match r {
            JobRecord::Plan(plan) => Some(plan.clone()),
            _ => None,
        })?;
        let mut by_seq: BTreeMap<u64, Job> = BTreeMap::new();
        for r in recording.requests.iter().filter(|r| r.name == plan.submit) {
            let accepted = (r.outcome == Outcome::Ok).then_some(r.ended).flatten();
            let job = Job {
                key: plan.key(r.seq),
                accepted,
                events: Vec::new(),
            };
            by_seq.insert(r.seq, job);
        }
        for (key, event) in events::of(recording, &plan, timeline) {
            let job = plan.seq(&key).and_then(|seq| by_seq.get_mut(&seq));
            if let Some(job) = job {
                job.events.push(event);
            }
        }
        for job in by_seq.values_mut() {
            job.events.sort_by_key(|e| e.at);
        }
        let (until, missing) = known(recording, &plan);
        Some(Self {
            plan,
            all: by_seq.into_values().collect(),
            until,
            missing,
        })
    }

    /// Accepted jobs that were not done although there was time enough.
    pub(crate) fn lost(&self) -> impl Iterator<Item = &Job> {
        self.all.iter().filter(|j| self.is_lost(j))
    }

    pub(crate) fn is_lost(&self, job: &Job) -> bool {
        let within = tame_nanos(self.plan.complete_within_nanos);
        let (Some(accepted), Some(until)) = (job.accepted, self.until) else {
            return false;
        };
        self.missing.is_none() && job.done() == 0 && until.nanos_since(accepted) > within
    }

    /// Jobs that were done more often than the scenario allows.
    pub(crate) fn repeated(&self) -> impl Iterator<Item = &Job> {
        let allowed = self.plan.max_repeats.saturating_add(1);
        self.all.iter().filter(move |j| j.done() > allowed)
    }
}

impl Job {
    /// How often it was done.
    pub(crate) fn done(&self) -> u64 {
        self.events.iter().filter(|e| e.what == What::Done).count() as u64
    }

    /// The times for which it was held by an instance that ended before it had done it or given it back.
    pub(crate) fn abandoned(&self, timeline: &Timeline) -> Vec<Abandoned> {
        let reservations = self.events.iter().enumerate();
        let reservations = reservations.filter(|(_, e)| e.what == What::Reserved);
        reservations
            .filter_map(|(i, reserved)| {
                let pod = reserved.pod?;
                let ends = timeline.pod(pod).ends().map(|e| e.point());
                let ended = ends.filter(|end| *end >= reserved.at).min()?;
                let after = &self.events[i + 1..];
                let let_go = after
                    .iter()
                    .find(|e| matches!(e.what, What::Done | What::Returned | What::Failed));
                // Its own word may be read a moment after its end.
                if let_go.is_some_and(|e| e.who == reserved.who) {
                    return None;
                }
                let taken_up = after.iter().find(|e| e.what == What::Reserved);
                let taken_up = taken_up.map(|e| e.at);
                if taken_up.is_some_and(|at| at < ended) {
                    return None;
                }
                Some(Abandoned {
                    pod,
                    reserved: reserved.at,
                    ended,
                    taken_up,
                })
            })
            .collect()
    }

    /// The last one who reserved it.
    pub(crate) fn last_holder(&self) -> Option<&JobEvent> {
        self.events.iter().rfind(|e| e.what == What::Reserved)
    }
}

/// Until when all events are known, and why some may be missing.
fn known(recording: &Recording, plan: &JobPlan) -> (Option<RunOffset>, Option<String>) {
    if plan.log_pattern.is_some() {
        return (recording.run.end.as_ref().map(|e| e.at), None);
    }
    let mut until = None;
    let mut missing = None;
    let mut failed = None;
    for record in &recording.jobs {
        match record {
            JobRecord::Read { at } => (until, failed) = (Some(*at), None),
            JobRecord::Unread {
                why, missing: gone, ..
            } => {
                failed = Some(why.clone());
                if *gone {
                    missing.get_or_insert(why.clone());
                }
            }
            JobRecord::Plan(_) | JobRecord::Event { .. } => {}
        }
    }
    let never = until.is_none().then(|| "it was never read".to_owned());
    (until, missing.or(failed).or(never))
}
