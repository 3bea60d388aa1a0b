//! Numbers in the sentences of a report.

/// A length of time for a sentence: `35 ms`, `2.9 s`, `30 s`.
pub(crate) fn span(nanos: i64) -> String {
    let ms = nanos as f64 / 1e6;
    if ms.abs() < 100.0 {
        return format!("{ms:.0} ms");
    }
    seconds(ms / 1e3)
}

fn seconds(s: f64) -> String {
    let text = if s.abs() < 10.0 {
        format!("{s:.2}")
    } else {
        format!("{s:.1}")
    };
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} s")
}

/// `1 request`, `12 requests`.
pub(crate) fn count(n: u64, noun: &str) -> String {
    if n == 1 {
        format!("1 {noun}")
    } else {
        format!("{n} {noun}s")
    }
}

/// Names in a sentence: `a`, `a and b`, `a, b and 3 more`.
pub(crate) fn names(all: &[String]) -> String {
    match all {
        [] => "no pod".to_owned(),
        [one] => one.clone(),
        [a, b] => format!("{a} and {b}"),
        [a, b, c] => format!("{a}, {b} and {c}"),
        [a, b, rest @ ..] => format!("{a}, {b} and {} more", rest.len()),
    }
}
