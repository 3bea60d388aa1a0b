//! Properties that hold for every recording.

use proptest::prelude::*;
use rollscope_records::{
    ClockSample, Gap, GeneratorRecord, Lane, LogRecord, LogSource, ObjectKind, Outcome, Phase,
    Recording, RequestRecord, RunOffset, WatchRecord, WatchType,
};
use serde_json::{Value, json};

use crate::analyze;
use crate::testing::Scene;

fn text(analysis: &crate::Analysis) -> String {
    serde_json::to_string(analysis).unwrap_or_default()
}

/// A request with any outcome at any time, on one of a few connections and pods.
fn request() -> impl Strategy<Value = RequestRecord> {
    (
        (0..30_000_i64, 0..9_000_i64, 0..Outcome::ALL.len()),
        (any::<bool>(), proptest::option::of(0..12_u64), 0..4_usize),
        (
            proptest::option::of(0..600_u16),
            any::<bool>(),
            any::<bool>(),
        ),
    )
        .prop_map(
            |((at, took, outcome), (reused, connection, pod), (status, close, named))| {
                let mut r =
                    RequestRecord::scheduled(0, Lane::Reused, "list", RunOffset::from_millis(at));
                r.outcome = Outcome::ALL[outcome];
                r.reused = reused;
                r.connection = connection;
                r.status = status;
                r.close_received = close;
                r.phase = Phase::Head;
                if r.outcome != Outcome::Dropped {
                    r.dispatched = Some(r.scheduled);
                    r.ended = Some(RunOffset::from_millis(at + took));
                }
                if named {
                    r.pod = Some(["old-a", "old-b", "new", "unheard-of"][pod].to_owned());
                }
                r
            },
        )
}

/// A rollout of two pods with random times and exits, and random requests.
fn recording() -> impl Strategy<Value = Recording> {
    let pod = || {
        (
            (4_000..9_000_i64, 0..15_000_i64, 0..4_usize),
            (
                proptest::option::of(0..3_000_i64),
                1..12_i64,
                proptest::option::of(0..12_i64),
            ),
        )
    };
    (
        proptest::collection::vec(request(), 0..120),
        pod(),
        pod(),
        4_000..8_000_i64,
        any::<bool>(),
    )
        .prop_map(|(requests, a, b, new, logs)| {
            let mut scene = Scene::new();
            for (name, ((deleted, lived, code), (not_ready, grace, sleep))) in
                [("old-a", a), ("old-b", b)]
            {
                let (code, reason) = [
                    (0, "Completed"),
                    (1, "Error"),
                    (137, "Error"),
                    (137, "OOMKilled"),
                ][code];
                let mut pod = scene.pod(name, "h1").grace(grace).deleted(deleted);
                if let Some(after) = not_ready {
                    pod = pod.not_ready(deleted + after);
                }
                if let Some(s) = sleep {
                    pod = pod.pre_stop_sleep(s);
                }
                pod.exit(deleted + lived, code, reason).add(&mut scene);
                if logs {
                    scene.log(deleted + 20, name, "SIGTERM, shutting down");
                }
            }
            scene
                .pod("new", "h2")
                .started(new)
                .ready(new + 400)
                .add(&mut scene);
            for (seq, mut r) in (0_u64..).zip(requests) {
                r.seq = seq;
                scene.requests.push(r);
            }
            scene.recorded()
        })
}

/// Any JSON, with the keys that a view reads among them.
fn object() -> impl Strategy<Value = Value> {
    let key = || {
        prop_oneof![
            Just("metadata"),
            Just("name"),
            Just("uid"),
            Just("labels"),
            Just("status"),
            Just("spec"),
            Just("conditions"),
            Just("type"),
            Just("containerStatuses"),
            Just("state"),
            Just("terminated"),
            Just("lastState"),
            Just("running"),
            Just("finishedAt"),
            Just("exitCode"),
            Just("deletionTimestamp"),
            Just("deletionGracePeriodSeconds"),
            Just("endpoints"),
            Just("targetRef"),
            Just("containers"),
            Just("readinessProbe"),
            Just("periodSeconds"),
            Just("preStop"),
            Just("lifecycle"),
            Just("sleep"),
            Just("seconds"),
            Just("involvedObject"),
            Just("kind"),
            Just("reason"),
            Just("podIP"),
        ]
    };
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i64>().prop_map(|n| json!(n)),
        any::<f64>().prop_map(|n| json!(n)),
        prop_oneof![
            Just("Pod"),
            Just("Ready"),
            Just("True"),
            Just("Killing"),
            Just("a"),
            Just("web"),
            Just("2026-11-30T11:08:42Z"),
            Just("9999-12-31T23:59:59Z"),
            Just("-1"),
        ]
        .prop_map(|s| json!(s)),
        ".{0,12}".prop_map(|s| json!(s)),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec((key(), inner), 0..8).prop_map(|pairs| {
                Value::Object(pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            }),
        ]
    })
}

fn watch() -> impl Strategy<Value = WatchRecord> {
    (
        any::<i64>(),
        0..ObjectKind::ALL.len(),
        0..3_usize,
        object(),
        any::<bool>(),
    )
        .prop_map(|(at, kind, event, object, gap)| {
            if gap && at % 7 == 0 {
                return WatchRecord::Gap(Gap {
                    source: "watch/Pod".to_owned(),
                    from: RunOffset(at),
                    to: None,
                    reason: String::new(),
                });
            }
            WatchRecord::Event {
                at: RunOffset(at),
                kind: ObjectKind::ALL[kind],
                event: [WatchType::Added, WatchType::Modified, WatchType::Deleted][event],
                object,
            }
        })
}

/// A recording whose every part is arbitrary.
fn hostile() -> impl Strategy<Value = Recording> {
    let wild = (
        any::<i64>(),
        any::<i64>(),
        any::<i64>(),
        any::<u64>(),
        0..Outcome::ALL.len(),
    );
    (
        proptest::collection::vec(watch(), 0..30),
        proptest::collection::vec(wild, 0..30),
        proptest::collection::vec((any::<i64>(), ".{0,30}", ".{0,30}"), 0..10),
        (any::<f64>(), any::<i64>(), any::<i64>(), any::<i64>()),
    )
        .prop_map(|(watch, requests, logs, (rate, a, b, c))| {
            let mut recording = Recording::new(Scene::new().recording.run);
            recording.run.rate_per_second = rate;
            recording.watch = watch;
            for (at, sent, ended, connection, outcome) in requests {
                let mut r = RequestRecord::scheduled(connection, Lane::New, "", RunOffset(at));
                r.dispatched = Some(RunOffset(sent));
                r.ended = Some(RunOffset(ended));
                r.outcome = Outcome::ALL[outcome];
                r.connection = Some(connection % 3);
                r.idle = Some(sent);
                r.reused = sent % 2 == 0;
                r.peer = Some("a:1".to_owned());
                recording.requests.push(r.view());
            }
            for (at, timestamp, line) in logs {
                recording.logs.push(LogRecord {
                    at: RunOffset(at),
                    source: LogSource::Container {
                        pod: "a".to_owned(),
                        container: "web".to_owned(),
                    },
                    timestamp: Some(timestamp),
                    line,
                });
            }
            recording.clocks.push(ClockSample {
                clock: "api-server".to_owned(),
                before: RunOffset(a),
                after: RunOffset(b),
                reading_unix_nanos: c,
                resolution_nanos: a,
            });
            recording.generator = Some(GeneratorRecord::default());
            recording
        })
}

/// A sound recording with some values of its objects replaced by others, and some times by extremes.
fn mutated() -> impl Strategy<Value = Recording> {
    let change = (
        any::<proptest::sample::Index>(),
        any::<u64>(),
        object(),
        any::<bool>(),
    );
    let extreme = prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0), any::<i64>()];
    (
        recording(),
        proptest::collection::vec(change, 1..25),
        proptest::collection::vec((any::<proptest::sample::Index>(), extreme), 0..6),
    )
        .prop_map(|(mut recording, changes, times)| {
            for (which, path, value, delete) in changes {
                let n = recording.watch.len();
                if let WatchRecord::Event { object, .. } = &mut recording.watch[which.index(n)] {
                    replace(object, path, value, delete);
                }
            }
            let mut requests: Vec<_> = recording.requests.iter().map(|r| r.to_record()).collect();
            for (which, time) in times {
                let n = recording.watch.len() + recording.requests.len();
                let i = which.index(n);
                if let Some(WatchRecord::Event { at, .. }) = recording.watch.get_mut(i) {
                    *at = RunOffset(time);
                } else if let Some(r) = requests.get_mut(i - recording.watch.len().min(i)) {
                    r.scheduled = RunOffset(time);
                    r.ended = r.ended.map(|_| RunOffset(time.saturating_neg()));
                }
            }
            recording.requests = requests.into();
            recording
        })
}

/// Walks down by the digits of `path` and replaces (or removes) what is there.
fn replace(value: &mut Value, path: u64, with: Value, delete: bool) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let n = map.len() as u64;
            let key = map
                .keys()
                .nth((path % n) as usize)
                .cloned()
                .unwrap_or_default();
            let rest = path / n;
            if rest.is_multiple_of(3) && delete {
                map.remove(&key);
            } else if let Some(inner) = map.get_mut(&key) {
                replace(inner, rest, with, delete);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let n = items.len() as u64;
            replace(&mut items[(path % n) as usize], path / n, with, delete);
        }
        other => *other = with,
    }
}

/// Reverses every run of records of equal time.
fn permuted(recording: &Recording) -> Recording {
    fn reverse_equal<T>(items: &mut [T], time: impl Fn(&T) -> i64) {
        let mut from = 0;
        while from < items.len() {
            let mut to = from + 1;
            while to < items.len() && time(&items[to]) == time(&items[from]) {
                to += 1;
            }
            items[from..to].reverse();
            from = to;
        }
    }
    let mut other = recording.clone();
    let watched = |w: &WatchRecord| match w {
        WatchRecord::Event { at, .. } => at.0,
        WatchRecord::Gap(g) => g.from.0,
    };
    other.watch.sort_by_key(watched);
    reverse_equal(&mut other.watch, watched);
    let mut requests: Vec<_> = other.requests.iter().map(|r| r.to_record()).collect();
    requests.sort_by_key(|r| r.scheduled);
    reverse_equal(&mut requests, |r| r.scheduled.0);
    other.requests = requests.into();
    reverse_equal(&mut other.logs, |l| l.at.0);
    other
}

/// Every record in one of two parts, by the bits of `which`.
fn split(recording: &Recording, which: u64) -> Vec<Recording> {
    let half = |first: bool| {
        let mut part = recording.clone();
        let mut n = 0;
        let mut mine = move || {
            n += 1;
            (which >> (n % 61)) & 1 == u64::from(first)
        };
        part.requests
            .retain(|r| (which >> (r.seq % 61)) & 1 == u64::from(first));
        part.watch.retain(|_| mine());
        part.logs.retain(|_| mine());
        part.stages.retain(|_| mine());
        part
    };
    vec![half(true), half(false)]
}

/// The run as if every clock had been ahead by so many seconds.
fn later(recording: &Recording, seconds: i64) -> Recording {
    fn texts(value: &mut Value, nanos: i64) {
        match value {
            Value::String(text) => {
                if let Some(t) = crate::kube_time::parse(text) {
                    let moved = crate::kube_time::rfc3339(t.unix_nanos + nanos);
                    *text = moved.replace(".000", "");
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|i| texts(i, nanos)),
            Value::Object(fields) => fields.values_mut().for_each(|f| texts(f, nanos)),
            _ => {}
        }
    }
    let nanos = seconds * 1_000_000_000;
    let mut other = recording.clone();
    other.run.wall_start_unix_nanos += nanos;
    for w in &mut other.watch {
        if let WatchRecord::Event { object, .. } = w {
            texts(object, nanos);
        }
    }
    for c in &mut other.clocks {
        c.reading_unix_nanos += nanos;
    }
    other
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_recording_that_was_split_and_merged_gives_the_same_bytes(recording in recording(), which: u64) {
        let merged = Recording::merge(split(&recording, which)).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(text(&analyze(&recording)), text(&analyze(&merged)));
    }

    #[test]
    fn clocks_that_are_wrong_together_change_nothing(recording in recording(), seconds in -100_000..100_000_i64) {
        let mut shifted = analyze(&later(&recording, seconds));
        let straight = analyze(&recording);
        shifted.run.started_at.clone_from(&straight.run.started_at);
        prop_assert_eq!(text(&straight), text(&shifted));
    }

    #[test]
    fn every_slot_is_counted_once_and_every_failure_is_in_one_burst(recording in recording()) {
        let a = analyze(&recording);
        let c = &a.requests;
        prop_assert_eq!(c.planned, recording.requests.len() as u64);
        prop_assert_eq!(c.planned, c.sent + c.dropped);
        prop_assert_eq!(c.sent, c.ok + c.failed + c.aborted);
        prop_assert_eq!(c.failed, c.non_2xx + c.transport + c.truncated);
        let mut seen: Vec<u64> = a.bursts.iter().flat_map(|b| b.requests.clone()).collect();
        let in_bursts = seen.len() as u64;
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(seen.len() as u64, in_bursts, "a failure in two bursts");
        prop_assert_eq!(in_bursts + a.unattributed, c.failed);
        for b in &a.bursts {
            prop_assert!((0.0..=0.99).contains(&b.confidence));
            prop_assert_eq!(b.failed, b.requests.len() as u64);
        }
    }

    #[test]
    fn the_same_recording_gives_the_same_bytes_in_any_order_of_equal_times(recording in recording()) {
        let once = text(&analyze(&recording));
        prop_assert_eq!(&once, &text(&analyze(&recording)));
        prop_assert_eq!(&once, &text(&analyze(&permuted(&recording))));
    }

    #[test]
    fn failures_over_the_limit_are_exit_code_1_whatever_else(recording in recording()) {
        let a = analyze(&recording);
        prop_assert_eq!(a.requests.failed > 0, a.verdict.exit_code == 1);
    }

    #[test]
    fn no_damage_to_a_recording_makes_the_analysis_panic(recording in mutated()) {
        let a = analyze(&recording);
        let in_bursts: u64 = a.bursts.iter().map(|b| b.failed).sum();
        prop_assert_eq!(in_bursts + a.unattributed, a.requests.failed);
    }

    #[test]
    fn no_recording_makes_the_analysis_panic(recording in hostile()) {
        let a = analyze(&recording);
        let in_bursts: u64 = a.bursts.iter().map(|b| b.failed).sum();
        prop_assert_eq!(in_bursts + a.unattributed, a.requests.failed);
        prop_assert_ne!(text(&a), "");
    }
}
