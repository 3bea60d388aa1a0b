//! `junit.xml`: the gate, the stages and the shutdown assertions as test cases.
//!
//! The file keeps to what the schema of Jenkins' xUnit plugin allows, which is the strictest of those in use.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use rollscope_analyzer::{
    Analysis, Assertion, Burst, Evidence, Ms, MsLength, StageReport, VerdictOutcome,
};

use crate::text::{cause_code, count, counted, field, interval, length, seconds, verdict, visible};

/// Characters of a failure's description at most; the timeline has the rest.
const MOST_CHARS: usize = 20_000;

/// The analysis as JUnit XML, with a newline at its end: one case for the gate, one a stage, one a shutdown assertion.
/// A broken assertion fails its case also where the gate only warns of it; one that could not be seen is skipped; a run
/// that proves nothing is an error of the gate's case, not a failure.
///
/// # Panics
///
/// Never: the text is written to memory.
pub fn junit_xml(a: &Analysis) -> String {
    let name = format!("rollscope: {}", field(&a.run.name));
    let mut report = Report::new(name);
    report.set_time(duration(a));
    let mut gate = suite("gate", a);
    gate.set_time(duration(a));
    gate.add_test_case(gate_case(a));
    report.add_test_suite(gate);
    let mut stages = suite("stages", a);
    for (n, stage) in a.stages.iter().enumerate() {
        stages.add_test_case(stage_case(n, stage));
    }
    report.add_test_suite(stages);
    let mut assertions = suite("assertions", a);
    for assertion in &a.assertions {
        assertions.add_test_case(assertion_case(assertion));
    }
    report.add_test_suite(assertions);
    let text = report.to_string().expect("memory takes everything");
    without_skipped_total(text, report.skipped) + "\n"
}

/// The schema has the number of skipped cases on a suite, but not on all suites together. Attribute values have no
/// bare quote, so the first match is the attribute itself.
fn without_skipped_total(text: String, skipped: usize) -> String {
    text.trim_end()
        .replacen(&format!(" skipped=\"{skipped}\""), "", 1)
}

fn duration(a: &Analysis) -> Duration {
    Duration::from_nanos(u64::try_from(a.run.duration_ms.0).unwrap_or(0))
}

fn suite(name: &str, a: &Analysis) -> TestSuite {
    let mut suite = TestSuite::new(name);
    suite
        .extra
        .insert("timestamp".into(), field(&a.run.started_at).into());
    suite
}

fn gate_case(a: &Analysis) -> TestCase {
    let what = format!(
        "{} of {} failed, {} allowed",
        count(a.requests.failed),
        counted(a.requests.sent, "request", "requests"),
        count(a.run.max_failed)
    );
    let kind = match a.verdict.outcome {
        VerdictOutcome::Passed => None,
        VerdictOutcome::GateFailed => Some(NonSuccessKind::Failure),
        VerdictOutcome::Invalid
        | VerdictOutcome::Interrupted
        | VerdictOutcome::EnvironmentFailed => Some(NonSuccessKind::Error),
    };
    let mut status = TestCaseStatus::success();
    if let Some(kind) = kind {
        status = TestCaseStatus::non_success(kind);
        status
            .set_type(outcome_name(a.verdict.outcome))
            .set_message(format!("{}: {what}", verdict(a.verdict.outcome)))
            .set_description(visible_lines(&gate_description(a)));
    }
    let mut case = TestCase::new("failed requests", status);
    case.set_classname("rollscope.gate");
    case.set_time(duration(a));
    case.set_system_out(visible_lines(&counts(a)));
    case
}

const fn outcome_name(outcome: VerdictOutcome) -> &'static str {
    match outcome {
        VerdictOutcome::Passed => "passed",
        VerdictOutcome::GateFailed => "gate_failed",
        VerdictOutcome::Invalid => "invalid",
        VerdictOutcome::Interrupted => "interrupted",
        VerdictOutcome::EnvironmentFailed => "environment_failed",
    }
}

fn counts(a: &Analysis) -> Vec<String> {
    let r = &a.requests;
    vec![
        format!(
            "planned {} = sent {} + dropped {}; sent = ok {} + failed {} + aborted {}",
            r.planned, r.sent, r.dropped, r.ok, r.failed, r.aborted
        ),
        format!(
            "bursts {}, in no burst {}, exit code {}",
            a.bursts.len(),
            a.unattributed,
            a.verdict.exit_code
        ),
    ]
}

fn gate_description(a: &Analysis) -> Vec<String> {
    let reasons = a.verdict.reasons.iter().map(|reason| field(reason));
    let bursts = a.bursts.iter().flat_map(burst_lines);
    reasons.chain(bursts).collect()
}

fn burst_lines(burst: &Burst) -> Vec<String> {
    let mut lines = vec![
        String::new(),
        format!(
            "burst {}: {} failed, {}–{} s, {}, confidence {:.2}",
            burst.id,
            count(burst.failed),
            seconds(burst.from_ms),
            seconds(burst.to_ms),
            cause_code(&burst.cause, burst.detail.as_deref()),
            burst.confidence
        ),
        format!("  {}", field(&burst.summary)),
    ];
    lines.extend(burst.evidence.iter().map(|e| evidence("for", e)));
    lines.extend(burst.against.iter().map(|e| evidence("against", e)));
    let ruled_out = burst.ruled_out.iter();
    lines.extend(ruled_out.map(|r| format!("  not {}: {}", field(&r.cause), field(&r.why))));
    let advice = burst.advice.iter();
    lines.extend(advice.map(|x| format!("  change {}: {}", field(&x.field), field(&x.text))));
    lines
}

fn evidence(side: &str, e: &Evidence) -> String {
    let at = e.at_ms.map(|at| format!(" at {}", interval(at)));
    let pod = e.pod.as_deref().map(|pod| format!(" [{}]", field(pod)));
    format!(
        "  {side}: {} ({}{}){}",
        field(&e.text),
        field(&e.id),
        at.unwrap_or_default(),
        pod.unwrap_or_default()
    )
}

fn stage_case(n: usize, stage: &StageReport) -> TestCase {
    let mut status = TestCaseStatus::success();
    if stage.end != "completed" {
        let words = match stage.end {
            "failed" => "the stage failed",
            _ => "the stage did not come to its end",
        };
        status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        let detail = stage.detail.as_deref().unwrap_or("no more is known");
        status
            .set_type(stage.end)
            .set_message(words)
            .set_description(field(detail));
    }
    let mut case = TestCase::new(format!("{}: {}", n + 1, field(&stage.kind)), status);
    case.set_classname("rollscope.stages");
    if let Some(to) = stage.to_ms {
        let nanos = to.0.nanos_since(stage.from_ms.0);
        case.set_time(Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)));
    }
    let marks = stage.marks.iter();
    let marks: Vec<_> = marks
        .map(|m| format!("{} {}", since(m.at_ms, stage.from_ms), field(&m.mark)))
        .collect();
    if !marks.is_empty() {
        case.set_system_out(visible_lines(&marks));
    }
    case
}

fn since(at: Ms, from: Ms) -> String {
    let nanos = at.0.nanos_since(from.0);
    format!("after {}:", length(MsLength(nanos)))
}

fn assertion_case(assertion: &Assertion) -> TestCase {
    let mut status = match assertion.held {
        Some(true) => TestCaseStatus::success(),
        Some(false) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        None => TestCaseStatus::skipped(),
    };
    if assertion.held != Some(true) {
        status.set_message(field(&assertion.why));
    }
    if assertion.held == Some(false) {
        let pods: Vec<_> = assertion.pods.iter().map(|pod| field(pod)).collect();
        let mut lines = vec![field(&assertion.text), field(&assertion.why)];
        if !pods.is_empty() {
            lines.push(format!("pods: {}", pods.join(", ")));
        }
        status
            .set_type("broken_assertion")
            .set_description(visible_lines(&lines));
    }
    let mut case = TestCase::new(field(&assertion.id), status);
    case.set_classname("rollscope.assertions");
    case
}

/// Lines that are visible already, joined and cut.
fn visible_lines(lines: &[String]) -> String {
    let text = lines.join("\n");
    match text.char_indices().nth(MOST_CHARS) {
        None => text.trim_start_matches('\n').to_owned(),
        Some((at, _)) => format!(
            "{}\n{}",
            &text[..at],
            visible("… (cut; see the timeline)", 99)
        ),
    }
}
