//! Ages as kubectl shows them.

use jiff::Timestamp;
use serde_json::Value;

use crate::controllers::parse_time;

/// The time since a Kubernetes timestamp, short; `<unknown>` for none.
pub(super) fn age(since: &Value, now: Timestamp) -> String {
    match parse_time(since) {
        Some(since) => human(now.duration_since(since).as_secs()),
        None => "<unknown>".to_owned(),
    }
}

fn human(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match seconds {
        ..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(hours / 24, "d", hours % 24, "h"),
        _ => format!("{}d", hours / 24),
    }
}

fn two(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    match small {
        0 => format!("{large}{large_unit}"),
        _ => format!("{large}{large_unit}{small}{small_unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        for (seconds, expected) in [
            (-3, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (3 * 3600, "3h"),
            (3 * 3600 + 60, "3h1m"),
            (9 * 3600, "9h"),
            (2 * 86_400 + 3600, "2d1h"),
            (20 * 86_400, "20d"),
        ] {
            assert_eq!(human(seconds), expected);
        }
    }
}
