//! The jobs that the load submitted.

use maud::{Markup, html};
use rollscope_analyzer::{Analysis, JobReport, JobsReport};

use super::parts::{foreign, time_link};
use crate::text::{count, length, moment};

/// The section with their counts and with each job of which there is something to tell; nothing where there are none.
pub(super) fn section(a: &Analysis) -> Markup {
    html! {
        @if let Some(jobs) = &a.jobs {
            section #jobs aria-labelledby="jobs-title" {
                h2 #jobs-title { "Jobs" }
                p.note {
                    "Each request " code { (foreign(&jobs.submit)) } " that succeeded is an accepted job. A job is lost when it was not done "
                    "although there was time enough; one that was accepted too late to be judged is open. Times are as exact as the queue is read."
                }
                @if let Some(why) = &jobs.missing { p.bad { "Events may be missing, no job is called lost: " (foreign(why)) "." } }
                div.scroll tabindex="0" role="group" aria-label="Counts of jobs" { (counts(jobs)) }
                @if !jobs.told.is_empty() {
                    div.scroll tabindex="0" role="group" aria-label="Jobs of which there is something to tell" { (told(&jobs.told)) }
                }
            }
        }
    }
}

fn counts(jobs: &JobsReport) -> Markup {
    let row = [
        jobs.accepted,
        jobs.done,
        jobs.done_twice,
        jobs.lost,
        jobs.open,
        jobs.returned,
        jobs.lease_expired,
        jobs.recovered,
    ];
    html! {
        table {
            thead { tr {
                @for column in ["Accepted", "Done", "Done twice", "Lost", "Open", "Returned", "Lease expired", "Taken up by another", "After at most"] {
                    th scope="col" { (column) }
                }
            } }
            tbody { tr {
                @for n in row { td.num { (count(n)) } }
                td.num { @match jobs.longest_recovery_ms { Some(l) => { (length(l)) } None => { span.none { "–" } } } }
            } }
        }
    }
}

fn told(jobs: &[JobReport]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "Job" } th scope="col" { "State" } th scope="col" { "Accepted" } th scope="col" { "What happened to it" } } }
            tbody {
                @for job in jobs {
                    tr {
                        th scope="row" { code { (foreign(&job.job)) } }
                        td { (state(job.state)) }
                        td.num { @match job.accepted_ms { Some(at) => { (time_link(at, at, &moment(at))) } None => { span.none { "–" } } } }
                        td { @for (i, e) in job.events.iter().enumerate() {
                            @if i > 0 { ", " }
                            (e.event.replace('_', " ")) " at " (time_link(e.at_ms, e.at_ms, &moment(e.at_ms)))
                            @if let Some(by) = &e.by { " by " (foreign(by)) }
                        } }
                    }
                }
            }
        }
    }
}

fn state(state: &str) -> Markup {
    let bad = matches!(state, "lost" | "done_twice");
    html! { span.bad[bad] { (state.replace('_', " ")) } }
}

#[cfg(test)]
mod tests {
    use rollscope_records::{JobPlan, JobRecord, RunOffset};

    use crate::html::fixtures::recording_of;

    #[test]
    fn jobs_have_a_section_and_a_lane_and_a_run_without_them_has_none() {
        let mut recording = recording_of(Vec::new());
        let page = |recording: &_| {
            crate::timeline_html(&rollscope_analyzer::analyze(recording), recording)
        };
        assert!(!page(&recording).contains("id=\"jobs\""));
        recording.jobs.push(JobRecord::Plan(JobPlan {
            submit: "enqueue".to_owned(),
            key_prefix: "r-".to_owned(),
            source: "redis".to_owned(),
            log_pattern: None,
            complete_within_nanos: 1,
            max_repeats: 0,
            lease_nanos: None,
        }));
        recording.jobs.push(JobRecord::Unread {
            at: RunOffset::from_millis(5),
            why: "it is <gone>".to_owned(),
            missing: true,
        });
        let page = page(&recording);
        for part in ["id=\"jobs\"", "it is &lt;gone&gt;", "Lease expired"] {
            assert!(page.contains(part), "{part} is not in the page");
        }
    }
}
