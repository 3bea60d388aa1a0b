//! Journeys: what goose counted beside what was recorded. Both saw every step, so they must agree.

use std::collections::BTreeMap;

use rollscope_records::{JourneyStep, JourneysRecord, Outcome, Recording, Request};
use serde::Serialize;

use crate::analysis::MsLength;

/// The users' journeys of a run. Closed loop: a user sends a step when the one before is over, so that their number and
/// their latency depend on the service; neither is part of the latency or the rate of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Journeys {
    /// Users who walked through them.
    pub users: u64,
    /// CPU time of their process.
    pub cpu_ms: MsLength,
    /// Whether goose counted, step by step, what was recorded.
    pub agree: bool,
    /// Why they were not walked to the end of the load.
    pub failure: Option<String>,
    /// Every step, by name.
    pub steps: Vec<JourneyStepReport>,
}

/// One step of a journey, as goose and as the recording have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JourneyStepReport {
    /// As `journey/step`.
    pub name: String,
    /// Whether both counted the same: steps sent, failed, and by status.
    pub agree: bool,
    /// goose's own aggregate.
    pub goose: StepCounts,
    /// The same from the request records. Steps that were aborted with the run are in neither.
    pub ours: StepCounts,
}

/// Counts of a step, and its times from sending to the response's head (or to the failure), in milliseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct StepCounts {
    /// Times it was sent.
    pub count: u64,
    /// Times it failed.
    pub failed: u64,
    /// The shortest.
    pub min_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// Responses by status; `0` stands for none.
    pub by_status: BTreeMap<u16, u64>,
}

impl StepCounts {
    fn agrees(&self, other: &Self) -> bool {
        (self.count, self.failed, &self.by_status) == (other.count, other.failed, &other.by_status)
    }
}

/// The journeys of a recording; `None` where it has none.
pub(crate) fn journeys(recording: &Recording) -> Option<Journeys> {
    let record = recording.generator.as_ref()?.journeys.as_ref()?;
    let steps = steps(record, recording);
    Some(Journeys {
        users: record.users,
        cpu_ms: MsLength(i64::try_from(record.cpu_us.saturating_mul(1000)).unwrap_or(i64::MAX)),
        agree: steps.iter().all(|s| s.agree),
        failure: record.failure.clone(),
        steps,
    })
}

/// Why the journeys of a run prove nothing, in words.
pub(crate) fn doubts(recording: &Recording) -> Vec<String> {
    let Some(journeys) = journeys(recording) else {
        return Vec::new();
    };
    if let Some(failure) = &journeys.failure {
        return vec![format!(
            "the journeys were not walked to the end: {failure}"
        )];
    }
    if journeys.steps.is_empty() {
        return vec!["no step of a journey was sent".to_owned()];
    }
    let apart = journeys.steps.iter().filter(|s| !s.agree);
    apart
        .map(|s| {
            format!(
                "goose counted {} of the step {}, {} failed; the recording has {}, {} failed",
                s.goose.count, s.name, s.goose.failed, s.ours.count, s.ours.failed
            )
        })
        .collect()
}

fn steps(record: &JourneysRecord, recording: &Recording) -> Vec<JourneyStepReport> {
    let ours = recorded(recording);
    let of_goose: BTreeMap<&str, StepCounts> = record
        .steps
        .iter()
        .map(|s| (s.name.as_str(), counted(s)))
        .collect();
    let mut names: Vec<&str> = ours.keys().chain(of_goose.keys()).copied().collect();
    names.sort_unstable();
    names.dedup();
    let report = |name: &str| {
        let goose = of_goose.get(name).cloned().unwrap_or_default();
        let ours = ours.get(name).map(Recorded::counts).unwrap_or_default();
        JourneyStepReport {
            name: name.to_owned(),
            agree: goose.agrees(&ours),
            goose,
            ours,
        }
    };
    names.into_iter().map(report).collect()
}

fn counted(step: &JourneyStep) -> StepCounts {
    StepCounts {
        count: step.count,
        failed: step.failed,
        min_ms: step.min_ms as f64,
        mean_ms: mean(step.total_ms as f64, step.count),
        max_ms: step.max_ms as f64,
        by_status: step.statuses.clone(),
    }
}

/// The records of one step, added up.
#[derive(Debug, Default)]
struct Recorded {
    counts: StepCounts,
    total_ms: f64,
}

impl Recorded {
    fn add(&mut self, r: &Request<'_>) {
        let over = r.first_byte.or(r.ended);
        let took = r
            .dispatched
            .zip(over)
            .map(|(from, to)| to.nanos_since(from));
        let took = took.unwrap_or_default() as f64 / 1e6;
        let counts = &mut self.counts;
        counts.min_ms = if counts.count == 0 {
            took
        } else {
            counts.min_ms.min(took)
        };
        counts.max_ms = counts.max_ms.max(took);
        counts.count += 1;
        counts.failed += u64::from(r.outcome.is_failure());
        *counts.by_status.entry(r.status.unwrap_or(0)).or_default() += 1;
        self.total_ms += took;
    }

    fn counts(&self) -> StepCounts {
        StepCounts {
            min_ms: micros(self.counts.min_ms),
            mean_ms: mean(self.total_ms, self.counts.count),
            max_ms: micros(self.counts.max_ms),
            ..self.counts.clone()
        }
    }
}

fn mean(total_ms: f64, count: u64) -> f64 {
    micros(total_ms / count.max(1) as f64)
}

/// Milliseconds with three decimals.
fn micros(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

fn recorded(recording: &Recording) -> BTreeMap<&str, Recorded> {
    let mut steps: BTreeMap<&str, Recorded> = BTreeMap::new();
    let walked = recording
        .requests
        .indices(|fate| fate.lane().is_closed_loop() && fate.outcome() != Outcome::Aborted);
    for r in walked.into_iter().map(|i| recording.requests.row(i)) {
        steps.entry(r.name).or_default().add(&r);
    }
    steps
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use rollscope_records::{GeneratorRecord, Lane, Phase, RequestRecord, RunOffset};

    use super::*;
    use crate::testing::Scene;

    fn step(seq: u64, outcome: Outcome, status: Option<u16>, took_ms: i64) -> RequestRecord {
        let at = RunOffset::from_millis(1_000);
        let mut r = RequestRecord::scheduled(
            RequestRecord::FIRST_JOURNEY + seq,
            Lane::Journey,
            "buyer/list",
            at,
        );
        r.dispatched = Some(at);
        r.first_byte = status.map(|_| RunOffset::from_millis(1_000 + took_ms));
        r.ended = Some(RunOffset::from_millis(1_000 + took_ms));
        (r.outcome, r.status, r.phase) = (outcome, status, Phase::Done);
        r
    }

    fn recording(counted: JourneyStep) -> Recording {
        let mut recording = Scene::new().recorded();
        for r in [
            step(0, Outcome::Ok, Some(200), 4),
            step(1, Outcome::EofBeforeHeaders, None, 8),
            step(2, Outcome::Aborted, None, 1),
        ] {
            recording.requests.push(r.view());
        }
        recording.generator = Some(GeneratorRecord {
            journeys: Some(JourneysRecord {
                users: 1,
                steps: vec![counted],
                ..JourneysRecord::default()
            }),
            ..GeneratorRecord::default()
        });
        recording
    }

    fn list(count: u64, failed: u64) -> JourneyStep {
        JourneyStep {
            name: "buyer/list".to_owned(),
            method: "GET".to_owned(),
            count,
            failed,
            min_ms: 4,
            total_ms: 12,
            max_ms: 8,
            statuses: [(0, 1), (200, count - 1)].into_iter().collect(),
        }
    }

    #[test]
    fn goose_and_the_recording_agree_on_what_both_saw() {
        let recording = recording(list(2, 1));
        let journeys = journeys(&recording).unwrap();
        assert!(journeys.agree, "{journeys:?}");
        let [only] = journeys.steps.as_slice() else {
            panic!("{journeys:?}");
        };
        assert_eq!(only.goose, only.ours);
        assert_eq!((only.ours.mean_ms, only.ours.max_ms), (6.0, 8.0));
        assert_eq!(doubts(&recording), Vec::<String>::new());
    }

    #[test]
    fn a_step_that_only_one_of_them_counted_makes_the_run_doubtful() {
        let doubts = doubts(&recording(list(3, 1)));
        assert!(doubts[0].contains("goose counted 3 of the step buyer/list"));
    }

    #[test]
    fn journeys_that_failed_say_why() {
        let mut recording = recording(list(2, 1));
        let generator = recording.generator.as_mut().unwrap();
        generator.journeys.as_mut().unwrap().failure = Some("it was killed".to_owned());
        assert_eq!(
            doubts(&recording),
            ["the journeys were not walked to the end: it was killed"]
        );
    }

    #[test]
    fn journeys_are_no_part_of_the_latency_of_slots() {
        let recording = recording(list(2, 1));
        let with = crate::analyze(&recording).latency_ms;
        let mut without = recording;
        without.requests.clear();
        assert_eq!(with, crate::analyze(&without).latency_ms);
    }
}
