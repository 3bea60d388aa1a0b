//! What the summary ends with: verdict, reasons and causes.

use rollscope_analyzer::{Advice, Analysis, Burst, VerdictOutcome};

use super::lines::{fit, wrapped};
use crate::causes::{groups, reasons_say_more};
use crate::text::{cause, cause_code, count, counted, field, verdict};

/// Causes that are told with their advice; the others are counted.
const MOST_CAUSES: usize = 3;
/// Lines of a sentence or an advice at most.
const MOST_LINES: usize = 4;

/// Verdict, reasons and causes, in at most `most` lines.
pub(super) fn closing(a: &Analysis, width: usize, color: bool, most: usize) -> Vec<String> {
    let groups = groups(&a.bursts);
    let mut lines = vec![paint(
        &fit(&verdict_line(a), width),
        a.verdict.outcome,
        color,
    )];
    if reasons_say_more(a) {
        lines.extend(reasons(a, width, if groups.is_empty() { 6 } else { 2 }));
    }
    if a.bursts.is_empty() && a.requests.failed == 0 {
        lines.extend(wrapped("  ", &looked_at(a), width, 2));
    }
    lines.extend(jobs(a, width));
    let causes = causes(&groups[..groups.len().min(MOST_CAUSES)], width);
    // A line for what is not told, one for what is in no burst.
    let room = most.saturating_sub(lines.len() + 1 + usize::from(a.unattributed > 0));
    let mut told = causes.len();
    while told > 1 && causes[..told].iter().map(|c| c.lines(1)).sum::<usize>() > room {
        told -= 1;
    }
    lines.extend(share(&causes[..told], room, width));
    if groups.len() > told {
        let more = counted((groups.len() - told) as u64, "more cause", "more causes");
        lines.push(fit(&format!("  and {more}: see the timeline"), width));
    }
    if a.unattributed > 0 {
        let what = counted(a.unattributed, "failed request is", "failed requests are");
        lines.push(fit(&format!("  {what} in no burst"), width));
    }
    lines.truncate(most);
    lines
}

/// What became of the jobs that the load submitted.
fn jobs(a: &Analysis, width: usize) -> Option<String> {
    let jobs = a.jobs.as_ref()?;
    let told = format!(
        "  jobs: {} accepted, {} done, {} done twice, {} lost, {} open, {} returned, {} leases expired",
        count(jobs.accepted),
        count(jobs.done),
        count(jobs.done_twice),
        count(jobs.lost),
        count(jobs.open),
        count(jobs.returned),
        count(jobs.lease_expired)
    );
    let missing = match jobs.missing {
        Some(_) => " (events may be missing: see the timeline)",
        None => "",
    };
    Some(fit(&(told + missing), width))
}

fn reasons(a: &Analysis, width: usize, most: usize) -> Vec<String> {
    let reasons = a.verdict.reasons.iter();
    reasons
        .flat_map(|reason| wrapped("  - ", &field(&ends_of(reason)), width, 2))
        .take(most)
        .collect()
}

/// A reason of many lines (a state of pods with their logs) by its first and its last one.
fn ends_of(reason: &str) -> String {
    let mut lines = reason.lines().map(str::trim).filter(|l| !l.is_empty());
    match (lines.next(), lines.next_back()) {
        (Some(first), Some(last)) => format!("{first} ... {last}"),
        (Some(only), None) => only.to_owned(),
        _ => String::new(),
    }
}

fn verdict_line(a: &Analysis) -> String {
    let failed = format!(
        "{} of {} failed",
        count(a.requests.failed),
        counted(a.requests.sent, "request", "requests")
    );
    let words = verdict(a.verdict.outcome).to_uppercase();
    format!(
        "{words} (exit code {}): {failed}, {} allowed",
        a.verdict.exit_code,
        count(a.run.max_failed)
    )
}

fn looked_at(a: &Analysis) -> String {
    let ended: Vec<_> = a
        .pods
        .iter()
        .filter(|p| p.deletion_requested_ms.is_some())
        .collect();
    if ended.is_empty() {
        return "no pod was seen terminating".to_owned();
    }
    let in_flight: Vec<_> = ended
        .iter()
        .map(|p| p.in_flight_at_signal.map_or("?".to_owned(), count))
        .collect();
    format!(
        "{} terminated under load, in flight at the signal: {}",
        counted(ended.len() as u64, "pod", "pods"),
        in_flight.join(", ")
    )
}

/// A cause in lines: its name, the sentence of its largest burst, its first advice that no cause before it gave.
struct Cause {
    name: String,
    sentence: Vec<String>,
    advice: Vec<String>,
}

impl Cause {
    /// Lines that it takes when sentence and advice have at most `most` each.
    fn lines(&self, most: usize) -> usize {
        1 + self.sentence.len().min(most) + self.advice.len().min(most)
    }
}

fn causes(groups: &[Vec<&Burst>], width: usize) -> Vec<Cause> {
    let mut given: Vec<&Advice> = Vec::new();
    let mut causes = Vec::new();
    for group in groups {
        let largest = group
            .iter()
            .max_by_key(|b| (b.failed, std::cmp::Reverse(b.id)))
            .unwrap_or(&group[0]);
        let advice = largest.advice.iter().find(|advice| !given.contains(advice));
        given.extend(advice);
        let text =
            advice.map(|advice| format!("{}: {}", field(&advice.field), field(&advice.text)));
        causes.push(Cause {
            name: fit(&name_line(group, largest), width),
            sentence: wrapped("    ", &field(&largest.summary), width, MOST_LINES),
            advice: text
                .map(|text| wrapped("    → ", &text, width, MOST_LINES))
                .unwrap_or_default(),
        });
    }
    causes
}

fn name_line(group: &[&Burst], largest: &Burst) -> String {
    let failed: u64 = group.iter().map(|b| b.failed).sum();
    let code = cause_code(&largest.cause, largest.detail.as_deref());
    let words = cause(&largest.cause)
        .map(|w| format!(": {w}"))
        .unwrap_or_default();
    let of = if group.len() > 1 {
        format!(", {} bursts", group.len())
    } else {
        String::new()
    };
    format!("  {code}{words} ({} failed{of})", count(failed))
}

/// The causes in at most `room` lines: where they do not all fit, the longest texts are cut first.
fn share(causes: &[Cause], room: usize, width: usize) -> Vec<String> {
    let mut most = MOST_LINES;
    while most > 1 && causes.iter().map(|c| c.lines(most)).sum::<usize>() > room {
        most -= 1;
    }
    let cut = |text: &[String]| {
        let mut kept: Vec<String> = text.iter().take(most).cloned().collect();
        if let (true, Some(last)) = (text.len() > most, kept.last_mut()) {
            let text = last.trim_end_matches(|c: char| !c.is_alphanumeric());
            *last = fit(&format!("{text}…"), width);
        }
        kept
    };
    causes
        .iter()
        .flat_map(|c| [vec![c.name.clone()], cut(&c.sentence), cut(&c.advice)].concat())
        .collect()
}

fn paint(text: &str, outcome: VerdictOutcome, color: bool) -> String {
    let code = match outcome {
        VerdictOutcome::Passed => 32,
        VerdictOutcome::GateFailed => 31,
        VerdictOutcome::Invalid
        | VerdictOutcome::Interrupted
        | VerdictOutcome::EnvironmentFailed => 33,
    };
    if color {
        format!("\u{1b}[1;{code}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}
