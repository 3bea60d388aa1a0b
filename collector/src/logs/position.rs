//! How far a container's log was read, so that a new stream can go on where the last one broke.

use jiff::Timestamp;

/// The last line's runtime timestamp. `sinceTime` has a resolution of a second, so a resumed stream repeats lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Position {
    last: Option<Timestamp>,
    /// Lines with that timestamp.
    lines_at_last: u32,
    /// Of these, how many the current stream has repeated so far.
    repeated: u32,
}

impl Position {
    /// The second from which a new stream must start; `None` from the beginning.
    pub(super) fn since(&self) -> Option<Timestamp> {
        let last = self.last?;
        Timestamp::from_second(last.as_second()).ok()
    }

    /// A new stream begins.
    pub(super) const fn restart(&mut self) {
        self.repeated = 0;
    }

    /// Takes in a line's timestamp. `false` when the line was read before.
    pub(super) fn advance(&mut self, at: Option<Timestamp>) -> bool {
        let Some(at) = at else {
            return true;
        };
        match self.last {
            Some(last) if at < last => false,
            Some(last) if at == last && self.repeated < self.lines_at_last => {
                self.repeated += 1;
                false
            }
            Some(last) if at == last => {
                self.lines_at_last += 1;
                self.repeated += 1;
                true
            }
            _ => {
                self.last = Some(at);
                (self.lines_at_last, self.repeated) = (1, 1);
                true
            }
        }
    }
}

/// Splits the runtime's timestamp off a line.
pub(super) fn split(line: &str) -> (Option<(&str, Timestamp)>, &str) {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    match first.parse() {
        Ok(at) => (Some((first, at)), rest),
        Err(_) => (None, line),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<Timestamp> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn a_resumed_stream_repeats_nothing_and_loses_nothing() {
        let mut position = Position::default();
        let (a, b) = (
            at("2026-11-30T11:07:16.1Z"),
            at("2026-11-30T11:07:16.100000001Z"),
        );
        assert!(position.advance(a));
        assert!(position.advance(b));
        assert!(position.advance(b), "a second line at the same time");
        position.restart();
        let again: Vec<bool> = [a, b, b, b]
            .into_iter()
            .map(|t| position.advance(t))
            .collect();
        assert_eq!(again, [false, false, false, true]);
    }

    #[test]
    fn a_new_stream_starts_at_the_beginning_of_the_second_not_at_the_nearest_one() {
        let mut position = Position::default();
        assert!(position.advance(at("2026-11-30T11:07:16.9Z")));
        assert_eq!(position.since(), at("2026-11-30T11:07:16Z"));
    }

    #[test]
    fn the_timestamp_is_split_off_and_a_line_without_one_stays_whole() {
        let (stamp, rest) = split("2026-11-30T12:07:16.822674994+01:00 {\"ev\":\"start\"}");
        assert_eq!(
            stamp.unwrap().1,
            "2026-11-30T11:07:16.822674994Z".parse().unwrap()
        );
        assert_eq!(rest, "{\"ev\":\"start\"}");
        assert_eq!(
            split("unable to retrieve logs"),
            (None, "unable to retrieve logs")
        );
        assert_eq!(split("2026-11-30T11:07:16Z").1, "");
    }
}
