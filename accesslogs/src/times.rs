//! Times as access logs write them.

use crate::entry::{Marks, Stamp};
use crate::error::LineError;

const SECOND: i64 = 1_000_000_000;

/// A moment in ns since the Unix epoch, and its resolution in ns.
type Moment = (i64, i64);

/// Reads a time in whichever of the known notations it is: `10/Oct/2000:13:55:36 -0700`, `06/Feb/2009:12:14:14.655` (in
/// the zone of `zone_seconds` east of UTC), `2016-04-15T20:17:00.310Z`, `1466713020.310`, `1466713020310` (ms).
pub(crate) fn stamp(text: &str, marks: Marks, zone_seconds: i32) -> Result<Stamp, LineError> {
    let bytes = text.as_bytes();
    let read = match bytes {
        [_, _, b'/', ..] | [_, b'/', ..] => calendar(text, zone_seconds),
        [_, _, _, _, b'-', ..] => iso(text, zone_seconds),
        _ => epoch(text),
    };
    let expected =
        "a time such as 10/Oct/2000:13:55:36 -0700, 2016-04-15T20:17:00.310Z or 1466713020.310";
    let (unix_nanos, resolution_nanos) =
        read.ok_or_else(|| LineError::value("the time", text, expected))?;
    Ok(Stamp {
        unix_nanos,
        resolution_nanos,
        marks,
    })
}

/// `10/Oct/2000:13:55:36 -0700`, with or without a fraction and a zone.
fn calendar(text: &str, zone_seconds: i32) -> Option<Moment> {
    let (day, rest) = text.split_once('/')?;
    let (month, rest) = rest.split_once('/')?;
    let (year, rest) = rest.split_once(':')?;
    let month = month_of(month.as_bytes())?;
    of_day(number(year)?, month, number(day)?, rest, zone_seconds)
}

fn month_of(name: &[u8]) -> Option<i64> {
    let months = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let at = months.iter().position(|m| m.as_slice() == name)?;
    i64::try_from(at + 1).ok()
}

/// `2016-04-15T20:17:00.310Z`, with `T` or a blank, with a zone or without.
fn iso(text: &str, zone_seconds: i32) -> Option<Moment> {
    let date = text.get(..10)?;
    let rest = text.get(10..)?.strip_prefix(['T', ' '])?;
    let (year, month, day) = (date.get(..4)?, date.get(5..7)?, date.get(8..10)?);
    if date.as_bytes()[7] != b'-' {
        return None;
    }
    let (month, day) = (number(month)?, number(day)?);
    of_day(number(year)?, month, day, rest, zone_seconds)
}

/// `13:55:36.123 -0700` of a day.
fn of_day(year: i64, month: i64, day: i64, time: &str, zone_seconds: i32) -> Option<Moment> {
    let clock = time.get(..8)?;
    let (hour, minute, second) = (clock.get(..2)?, clock.get(3..5)?, clock.get(6..8)?);
    let separators = (clock.as_bytes()[2], clock.as_bytes()[5]);
    let (hour, minute, second) = (number(hour)?, number(minute)?, number(second)?);
    let real = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..=9999).contains(&year)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !real || separators != (b':', b':') {
        return None;
    }
    let (fraction, resolution, zone) = fraction(&time[8..])?;
    let zone = match zone.trim_start() {
        "" => i64::from(zone_seconds),
        written => zone_of(written)?,
    };
    let days = days_from_civil(year, month, day);
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - zone;
    Some((
        seconds.checked_mul(SECOND)?.checked_add(fraction)?,
        resolution,
    ))
}

/// `.310Z` -> 310 ms, its resolution and what follows.
fn fraction(text: &str) -> Option<(i64, i64, &str)> {
    let Some(digits) = text.strip_prefix(['.', ',']) else {
        return Some((0, SECOND, text));
    };
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = digits.split_at(length);
    let kept = &digits[..length.min(9)];
    let resolution = 10_i64.pow(9 - u32::try_from(kept.len()).ok()?);
    Some((number(kept)? * resolution, resolution, rest))
}

/// Seconds east of UTC of `Z`, `+0200` or `-07:00`.
fn zone_of(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z" | "UTC") {
        return Some(0);
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = text.get(1..)?;
    let (hours, minutes) = match digits.len() {
        4 => (digits.get(..2)?, digits.get(2..)?),
        5 if digits.as_bytes()[2] == b':' => (digits.get(..2)?, digits.get(3..)?),
        _ => return None,
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours <= 18 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// `1466713020`, `1466713020.310`, or milliseconds.
fn epoch(text: &str) -> Option<Moment> {
    let (whole, rest) = match text.find('.') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let (fraction, resolution, rest) = fraction(rest)?;
    let whole = number(whole)?;
    if !rest.is_empty() {
        return None;
    }
    match whole {
        ..100_000_000_000 => Some((whole * SECOND + fraction, resolution)),
        100_000_000_000..100_000_000_000_000 => Some((whole.checked_mul(1_000_000)?, 1_000_000)),
        _ => None,
    }
}

/// A length in seconds, as `0.137`; -1 and `-` are none.
pub(crate) fn seconds(text: &str) -> Option<i64> {
    let (whole, rest) = match text.find('.') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let (fraction, _, rest) = fraction(rest)?;
    let whole = number(whole)?;
    let nanos = whole.checked_mul(SECOND)?.checked_add(fraction)?;
    rest.is_empty().then_some(nanos)
}

/// A length in milliseconds; -1 and `-` are none.
pub(crate) fn millis(text: &str) -> Option<i64> {
    let (whole, rest) = match text.find('.') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let (fraction, _, rest) = fraction(rest)?;
    let nanos = number(whole)?.checked_mul(1_000_000)?;
    rest.is_empty()
        .then_some(nanos.saturating_add(fraction / 1000))
}

/// A number of decimal digits alone.
fn number(text: &str) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.bytes().try_fold(0_i64, |n, b| {
        b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0'))
    })
}

/// Days since 1970-01-01 of a date of the Gregorian calendar.
const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn read(text: &str) -> (i64, i64) {
        let stamp = stamp(text, Marks::End, 3600).unwrap();
        (stamp.unix_nanos, stamp.resolution_nanos)
    }

    #[test]
    fn one_moment_in_every_notation() {
        // date -d '2026-12-01 02:47:38.250 UTC' +%s.%N
        let moment = 1_796_093_258_250_000_000;
        let whole = moment - 250_000_000;
        assert_eq!(read("01/Dec/2026:02:47:38 +0000"), (whole, SECOND));
        assert_eq!(read("30/Nov/2026:19:47:38 -0700"), (whole, SECOND));
        assert_eq!(read("01/Dec/2026:03:47:38.250"), (moment, 1_000_000));
        assert_eq!(read("2026-12-01T02:47:38.250Z"), (moment, 1_000_000));
        assert_eq!(read("2026-12-01T04:47:38.250000+02:00"), (moment, 1000));
        assert_eq!(read("1796093258.250"), (moment, 1_000_000));
        assert_eq!(read("1796093258250"), (moment, 1_000_000));
    }

    #[test]
    fn a_leap_day_and_the_turn_of_a_century_are_on_their_days() {
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(days_from_civil(2000, 2, 29), 11_016);
        assert_eq!(days_from_civil(2000, 3, 1), 11_017);
        assert_eq!(
            days_from_civil(2100, 3, 1) - days_from_civil(2100, 2, 28),
            1
        );
    }

    #[test]
    fn what_is_no_time_is_refused_with_what_was_expected() {
        for wrong in [
            "",
            "-",
            "yesterday",
            "40/Foo/2000:00:00:00 +0000",
            "2016-04-15T",
            "1/1/1:1",
        ] {
            let error = stamp(wrong, Marks::End, 0).unwrap_err().to_string();
            assert!(error.contains("expected a time"), "{wrong}: {error}");
        }
    }

    #[test]
    fn lengths_are_read_in_their_unit() {
        assert_eq!(seconds("0.137"), Some(137_000_000));
        assert_eq!(seconds("2"), Some(2 * SECOND));
        assert_eq!(millis("137"), Some(137_000_000));
        assert_eq!(millis("0.5"), Some(500_000));
        assert_eq!(
            (seconds("-"), millis("-1"), seconds("-1")),
            (None, None, None)
        );
    }
}
