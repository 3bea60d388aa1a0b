//! One recording from several of one run.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use rollscope_records::{
    ConnectionRecord, EndKind, GeneratorRecord, Lane, LogRecord, LogSource, MergeError, ObjectKind,
    Outcome, Recording, RequestRecord, RunEnd, RunOffset, RunRecord, TargetFacts, WatchRecord,
    WatchType,
};
use serde_json::json;

const SECOND: i64 = 1_000_000_000;

fn part(wall_start: i64) -> Recording {
    Recording::new(RunRecord {
        rate_per_second: 10.0,
        end: Some(RunEnd {
            at: RunOffset(60 * SECOND),
            how: EndKind::Completed,
            reason: None,
        }),
        ..RunRecord::new("r1", "test", "test", wall_start, TargetFacts::of("none"))
    })
}

/// A generator that sends one request a second on connection 0.
fn generator(wall_start: i64, requests: u64) -> Recording {
    let mut recording = part(wall_start);
    let records = (0..requests).map(|seq| {
        let at = RunOffset(i64::try_from(seq).unwrap() * SECOND);
        let mut r = RequestRecord::scheduled(seq, Lane::Reused, "list", at);
        r.outcome = Outcome::Ok;
        r.ended = Some(at.plus_nanos(5));
        r.connection = Some(0);
        r
    });
    recording.requests = records.collect();
    let attempt = ConnectionRecord::attempt(0, Lane::Reused, RunOffset::ZERO);
    recording.connections = [attempt].into_iter().collect();
    recording.generator = Some(GeneratorRecord {
        planned: requests,
        sent: requests,
        ..GeneratorRecord::default()
    });
    recording
}

fn seen(at: i64, version: &str) -> WatchRecord {
    WatchRecord::Event {
        at: RunOffset(at),
        kind: ObjectKind::Pod,
        event: WatchType::Modified,
        object: json!({"metadata": {"name": "a", "resourceVersion": version}}),
    }
}

#[test]
fn the_requests_of_two_generators_are_counted_as_one_generators() {
    let merged = Recording::merge(vec![generator(0, 3), generator(SECOND / 2, 2)]).unwrap();
    assert!((merged.run.rate_per_second - 20.0).abs() < f64::EPSILON);
    let rows: Vec<_> = merged
        .requests
        .iter()
        .map(|r| (r.seq, r.scheduled.nanos(), r.connection))
        .collect();
    let half = SECOND / 2;
    assert_eq!(
        rows,
        [
            (0, 0, Some(0)),
            (1, half, Some(1)),
            (2, SECOND, Some(0)),
            (3, SECOND + half, Some(1)),
            (4, 2 * SECOND, Some(0)),
        ]
    );
    assert_eq!(merged.connections.len(), 2);
    assert_eq!(merged.generator.unwrap().planned, 5);
}

#[test]
fn what_two_observers_saw_is_kept_once_with_its_first_receipt() {
    let line = |at: i64| LogRecord {
        at: RunOffset(at),
        source: LogSource::Container {
            pod: "a".into(),
            container: "web".into(),
        },
        timestamp: Some("2026-11-30T11:08:42.5Z".into()),
        line: "SIGTERM".into(),
    };
    let (mut a, mut b) = (part(0), part(0));
    a.watch = vec![seen(10, "1"), seen(20, "2")];
    b.watch = vec![seen(12, "1"), seen(19, "2"), seen(30, "3")];
    (a.logs, b.logs) = (vec![line(7)], vec![line(5)]);
    let merged = Recording::merge(vec![a, b]).unwrap();
    assert_eq!(merged.watch, [seen(10, "1"), seen(19, "2"), seen(30, "3")]);
    assert_eq!(merged.logs, [line(5)]);
}

#[test]
fn parts_of_one_generator_keep_their_numbers() {
    let whole = generator(0, 4);
    let (mut a, mut b) = (whole.clone(), whole.clone());
    a.requests.retain(|r| r.seq < 2);
    b.requests.retain(|r| r.seq >= 2);
    assert_eq!(Recording::merge(vec![b, a]).unwrap(), whole);
}

#[test]
fn a_part_that_was_killed_leaves_the_run_without_an_end() {
    let (a, mut b) = (part(0), part(0));
    b.run.end = None;
    assert_eq!(Recording::merge(vec![a, b]).unwrap().run.end, None);
}

#[test]
fn runs_that_are_not_the_same_are_not_merged() {
    let (a, mut b) = (part(0), part(0));
    b.run.run_id = "r2".into();
    let error = Recording::merge(vec![a, b]).unwrap_err();
    assert_eq!(error, MergeError::DifferentRuns("r1".into(), "r2".into()));
    assert_eq!(Recording::merge(vec![]).unwrap_err(), MergeError::Nothing);
}
