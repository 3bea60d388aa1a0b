//! Holds the analyzer's verdict on every failed request against its true cause.

use std::collections::{BTreeMap, HashMap};

use rollscope_analyzer::{Analysis, Burst, analyze};
use rollscope_records::{EndKind, Recording};

use super::draw::Case;
use super::entangled;
use super::execute::Folders;
use super::label::{Label, Verdict, label};
use super::times::TimeErrors;
use super::truth::Truth;
use super::witness::{Met, Witness};

/// Above this a wrong verdict is a confident one.
const CONFIDENT: f64 = 0.9;

/// A kind of wrong verdict: what is true, and what was said.
pub(crate) type Wrong = (String, String);

/// The same true cause and the same verdict, within one run.
#[derive(Debug, Clone)]
pub(crate) struct Example {
    /// The case's folder.
    pub(crate) case: String,
    /// What was drawn.
    pub(crate) words: String,
    /// How many requests.
    pub(crate) requests: u64,
    /// The confidence of the verdict.
    pub(crate) confidence: f64,
    /// One of the requests: how it failed, where and when.
    pub(crate) sample: String,
}

/// The score over many runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Score {
    /// Runs that were scored.
    pub(crate) runs: u64,
    /// Runs that could not be scored, by reason.
    pub(crate) discarded: BTreeMap<String, u64>,
    /// Failed requests with a known cause.
    pub(crate) failed: u64,
    /// Those with the right verdict.
    pub(crate) right: u64,
    /// Those of `right` whose true face is known, and those of them with the right face.
    pub(crate) faces: (u64, u64),
    /// Wrong verdicts with a confidence over 0.9.
    pub(crate) confident_wrong: u64,
    /// Verdicts `unknown`, `several` and `indeterminate`.
    pub(crate) open: BTreeMap<String, u64>,
    /// Those of `open` in runs with logs or a readiness probe, and the failed requests of such runs.
    pub(crate) open_observed: (u64, u64),
    /// Failed requests that the witnesses do not decide, by reason.
    pub(crate) undecided: BTreeMap<&'static str, u64>,
    /// True cause (with its face), verdict, requests.
    pub(crate) confusion: BTreeMap<String, BTreeMap<String, u64>>,
    /// True cause without its face: requests, right ones.
    pub(crate) recall: BTreeMap<&'static str, (u64, u64)>,
    /// Verdict: requests, right ones.
    pub(crate) precision: BTreeMap<String, (u64, u64)>,
    /// Confidence in tenths: requests, right ones, sum of confidences.
    pub(crate) calibration: BTreeMap<u8, (u64, u64, f64)>,
    /// Bursts (one a run and pod at least) by true cause, with its face, and front end.
    pub(crate) bursts: BTreeMap<(String, String), u64>,
    /// Wrong verdicts.
    pub(crate) wrong: BTreeMap<Wrong, Vec<Example>>,
    /// Examples of requests that the witnesses do not decide.
    pub(crate) undecided_examples: BTreeMap<&'static str, Vec<Example>>,
    /// Errors of the measured times.
    pub(crate) times: TimeErrors,
}

impl Score {
    /// Scores a run that was recorded. Gives the failed requests that were judged wrong or left open by witnesses.
    pub(crate) fn add(&mut self, case: &Case, folders: &Folders) -> u64 {
        let recording = match Recording::open(&folders.recording()) {
            Ok(recording) => recording,
            Err(error) => {
                self.discard(&format!("unreadable: {error}"));
                return 0;
            }
        };
        if let Some(reason) = invalid(&recording) {
            self.discard(reason);
            return 0;
        }
        let truth = Truth::read(&folders.truth(), recording.run.wall_start_unix_nanos);
        let analysis = analyze(&recording);
        self.runs += 1;
        self.times.add(case, &analysis, &truth);
        let mut scored = Scored {
            case,
            verdicts: verdicts(&analysis),
            seen: BTreeMap::new(),
            bad: 0,
        };
        let witness = Witness::of(&recording, &truth);
        let failed = recording.requests.iter().filter(|r| r.outcome.is_failure());
        let mut labelled: Vec<(Met<'_>, Verdict)> = failed
            .map(|request| {
                let met = witness.met(request);
                let label = label(case, &truth, &met);
                (met, label)
            })
            .collect();
        entangled::veil(&mut labelled, &case.front_end);
        for (met, label) in labelled {
            match label {
                Verdict::Is(label) => self.one(&mut scored, &met, &label),
                Verdict::Undecided(why) => {
                    *self.undecided.entry(why).or_default() += 1;
                    scored.bad += 1;
                    let verdict = verdict_name(scored.verdicts.get(&met.request.seq).copied());
                    let examples = self.undecided_examples.entry(why).or_default();
                    example(examples, case, &met, &verdict, 0.0);
                }
            }
        }
        for (cause, pods) in scored.seen {
            *self
                .bursts
                .entry((cause, case.front_end.clone()))
                .or_default() += pods.len() as u64;
        }
        scored.bad
    }

    /// Counts a run that cannot be scored.
    pub(crate) fn discard(&mut self, reason: &str) {
        *self.discarded.entry(reason.to_owned()).or_default() += 1;
    }

    fn one(&mut self, scored: &mut Scored<'_>, met: &Met<'_>, label: &Label) {
        let case = scored.case;
        let burst = scored.verdicts.get(&met.request.seq).copied();
        let (cause, confidence) = burst.map_or(("unknown", 0.0), |b| (&*b.cause, b.confidence));
        let open = matches!(cause, "unknown" | "several" | "indeterminate");
        let observed = label.shows(case);
        let right = label.accepts(cause) || (!observed && several_with(burst, label));
        let pod = met.pod.clone().unwrap_or_default();
        scored.seen.entry(label.name()).or_default().insert(pod);
        self.failed += 1;
        self.right += u64::from(right);
        if observed {
            self.open_observed.0 += u64::from(open);
            self.open_observed.1 += 1;
        }
        if open {
            *self.open.entry(cause.to_owned()).or_default() += 1;
        }
        let recall = self.recall.entry(label.cause).or_default();
        *recall = (recall.0 + 1, recall.1 + u64::from(right));
        let precision = self.precision.entry(cause.to_owned()).or_default();
        *precision = (precision.0 + 1, precision.1 + u64::from(right));
        let said = verdict_name(burst);
        let row = self.confusion.entry(label.name()).or_default();
        *row.entry(said.clone()).or_default() += 1;
        let tenth = (confidence * 10.0).floor().min(9.0) as u8;
        let bin = self.calibration.entry(tenth).or_default();
        *bin = (bin.0 + 1, bin.1 + u64::from(right), bin.2 + confidence);
        if right {
            if let (Some(true_face), true) = (label.detail, label.cause == cause) {
                let same = burst.and_then(|b| b.detail.as_deref()) == Some(true_face);
                self.faces = (self.faces.0 + 1, self.faces.1 + u64::from(same));
            }
            return;
        }
        scored.bad += 1;
        if !open && confidence > CONFIDENT {
            self.confident_wrong += 1;
        }
        let examples = self.wrong.entry((label.name(), said)).or_default();
        example(examples, case, met, "", confidence);
    }
}

struct Scored<'a> {
    case: &'a Case,
    verdicts: HashMap<u64, &'a Burst>,
    /// Pods by true cause.
    seen: BTreeMap<String, std::collections::BTreeSet<String>>,
    bad: u64,
}

fn verdicts(analysis: &Analysis) -> HashMap<u64, &Burst> {
    let mut verdicts = HashMap::new();
    for burst in &analysis.bursts {
        verdicts.extend(burst.requests.iter().map(|seq| (*seq, burst)));
    }
    verdicts
}

fn verdict_name(burst: Option<&Burst>) -> String {
    match burst {
        None => "(in no burst)".to_owned(),
        Some(b) => match &b.detail {
            Some(detail) if b.cause == "several" => format!("several ({detail})"),
            Some(detail) => format!("{}/{detail}", b.cause),
            None => b.cause.clone(),
        },
    }
}

/// `several` that names the true cause: the right answer where neither logs nor a probe could tell.
fn several_with(burst: Option<&Burst>, label: &Label) -> bool {
    burst.is_some_and(|b| {
        let named = b.detail.as_deref().unwrap_or_default();
        b.cause == "several" && named.split(", ").any(|cause| label.accepts(cause))
    })
}

fn example(examples: &mut Vec<Example>, case: &Case, met: &Met<'_>, said: &str, confidence: f64) {
    let folder = case.folder();
    if let Some(example) = examples.iter_mut().find(|e| e.case == folder) {
        example.requests += 1;
        example.confidence = example.confidence.max(confidence);
        return;
    }
    let request = met.request;
    let sample = format!(
        "seq {} {} {} {:?} on {} at {:.3} s {said}",
        request.seq,
        request.name,
        request.outcome.as_str(),
        met.how,
        met.pod.as_deref().unwrap_or("no pod"),
        met.at.nanos() as f64 / 1e9
    );
    examples.push(Example {
        case: folder,
        words: case.words(),
        requests: 1,
        confidence,
        sample,
    });
}

/// A slot that was sent later than this was late, ns; the run proves little when 1 in 100 was.
const LATE: i64 = 250_000_000;

fn invalid(recording: &Recording) -> Option<&'static str> {
    let end = recording.run.end.as_ref()?;
    if end.how == EndKind::EnvironmentFailed {
        return Some("the environment failed");
    }
    let late = recording.requests.iter().filter(|r| {
        r.dispatched
            .is_none_or(|d| d.nanos_since(r.scheduled) > LATE)
    });
    let late = late.count();
    (late * 100 > recording.requests.len()).then_some("the rate was not held")
}
