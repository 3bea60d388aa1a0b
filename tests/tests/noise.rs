//! The recordings of a real cluster with noise: the right cause, or an explicit `several` or `indeterminate`, and never
//! another one. `NOISE_SEEDS=20` draws more of it.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use rollscope_analyzer::{Analysis, analyze, signature_names};
use rollscope_records::{ObjectKind, Recording};
use rollscope_tests::noise::{self, Clock};
use rollscope_tests::{Expected, GoldenCase};

const SECOND: i64 = 1_000_000_000;

fn seeds() -> u64 {
    let more = std::env::var("NOISE_SEEDS").ok();
    more.map_or(3, |n| n.parse().unwrap())
}

/// Whether a verdict is the right one or leaves it open.
fn right_or_open(cause: &str, detail: Option<&str>, expected: &Expected) -> bool {
    match cause {
        "indeterminate" => true,
        "several" => {
            let mut open = detail.unwrap_or_default().split(", ");
            open.any(|c| expected.names(c))
        }
        _ => expected.names(cause),
    }
}

fn mistakes(analysis: &Analysis, expected: &Expected) -> Vec<String> {
    let bursts = analysis.bursts.iter();
    let blamed = bursts.filter(|b| !right_or_open(&b.cause, b.detail.as_deref(), expected));
    let mut wrong: Vec<String> = blamed
        .map(|b| {
            format!(
                "{} failed by {} ({:?}): {} (ruled out: {:?})",
                b.failed, b.cause, b.detail, b.summary, b.ruled_out
            )
        })
        .collect();
    let signatures: Vec<&str> = signature_names().collect();
    let findings = analysis
        .findings
        .iter()
        .filter(|f| signatures.contains(&f.cause.as_str()));
    for f in findings {
        let known = expected.findings.iter().any(|e| e.cause == f.cause);
        if !known && !expected.names(&f.cause) {
            wrong.push(format!("finding {}: {}", f.cause, f.summary));
        }
    }
    if analysis.unattributed > 0 {
        wrong.push(format!("{} failed in no burst", analysis.unattributed));
    }
    wrong
}

/// Analyses every real recording with the noise of every seed.
fn stays_right(noise: impl Fn(&mut Recording, u64)) {
    let mut wrong = Vec::new();
    for case in GoldenCase::real() {
        let (recording, expected) = (case.recording(), case.expected());
        for seed in 0..seeds() {
            let mut noisy = recording.clone();
            noise(&mut noisy, seed);
            let found = mistakes(&analyze(&noisy), &expected);
            wrong.extend(
                found
                    .iter()
                    .map(|m| format!("{}, seed {seed}: {m}", case.name)),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// -30 s to 30 s, by the seed. Whole seconds: what a time that is written in whole seconds leaves out cannot be moved.
fn shift(seed: u64) -> i64 {
    const SECONDS: [i64; 8] = [30, -30, 7, -1, 1, -12, 3, -2];
    SECONDS[usize::try_from(seed).unwrap() % SECONDS.len()] * SECOND
}

#[test]
fn receipts_early_and_late_by_a_tenth_of_a_second() {
    stays_right(|recording, seed| noise::jitter(recording, -100..101, seed));
}

#[test]
fn receipts_late_by_up_to_half_a_second() {
    stays_right(|recording, seed| noise::jitter(recording, 0..500, seed));
}

#[test]
fn the_clock_of_the_api_server_is_wrong() {
    stays_right(|recording, seed| noise::shift_clock(recording, Clock::ApiServer, shift(seed)));
}

#[test]
fn the_clocks_of_the_nodes_are_wrong() {
    stays_right(|recording, seed| noise::shift_clock(recording, Clock::Nodes, shift(seed)));
}

#[test]
fn the_wall_clock_of_the_generator_is_wrong() {
    stays_right(|recording, seed| noise::shift_clock(recording, Clock::Generator, shift(seed)));
}

#[test]
fn one_watch_event_in_ten_is_lost() {
    stays_right(|recording, seed| noise::drop_events(recording, 0.1, seed));
}

#[test]
fn the_watch_of_pods_has_a_gap() {
    stays_right(|recording, seed| {
        let from = noise::moment(recording, seed);
        noise::lose_watch(recording, noise::gap_of(ObjectKind::Pod, from, 2 * SECOND));
    });
}

#[test]
fn every_watch_has_a_gap() {
    stays_right(|recording, seed| {
        let from = noise::moment(recording, seed);
        for kind in ObjectKind::ALL {
            noise::lose_watch(recording, noise::gap_of(kind, from, 3 * SECOND));
        }
    });
}

#[test]
fn half_of_the_requests_are_lost() {
    stays_right(|recording, seed| noise::drop_requests(recording, 0.5, seed));
}

#[test]
fn everything_at_once() {
    stays_right(|recording, seed| {
        noise::drop_requests(recording, 0.5, seed);
        noise::jitter(recording, -50..151, seed);
        noise::shift_clock(recording, Clock::Nodes, shift(seed));
        noise::shift_clock(recording, Clock::ApiServer, shift(seed + 3));
        noise::drop_events(recording, 0.05, seed);
        let from = noise::moment(recording, seed);
        noise::lose_watch(recording, noise::gap_of(ObjectKind::Pod, from, SECOND));
    });
}
