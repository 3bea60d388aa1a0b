//! Jobs in a recording without pods: what their queue or the logs say of them.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use rollscope_analyzer::{Analysis, JobsReport, MsLength, analyze};
use rollscope_records::{
    EndKind, JobPlan, JobRecord, Lane, LogRecord, LogSource, Outcome, Phase, Recording,
    RequestRecord, RunEnd, RunOffset, RunRecord, TargetFacts,
};

const SECOND: i64 = 1_000_000_000;

/// A minute in which a job was submitted every five seconds; the last submission failed.
fn run(log_pattern: Option<&str>) -> Recording {
    let at = |seconds: i64| RunOffset(seconds * SECOND);
    let mut run = RunRecord::new("r1", "jobs", "test", 0, TargetFacts::of("none"));
    run.end = Some(RunEnd {
        at: at(60),
        how: EndKind::Completed,
        reason: None,
    });
    let mut recording = Recording::new(run);
    let requests = (0..12_u64).map(|seq| {
        let mut r = RequestRecord::scheduled(seq, Lane::New, "enqueue", at(5 * seq as i64));
        (r.outcome, r.phase) = match seq {
            11 => (Outcome::ResetBeforeHeaders, Phase::Head),
            _ => (Outcome::Ok, Phase::Done),
        };
        r.dispatched = Some(r.scheduled);
        r.ended = Some(r.scheduled.plus_nanos(SECOND / 100));
        r
    });
    recording.requests = requests.collect::<Vec<_>>().into();
    recording.jobs.push(JobRecord::Plan(JobPlan {
        submit: "enqueue".to_owned(),
        key_prefix: "r1-".to_owned(),
        // As an earlier version wrote it.
        source: String::new(),
        log_pattern: log_pattern.map(str::to_owned),
        complete_within_nanos: 20 * SECOND,
        max_repeats: 0,
        lease_nanos: None,
    }));
    recording
}

fn event(seconds: i64, line: &str) -> JobRecord {
    JobRecord::Event {
        at: RunOffset(seconds * SECOND),
        line: line.to_owned(),
    }
}

fn read(seconds: i64) -> JobRecord {
    JobRecord::Read {
        at: RunOffset(seconds * SECOND),
    }
}

fn jobs(analysis: &Analysis) -> &JobsReport {
    analysis.jobs.as_ref().unwrap()
}

#[test]
fn what_was_not_done_in_time_is_lost_and_what_still_has_time_is_open() {
    let mut recording = run(None);
    // All but the third and the last two: one of them was accepted 10 s before the last reading.
    let done = [0, 1, 3, 4, 5, 6, 7, 8];
    recording
        .jobs
        .extend(done.map(|n| event(50, &format!("r1-{n}"))));
    recording
        .jobs
        .push(event(51, r#"{"job":"other-2","event":"done"}"#));
    recording.jobs.push(read(60));
    let analysis = analyze(&recording);
    let found = jobs(&analysis);
    assert_eq!((found.accepted, found.done), (11, 8));
    assert_eq!((found.lost, found.open), (1, 2));
    let told: Vec<_> = found.told.iter().map(|j| (&*j.job, j.state)).collect();
    assert_eq!(told, [("r1-2", "lost")]);
    let finding = analysis.findings.iter().find(|f| f.cause == "job_lost");
    assert!(finding.unwrap().evidence[0].text.contains("r1-2"));
    let kept = analysis.assertions.iter().find(|a| a.id == "jobs_kept");
    assert_eq!(kept.unwrap().held, Some(false));
}

#[test]
fn a_queue_that_cannot_be_read_loses_no_job_and_holds_nothing() {
    let mut recording = run(None);
    recording.jobs.push(JobRecord::Unread {
        at: RunOffset(60 * SECOND),
        why: "connection refused".to_owned(),
        missing: false,
    });
    let analysis = analyze(&recording);
    let found = jobs(&analysis);
    assert_eq!((found.accepted, found.lost, found.open), (11, 0, 11));
    assert_eq!(found.missing.as_deref(), Some("connection refused"));
    assert!(analysis.findings.iter().all(|f| f.cause != "job_lost"));
    let kept = analysis.assertions.iter().find(|a| a.id == "jobs_kept");
    assert_eq!(kept.unwrap().held, None);
}

#[test]
fn the_time_of_an_event_is_its_own_within_the_readings_around_it() {
    let mut recording = run(None);
    let line = |event: &str, t: i64| format!(r#"{{"job":"r1-0","event":"{event}","t":{t}}}"#);
    recording.jobs.extend([
        read(10),
        event(12, &line("reserved", 11_250)),
        event(12, &line("done", 99_000)),
        read(60),
    ]);
    let analysis = analyze(&recording);
    // It was neither lost nor repeated nor moved: nothing is told of it but its count.
    assert_eq!(jobs(&analysis).done, 1);
    let first = |a: &Analysis| {
        let told = &jobs(a).told;
        let job = told.iter().find(|j| j.job == "r1-0").unwrap().clone();
        job.events
            .iter()
            .map(|e| e.at_ms.0.nanos())
            .collect::<Vec<_>>()
    };
    recording.jobs.push(event(61, &line("done", 60_500)));
    let twice = analyze(&recording);
    let times = first(&twice);
    assert_eq!(times[0], 11_250_000_000);
    assert_eq!(times[1], 12 * SECOND, "not after it was read");
    assert_eq!(jobs(&twice).done_twice, 1);
}

#[test]
fn jobs_are_found_in_log_lines_by_the_scenarios_pattern() {
    let pattern = r#""ev":"job_(?P<event>\w+)","job":"(?P<job>[^"]+)""#;
    let mut recording = run(Some(pattern));
    let log = |seconds: i64, event: &str| LogRecord {
        at: RunOffset(seconds * SECOND),
        source: LogSource::Container {
            pod: "web-1".to_owned(),
            container: "web".to_owned(),
        },
        timestamp: None,
        line: format!(r#"{{"ev":"job_{event}","job":"r1-3"}}"#),
    };
    recording.logs = vec![
        log(16, "reserved"),
        log(17, "returned"),
        log(18, "reserved"),
        log(20, "done"),
        log(21, "dropped"),
    ];
    let analysis = analyze(&recording);
    let found = jobs(&analysis);
    assert_eq!(
        (found.source.as_str(), found.done, found.returned),
        ("logs", 1, 1)
    );
    assert_eq!((found.lost, found.open), (7, 3));
    assert_eq!(found.longest_recovery_ms, None::<MsLength>);
    let job = found.told.iter().find(|j| j.job == "r1-3").unwrap();
    let events: Vec<_> = job.events.iter().map(|e| e.event).collect();
    assert_eq!(events, ["reserved", "returned", "reserved", "done"]);
}
