//! The score in words.

use std::fmt::Write;

use super::score::{Example, Score};
use super::times::quantile;

/// The tables, in Markdown.
pub(crate) fn tables(score: &Score) -> String {
    let mut text = String::new();
    summary(score, &mut text);
    causes(score, &mut text);
    confusion(score, &mut text);
    calibration(score, &mut text);
    times(score, &mut text);
    coverage(score, &mut text);
    text
}

/// The last line: `accuracy <fraction> (<right>/<failed requests>, <wrong and confident> confident errors)`.
pub(crate) fn last_line(score: &Score) -> String {
    format!(
        "accuracy {:.4} ({}/{}, {} confident errors)",
        share(score.right, score.failed),
        score.right,
        score.failed,
        score.confident_wrong
    )
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 {
        1.0
    } else {
        part as f64 / of as f64
    }
}

fn percent(part: u64, of: u64) -> String {
    format!("{:.1} %", 100.0 * share(part, of))
}

fn summary(score: &Score, text: &mut String) {
    let _ = writeln!(
        text,
        "{} runs, {} failed requests with a known cause, {} right ({}); face right in {} of {}; {} wrong with a confidence over 0.9.",
        score.runs,
        score.failed,
        score.right,
        percent(score.right, score.failed),
        score.faces.1,
        score.faces.0,
        score.confident_wrong
    );
    for (name, n) in &score.open {
        let _ = writeln!(text, "- `{name}`: {n} ({})", percent(*n, score.failed));
    }
    let (open, observed) = score.open_observed;
    let _ = writeln!(
        text,
        "- left open where logs or a readiness probe were there: {open} of {observed} ({})",
        percent(open, observed)
    );
    for (why, n) in &score.undecided {
        let _ = writeln!(text, "- left out, the truth does not decide: {n}, {why}");
    }
    for (why, n) in &score.discarded {
        let _ = writeln!(text, "- runs left out: {n}, {why}");
    }
}

fn causes(score: &Score, text: &mut String) {
    *text += "\n| signature | failed requests | recall | verdicts | precision |\n|---|---|---|---|---|\n";
    let mut names: Vec<&str> = score.recall.keys().copied().collect();
    names.extend(score.precision.keys().map(String::as_str));
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (n, right) = score.recall.get(name).copied().unwrap_or_default();
        let (said, hit) = score.precision.get(name).copied().unwrap_or_default();
        let or_dash = |part, of| {
            if of == 0 {
                "-".to_owned()
            } else {
                percent(part, of)
            }
        };
        let _ = writeln!(
            text,
            "| `{name}` | {n} | {} | {said} | {} |",
            or_dash(right, n),
            or_dash(hit, said)
        );
    }
}

fn confusion(score: &Score, text: &mut String) {
    *text += "\n| true cause | verdicts (failed requests) |\n|---|---|\n";
    for (cause, row) in &score.confusion {
        let mut row: Vec<_> = row.iter().collect();
        row.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        let row: Vec<String> = row.iter().map(|(said, n)| format!("{said} {n}")).collect();
        let _ = writeln!(text, "| `{cause}` | {} |", row.join(", "));
    }
}

fn calibration(score: &Score, text: &mut String) {
    *text += "\n| confidence | failed requests | mean confidence | right |\n|---|---|---|---|\n";
    for (tenth, (n, right, sum)) in &score.calibration {
        let from = f64::from(*tenth) / 10.0;
        let _ = writeln!(
            text,
            "| {from:.1} to {:.1} | {n} | {:.2} | {:.2} |",
            from + 0.1,
            sum / *n as f64,
            share(*right, *n)
        );
    }
}

fn times(score: &Score, text: &mut String) {
    *text += "\n| measured time | pods | within its bounds | error p50 | p99 | half width p50 | not measured |\n|---|---|---|---|---|---|---|\n";
    for (what, errors) in &score.times.0 {
        let ms = |ns: i64| format!("{:.0} ms", ns as f64 / 1e6);
        let n = errors.distance.len() as u64;
        let _ = writeln!(
            text,
            "| {what} | {n} | {} | {} | {} | {} | {} |",
            percent(errors.within, n),
            ms(quantile(&errors.distance, 500)),
            ms(quantile(&errors.distance, 990)),
            ms(quantile(&errors.half_width, 500)),
            errors.unmeasured
        );
    }
}

/// Every cause and face that a server of the draw can show, with a failed request.
const KINDS: &[&str] = &[
    "app_deadline",
    "background",
    "cold_start",
    "crash",
    "dependency_closed_first",
    "double_shutdown",
    "early_close/idle_close",
    "early_close/in_flight_cut",
    "early_close/refused",
    "forced_exit",
    "keepalive_race",
    "liveness_kill",
    "long_stream_cut",
    "no_endpoints",
    "node_drain",
    "oom_kill",
    "prestop_overrun",
    "ready_too_early",
    "sidecar_first",
    "sigkill_overrun/keep_alive_held",
    "sigkill_overrun/long_request",
    "stale_route",
    "unforwarded_signal/half_forwarded",
    "unforwarded_signal/swallowed",
];

/// Fewer pods than this that show a kind behind a front end say little of it.
const ENOUGH: u64 = 10;

fn coverage(score: &Score, text: &mut String) {
    *text += "\n| true cause | pods hit, l4 | http |\n|---|---|---|\n";
    let mut causes: Vec<&String> = score.bursts.keys().map(|(cause, _)| cause).collect();
    causes.dedup();
    for cause in causes {
        let n = |front_end: &str| {
            let key = (cause.clone(), front_end.to_owned());
            score.bursts.get(&key).copied().unwrap_or(0)
        };
        let _ = writeln!(text, "| `{cause}` | {} | {} |", n("l4"), n("http"));
    }
    let pods = |cause: &str, front_end: &str| {
        let key = (cause.to_owned(), front_end.to_owned());
        score.bursts.get(&key).copied().unwrap_or(0)
    };
    let rare: Vec<String> = KINDS
        .iter()
        .flat_map(|cause| ["l4", "http"].map(|front| (*cause, front, pods(cause, front))))
        .filter(|(.., n)| *n < ENOUGH)
        .map(|(cause, front, n)| format!("`{cause}` behind {front} {n}"))
        .collect();
    if !rare.is_empty() {
        let _ = writeln!(text, "\nFewer than {ENOUGH}: {}.", rare.join(", "));
    }
}

/// Every kind of wrong verdict with the cases that show it, the most frequent first.
pub(crate) fn findings(score: &Score, keep: &str) -> String {
    let mut text = String::new();
    let total = |examples: &[Example]| examples.iter().map(|e| e.requests).sum::<u64>();
    let mut wrong: Vec<_> = score.wrong.iter().collect();
    wrong.sort_by_key(|(_, examples)| std::cmp::Reverse(total(examples)));
    for ((cause, said), examples) in wrong {
        let _ = writeln!(
            text,
            "\n### {cause} judged {said}: {} requests, {} runs",
            total(examples),
            examples.len()
        );
        examples_of(examples, keep, &mut text);
    }
    for (why, examples) in &score.undecided_examples {
        let _ = writeln!(text, "\n### left out ({why}): {} requests", total(examples));
        examples_of(examples, keep, &mut text);
    }
    for (what, errors) in &score.times.0 {
        if errors.outside.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "\n### {what} outside its bounds: {}",
            errors.outside.len()
        );
        for (case, pod, ns) in errors.outside.iter().take(6) {
            let _ = writeln!(text, "- {case} {pod}: {:.0} ms", *ns as f64 / 1e6);
        }
    }
    text
}

fn examples_of(examples: &[Example], keep: &str, text: &mut String) {
    let mut examples: Vec<&Example> = examples.iter().collect();
    examples.sort_by_key(|e| std::cmp::Reverse(e.requests));
    for e in examples.iter().take(6) {
        let _ = writeln!(
            text,
            "- {} requests, confidence {:.2}: `rollscope analyze {keep}/{}/out/recording.rollscope`\n  {}\n  {}",
            e.requests, e.confidence, e.case, e.words, e.sample
        );
    }
}
