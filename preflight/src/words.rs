//! Lengths of time in words.

/// `5 s`, `1.11 s`, `300 ms`.
pub(crate) fn span(nanos: i64) -> String {
    if nanos.unsigned_abs() < 1_000_000_000 && nanos != 0 {
        return format!("{} ms", nanos / 1_000_000);
    }
    let hundredths = nanos / 10_000_000;
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    match rest {
        0 => format!("{whole} s"),
        rest if rest % 10 == 0 => format!("{whole}.{} s", rest / 10),
        rest => format!("{whole}.{rest:02} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short() {
        for (nanos, words) in [
            (0, "0 s"),
            (300_000_000, "300 ms"),
            (1_110_000_000, "1.11 s"),
            (1_500_000_000, "1.5 s"),
            (20_000_000_000, "20 s"),
        ] {
            assert_eq!(span(nanos), words);
        }
    }
}
