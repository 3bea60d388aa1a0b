//! Connections that are held open through a rollout: ended in good order by a drain that knows of them, cut by every
//! other one.

use rollscope_records::{Outcome, Recording, StreamEnd};
use rollscope_tests::{Finished, Workdir};

use super::PROGRAM;

const STREAMS: (&str, &str) = (
    "stages:\n",
    r#"  streams:
    - { name: feed, sse: "/events?ms=200", count: 6, cadence: 200ms, retry: 100ms }
    - { name: chat, websocket: /ws, count: 6, cadence: 200ms, retry: 100ms }
stages:
"#,
);

/// A run of a shipped scenario with streams, on its manifest with changes made in it.
fn run(
    workdir: &Workdir,
    of: &str,
    manifest: &[(&str, &str)],
    scenario: &[(&str, &str)],
) -> Finished {
    let path = workdir.path().join(format!(
        "scenarios/manifests/{}.yaml",
        of.trim_end_matches("-l4")
    ));
    let mut text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in manifest {
        assert!(
            text.contains(from),
            "{from:?} is not in the manifest:\n{text}"
        );
        text = text.replace(from, to);
    }
    std::fs::write(&path, text).unwrap();
    workdir.variant(of, "held", &[&[STREAMS][..], scenario].concat());
    workdir.run("scenarios/held.yaml")
}

/// Every row of a held connection has its story, and every place is held again after a loss.
fn check(recording: &Recording) {
    let held = recording.requests.iter().filter(|r| r.lane.is_long_lived());
    let rows: Vec<u64> = held.map(|r| r.seq).collect();
    let stories: Vec<u64> = recording.streams.iter().map(|s| s.seq).collect();
    let sorted = |mut all: Vec<u64>| {
        all.sort_unstable();
        all
    };
    assert_eq!(sorted(rows), stories);
    for name in ["feed", "chat"] {
        let of_name = || recording.streams.iter().filter(move |s| s.name == name);
        let held = of_name().filter(|s| s.end == StreamEnd::Held).count();
        assert_eq!(held, 6, "{name}: every place is held at the end");
        let resumed = of_name().filter_map(|s| s.resumption_nanos);
        assert!(
            resumed.clone().count() >= 6,
            "{name}: every old pod had some"
        );
        assert!(resumed.clone().all(|nanos| nanos > 0));
    }
    let slots = recording
        .requests
        .iter()
        .filter(|r| r.lane.has_slot())
        .count();
    assert_eq!(recording.generator.as_ref().unwrap().planned, slots as u64);
}

#[test]
fn a_graceful_drain_ends_streams_in_good_order_and_nothing_fails() {
    let workdir = Workdir::new(PROGRAM);
    let run = run(&workdir, "graceful-l4", &[], &[]);
    run.expect_exit(0);
    let recording = run.recording();
    check(&recording);
    assert!(recording.requests.iter().all(|r| r.outcome == Outcome::Ok));
    for stream in &recording.streams {
        assert!(
            matches!(stream.end, StreamEnd::Held | StreamEnd::Closed),
            "{stream:?}"
        );
        if stream.end == StreamEnd::Closed && stream.name == "chat" {
            assert_eq!(stream.close_code, Some(1001));
        }
    }
    assert_eq!(run.report()["requests"]["failed"], 0);
}

#[test]
fn streams_that_an_early_exit_cuts_are_failures_with_that_cause() {
    let workdir = Workdir::new(PROGRAM);
    let exit = [("value: early-close", "value: exit-now")];
    let run = run(&workdir, "early-close", &exit, &[]);
    run.expect_exit(1);
    let recording = run.recording();
    check(&recording);
    let cut = recording
        .requests
        .iter()
        .filter(|r| r.lane.is_long_lived() && r.outcome.is_truncated());
    assert!(cut.count() >= 12, "every old pod had streams, and cut them");
    let causes = run.causes();
    assert_eq!(
        causes.keys().collect::<Vec<_>>(),
        ["early_close"],
        "{}",
        run.stdout
    );
    assert_eq!(run.report()["unattributed"], 0);
}

#[test]
fn streams_that_a_drain_does_not_know_of_are_cut_by_sigkill_and_named() {
    let workdir = Workdir::new(PROGRAM);
    // It waits for connections as long as they take, and tells nobody on a stream to go.
    let waits = [
        ("value: graceful", "value: overrun"),
        (
            "terminationGracePeriodSeconds: 10",
            "terminationGracePeriodSeconds: 6",
        ),
    ];
    let run = run(
        &workdir,
        "graceful-l4",
        &waits,
        &[("warmup: 4s", "warmup: 8s")],
    );
    run.expect_exit(1);
    let recording = run.recording();
    check(&recording);
    let failed = recording.requests.iter().filter(|r| r.outcome.is_failure());
    for r in failed {
        assert!(r.lane.is_long_lived() && r.outcome.is_truncated(), "{r:?}");
    }
    let causes = run.causes();
    assert_eq!(
        causes.keys().collect::<Vec<_>>(),
        ["long_stream_cut"],
        "{}",
        run.stdout
    );
    assert_eq!(run.report()["unattributed"], 0);
}
