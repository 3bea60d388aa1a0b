//! Durations, rates and statuses as they are written in a scenario.

use std::time::Duration;

use crate::keys::MAX_RATE;
use crate::model::{DurationRange, StatusRange};

/// The longest duration in a scenario.
const LONGEST: Duration = Duration::from_secs(168 * 3600);

/// Units of a duration in nanoseconds, longest first.
const UNITS: &[(&str, u64)] = &[
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// A duration as Go and Kubernetes write it (`500ms`, `1m30s`, `1.5h`). `None` for anything else, for a negative one,
/// and for one over 168 hours.
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(number_end);
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let unit = if matches!(unit, "µs" | "μs") {
            "us"
        } else {
            unit
        };
        let scale = UNITS.iter().find(|(name, _)| *name == unit)?.1;
        nanos = nanos.checked_add(scaled(number, scale)?)?;
        rest = tail;
    }
    let total = Duration::from_nanos(u64::try_from(nanos).ok()?);
    (!text.is_empty() && total <= LONGEST).then_some(total)
}

/// `number` (digits with at most one point in or after them) times `scale`, cut to whole units of one.
fn scaled(number: &str, scale: u64) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || number.len() > 30 {
        return None;
    }
    let mut total = whole.parse::<u128>().ok()?.checked_mul(u128::from(scale))?;
    let mut place = u128::from(scale);
    for digit in fraction.bytes() {
        place /= 10;
        total += place * u128::from(digit - b'0');
    }
    Some(total)
}

/// A duration in its shortest form, which [`duration()`] reads back.
pub fn write_duration(duration: Duration) -> String {
    let mut nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, scale) in UNITS {
        let count = nanos / u128::from(*scale);
        nanos %= u128::from(*scale);
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    text
}

/// A range `500ms..2s`, or one duration for both ends.
pub(crate) fn duration_range(text: &str) -> Option<DurationRange> {
    let (min, max) = text.split_once("..").unwrap_or((text, text));
    let (min, max) = (duration(min.trim())?, duration(max.trim())?);
    (min <= max).then_some(DurationRange { min, max })
}

/// A rate `200/s`, `30/m` or `10/h` in requests per second: over 0, at most [`MAX_RATE`].
pub(crate) fn rate(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once('/')?;
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let plain = |c: char| c.is_ascii_digit() || c == '.';
    if !number.starts_with(|c: char| c.is_ascii_digit()) || !number.chars().all(plain) {
        return None;
    }
    let per_second = number.parse::<f64>().ok()? / seconds;
    (per_second > 0.0 && per_second <= MAX_RATE).then_some(per_second)
}

/// A rate in requests per second as it would be written in a scenario.
pub(crate) fn write_rate(per_second: f64) -> String {
    format!("{per_second}/s")
}

/// A status `200` or a class `2xx`.
pub(crate) fn statuses(text: &str) -> Option<StatusRange> {
    let (from, to) = match text.strip_suffix("xx") {
        Some(class) => {
            let class = class.parse::<u16>().ok().filter(|c| (1..=5).contains(c))?;
            (class * 100, class * 100 + 99)
        }
        None => {
            let status = text.parse::<u16>().ok()?;
            (status, status)
        }
    };
    ((100..=599).contains(&from) && !text.starts_with('+')).then_some(StatusRange { from, to })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, nanos) in [
            ("500ms", 500_000_000),
            ("1m30s", 90_000_000_000),
            ("2h", 7_200_000_000_000),
            ("1.5s", 1_500_000_000),
            ("0.25ms", 250_000),
            ("1h0m0.5s", 3_600_500_000_000),
            ("7us", 7_000),
            ("7µs", 7_000),
            ("9ns", 9),
            ("0s", 0),
            ("168h", 604_800_000_000_000),
        ] {
            assert_eq!(duration(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for text in [
            "",
            "5",
            "s",
            "5 s",
            "-5s",
            "+5s",
            "5sec",
            "5S",
            "1.2.3s",
            ".s",
            ".5s",
            "5s3",
            "1d",
            "169h",
            "5s ",
            "99999999999999999999999999999999999999999999h",
            "1e3s",
            "٣s",
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_written_duration_is_read_back() {
        for (nanos, text) in [
            (0, "0s"),
            (90_000_000_000, "1m30s"),
            (1_500_000_000, "1s500ms"),
            (1_001, "1us1ns"),
        ] {
            let value = Duration::from_nanos(nanos);
            assert_eq!(write_duration(value), text);
            assert_eq!(duration(text), Some(value));
        }
    }

    #[test]
    fn rates_have_a_unit_of_time_and_a_bound() {
        for (text, per_second) in [
            ("200/s", 200.0),
            ("30/m", 0.5),
            ("1.5/s", 1.5),
            ("36/h", 0.01),
            ("1000000/s", 1e6),
        ] {
            assert_eq!(rate(text), Some(per_second), "{text}");
        }
        for text in [
            "200",
            "200/",
            "/s",
            "200/d",
            "0/s",
            "-1/s",
            "1000001/s",
            "1e3/s",
            "inf/s",
            "nan/s",
            "2 /s",
            "+2/s",
            ".5/s",
            "1.2.3/s",
        ] {
            assert_eq!(rate(text), None, "{text}");
        }
    }

    #[test]
    fn statuses_are_numbers_or_classes() {
        assert_eq!(statuses("204"), Some(StatusRange { from: 204, to: 204 }));
        assert_eq!(statuses("2xx"), Some(StatusRange { from: 200, to: 299 }));
        for text in [
            "99", "600", "6xx", "0xx", "xx", "2XX", "2x", "+200", "20", "abc", "65736",
        ] {
            assert_eq!(statuses(text), None, "{text}");
        }
    }

    #[test]
    fn a_range_may_be_one_duration() {
        let one = Duration::from_secs(1);
        assert_eq!(
            duration_range("1s"),
            Some(DurationRange { min: one, max: one })
        );
        assert_eq!(duration_range("2s..1s"), None);
        assert_eq!(duration_range("1s.."), None);
    }
}
