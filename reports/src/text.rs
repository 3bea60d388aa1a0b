//! Text and numbers as people read them, the same in every report.

use std::fmt::Write as _;

use rollscope_analyzer::{Ms, MsInterval, MsLength, VerdictOutcome};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// Characters of one field that a report shows at most; longer text is cut and says so.
pub(crate) const FIELD_CHARS: usize = 2_000;

/// `text` on one line, with every character that could act on a terminal or reorder what is read made visible
/// (`\u{1b}`), cut to `max` characters.
pub fn visible(text: &str, max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max * 4));
    for (n, c) in text.chars().enumerate() {
        if n == max {
            let _ = write!(
                out,
                "… (cut; {} characters)",
                count(text.chars().count() as u64)
            );
            break;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if acts_on_its_surroundings(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Control characters, line separators, bidirectional controls, and characters that are not seen at all.
fn acts_on_its_surroundings(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `text` as [`visible`] with the usual limit.
pub(crate) fn field(text: &str) -> String {
    visible(text, FIELD_CHARS)
}

/// A count with its thousands apart: `12,345`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, d) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(d);
    }
    out
}

/// `1 pod`, `3 pods`.
pub(crate) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A moment in run seconds: `12.345 s`.
pub(crate) fn moment(at: Ms) -> String {
    format!("{} s", seconds(at))
}

/// A moment in run seconds, without the unit: `12.345`.
pub(crate) fn seconds(at: Ms) -> String {
    format!("{:.3}", at.0.nanos() as f64 / 1e9)
}

/// An interval in run seconds: `12.345–13.100 s`, or a moment where both ends print the same.
pub(crate) fn interval(at: MsInterval) -> String {
    let (lo, hi) = (seconds(Ms(at.0.lo)), seconds(Ms(at.0.hi)));
    if lo == hi {
        format!("{lo} s")
    } else {
        format!("{lo}–{hi} s")
    }
}

/// A length of time in the unit that suits it: `0.412 ms`, `87.1 ms`, `870 ms`, `2.93 s`.
pub(crate) fn length(length: MsLength) -> String {
    millis(length.0 as f64 / 1e6)
}

/// Milliseconds in the unit that suits them.
pub(crate) fn millis(ms: f64) -> String {
    let size = ms.abs();
    if size == 0.0 {
        "0 ms".to_owned()
    } else if size < 10.0 {
        format!("{ms:.2} ms")
    } else if size < 100.0 {
        format!("{ms:.1} ms")
    } else if size < 1_000.0 {
        format!("{ms:.0} ms")
    } else if size < 100_000.0 {
        format!("{:.2} s", ms / 1e3)
    } else {
        format!("{:.0} s", ms / 1e3)
    }
}

/// A rate: `200/s`, `0.5/s`.
pub(crate) fn rate(per_second: f64) -> String {
    let text = format!("{per_second:.2}");
    format!("{}/s", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A wall-clock time in UTC, RFC 3339 with milliseconds; empty when it is out of range.
pub(crate) fn utc(unix_nanos: i128) -> String {
    let to_the_millisecond = unix_nanos.div_euclid(1_000_000) * 1_000_000;
    OffsetDateTime::from_unix_timestamp_nanos(to_the_millisecond)
        .ok()
        .and_then(|t| t.format(&Rfc3339).ok())
        .unwrap_or_default()
}

/// The verdict in words.
pub(crate) const fn verdict(outcome: VerdictOutcome) -> &'static str {
    match outcome {
        VerdictOutcome::Passed => "Passed",
        VerdictOutcome::GateFailed => "Gate failed",
        VerdictOutcome::Invalid => "Run invalid",
        VerdictOutcome::Interrupted => "Interrupted",
        VerdictOutcome::EnvironmentFailed => "Environment failed",
    }
}

/// A cause in words; a cause that is not known here (a newer analyzer's) stands for itself.
pub(crate) fn cause(name: &str) -> Option<&'static str> {
    Some(match name {
        "early_close" => "Closed before traffic stopped coming",
        "unforwarded_signal" => "The signal never reached the server",
        "sigkill_overrun" => "Killed before the drain was done",
        "prestop_overrun" => "preStop used up the grace period",
        "app_deadline" => "The application's own deadline cut requests",
        "forced_exit" => "The application forced its own exit",
        "dependency_closed_first" => "A dependency was closed before the drain",
        "keepalive_race" => "An idle connection was closed as it was used",
        "ready_too_early" => "Ready before it could serve",
        "no_endpoints" => "No endpoint was ready",
        "stale_route" => "Traffic went to a pod that was gone",
        "cold_start" => "Slow just after Ready",
        "long_stream_cut" => "A long stream was cut",
        "sidecar_first" => "The sidecar ended before the application",
        "oom_kill" => "Killed for its memory",
        "liveness_kill" => "Killed by its liveness probe",
        "crash" => "It crashed",
        "node_drain" => "Its node was drained",
        "double_shutdown" => "Two owners of the shutdown",
        "job_lost" => "Accepted jobs were never done",
        "job_duplicated" => "Jobs were done more than once",
        "lease_missing" => "Nobody takes a job from an instance that is gone",
        "background" => "Failures that have nothing to do with the rollout",
        "generator" => "The load generator's own fault",
        "several" => "Several causes fit",
        "indeterminate" => "The evidence does not decide",
        "unknown" => "No known cause fits",
        "drain_not_exercised" => "The drain was not exercised",
        "slow_termination" => "Slow to end",
        "no_prestop_no_delay" => "No delay before the listener closes",
        "budget_does_not_fit" => "The time budget does not fit",
        _ => return None,
    })
}

/// A stage of a shutdown in words.
pub(crate) fn stage_words(stage: &str) -> &str {
    match stage {
        "readiness_off" => "readiness off",
        "listener_closed" => "listener closed",
        "drained" => "in-flight drained",
        "jobs_returned" => "jobs returned",
        "pool_closed" => "pool closed",
        other => other,
    }
}

/// A cause and its face as they stand in a recording's reports: `early_close (refused)`.
pub(crate) fn cause_code(cause: &str, detail: Option<&str>) -> String {
    match detail {
        Some(detail) => format!("{} ({})", field(cause), field(detail)),
        None => field(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_thousands_apart() {
        let shown: Vec<_> = [0, 12, 999, 1_000, 12_345, 1_234_567].map(count).into();
        assert_eq!(shown, ["0", "12", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn escapes_and_reordering_marks_become_visible() {
        assert_eq!(
            visible("a\u{1b}[31mb\u{202e}c\u{2028}d\ne", 99),
            "a\\u{1b}[31mb\\u{202e}c\\u{2028}d\\ne"
        );
    }

    #[test]
    fn long_text_is_cut_and_says_so() {
        let shown = visible(&"x".repeat(1_048_576), 10);
        assert_eq!(shown, "xxxxxxxxxx… (cut; 1,048,576 characters)");
    }

    #[test]
    fn lengths_take_the_unit_that_suits_them() {
        let shown: Vec<_> = [0.0, 0.412, 87.12, 870.4, 2_930.0, -412.0]
            .map(millis)
            .into();
        assert_eq!(
            shown,
            ["0 ms", "0.41 ms", "87.1 ms", "870 ms", "2.93 s", "-412 ms"]
        );
    }

    #[test]
    fn wall_times_are_utc_with_milliseconds() {
        assert_eq!(utc(1_796_037_607_018_033_502), "2026-11-30T11:20:07.018Z");
        assert_eq!(utc(i128::MAX), "");
    }
}
