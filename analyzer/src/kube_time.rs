//! Times as Kubernetes writes them.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

const SECOND: i64 = 1_000_000_000;

/// A written time: what it says, and how fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WrittenTime {
    /// ns since the Unix epoch.
    pub(crate) unix_nanos: i64,
    /// The true time lies in `[unix_nanos, unix_nanos + resolution)`, ns.
    pub(crate) resolution: i64,
}

impl WrittenTime {
    /// The time that lies `nanos` later.
    pub(crate) const fn plus_nanos(self, nanos: i64) -> Self {
        Self {
            unix_nanos: self.unix_nanos.saturating_add(nanos),
            resolution: self.resolution,
        }
    }
}

/// Reads RFC 3339. A time without a fraction has a resolution of one second, others of their last digit.
pub(crate) fn parse(text: &str) -> Option<WrittenTime> {
    let parsed = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    let unix_nanos = i64::try_from(parsed.unix_timestamp_nanos()).ok()?;
    let digits = text
        .split_once('.')
        .map_or(0, |(_, f)| f.bytes().take_while(u8::is_ascii_digit).count());
    let resolution = (0..digits.min(9)).fold(SECOND, |r, _| r / 10);
    Some(WrittenTime {
        unix_nanos,
        resolution,
    })
}

/// ns since the Unix epoch as RFC 3339 in UTC, to the millisecond.
pub(crate) fn rfc3339(unix_nanos: i64) -> String {
    let millis = unix_nanos.div_euclid(1_000_000);
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000)
        .ok()
        .and_then(|t| t.format(&Rfc3339).ok())
        .unwrap_or_else(|| "1970-01-01T00:00:00Z".to_owned())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_metav1_time_has_a_resolution_of_one_second() {
        let t = parse("2026-11-30T11:08:42Z").unwrap();
        assert_eq!(t.unix_nanos, 1_796_036_922 * SECOND);
        assert_eq!(t.resolution, SECOND);
    }

    #[test]
    fn a_micro_time_has_a_resolution_of_a_microsecond() {
        assert_eq!(
            parse("2026-11-30T11:08:42.123456Z").unwrap().resolution,
            1000
        );
    }

    #[test]
    fn what_is_no_time_is_none() {
        assert_eq!(parse("yesterday"), None);
    }

    #[test]
    fn a_wall_time_is_written_in_utc() {
        assert_eq!(
            rfc3339(1_796_036_922 * SECOND + 5_000_000),
            "2026-11-30T11:08:42.005Z"
        );
    }
}
