//! When messages came, against when they were expected.

use std::time::Duration;

use rollscope_records::RunOffset;

/// A silence is longer than this many cadences.
const SILENCE: i64 = 2;

/// The messages of one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heartbeat {
    cadence: i64,
    /// The last sign of life: the head of the response, or a message.
    alive: Option<RunOffset>,
    pub(super) messages: u64,
    pub(super) first: Option<RunOffset>,
    pub(super) last: Option<RunOffset>,
    pub(super) silences: u64,
    pub(super) longest_nanos: i64,
}

impl Heartbeat {
    /// Nothing has come yet; a message is expected this often.
    pub(super) fn new(cadence: Duration) -> Self {
        Self {
            cadence: i64::try_from(cadence.as_nanos()).unwrap_or(i64::MAX),
            alive: None,
            messages: 0,
            first: None,
            last: None,
            silences: 0,
            longest_nanos: 0,
        }
    }

    /// The stream is open.
    pub(super) const fn opened(&mut self, at: RunOffset) {
        self.alive = Some(at);
    }

    /// So many messages came.
    pub(super) fn came(&mut self, messages: u64, at: RunOffset) {
        if messages == 0 {
            return;
        }
        self.silent_until(at);
        self.messages += messages;
        self.first.get_or_insert(at);
        (self.last, self.alive) = (Some(at), Some(at));
    }

    /// It is over.
    pub(super) fn ended(&mut self, at: RunOffset) {
        self.silent_until(at);
    }

    fn silent_until(&mut self, at: RunOffset) {
        let silent = self.alive.map_or(0, |alive| at.nanos_since(alive));
        self.longest_nanos = self.longest_nanos.max(silent);
        self.silences += u64::from(silent > self.cadence.saturating_mul(SILENCE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silences_are_those_in_which_a_message_was_missed() {
        let mut beat = Heartbeat::new(Duration::from_millis(100));
        let at = RunOffset::from_millis;
        beat.opened(at(0));
        for ms in [100, 290, 510, 600] {
            beat.came(1, at(ms));
        }
        beat.came(0, at(700));
        beat.ended(at(650));
        assert_eq!((beat.messages, beat.silences), (4, 1));
        assert_eq!(beat.longest_nanos, 220_000_000);
        assert_eq!((beat.first, beat.last), (Some(at(100)), Some(at(600))));
    }

    #[test]
    fn what_was_never_opened_was_never_silent() {
        let mut beat = Heartbeat::new(Duration::from_millis(100));
        beat.ended(RunOffset::from_millis(60_000));
        assert_eq!((beat.silences, beat.longest_nanos), (0, 0));
    }
}
