//! Lines that could not be read: counted, and the first ones kept.

use rollscope_records::redact;

use crate::LineError;

/// How many of them are kept.
const KEPT: usize = 5;

/// How much of such a line is kept, in characters.
const EXCERPT: usize = 160;

/// Lines that are not in the format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Malformed {
    /// How many there were.
    pub count: u64,
    /// The first ones.
    pub examples: Vec<Example>,
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Its number in its file, from 1.
    pub number: u64,
    /// Why.
    pub reason: String,
    /// Its beginning, without control characters and recognisable secrets.
    pub excerpt: String,
}

impl Malformed {
    /// Counts a line.
    pub fn count(&mut self, number: u64, line: &str, error: &LineError) {
        self.count += 1;
        if self.examples.len() < KEPT {
            self.examples.push(Example {
                number,
                reason: harmless(&error.to_string(), 2 * EXCERPT),
                excerpt: harmless(line, EXCERPT),
            });
        }
    }

    /// Adds those of another part of the same log.
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        let room = KEPT.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
    }

    /// In words: one sentence for the count, and one for each example.
    pub fn words(&self, log: &str) -> Vec<String> {
        if self.count == 0 {
            return Vec::new();
        }
        let lines = if self.count == 1 {
            "line is"
        } else {
            "lines are"
        };
        let mut words = vec![format!(
            "{log}: {} {lines} not in the format and {} left out",
            self.count,
            if self.count == 1 { "was" } else { "were" }
        )];
        words.extend(
            self.examples
                .iter()
                .map(|e| format!("{log}, line {}: {}: {}", e.number, e.reason, e.excerpt)),
        );
        words
    }
}

fn harmless(text: &str, most: usize) -> String {
    let beginning: String = text.chars().take(4 * EXCERPT).collect();
    let clean = redact::line(&beginning);
    let shown = clean.chars().take(most);
    let mut shown: String = shown
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_the_first_are_kept_without_secrets() {
        let mut malformed = Malformed::default();
        for number in 1..=100 {
            malformed.count(
                number,
                "a\u{7}b password=hunter2hunter2",
                &LineError::NoMatch,
            );
        }
        assert_eq!((malformed.count, malformed.examples.len()), (100, KEPT));
        let first = &malformed.examples[0];
        assert_eq!(first.number, 1);
        assert!(!first.excerpt.contains("hunter2") && !first.excerpt.contains('\u{7}'));
        assert!(malformed.words("access.log")[0].contains("100 lines"));
    }
}
