//! Lines of a streamed body, bounded in length, with the time at which they came.

use http_body_util::BodyExt;
use kube::client::Body;
use rollscope_records::{RunClock, RunOffset};

/// Reads a body line by line. Cancelling a read loses nothing.
pub(crate) struct Lines {
    body: Body,
    clock: RunClock,
    longest: usize,
    buffer: Vec<u8>,
    /// Where the next line begins in `buffer`.
    begin: usize,
    /// Up to where `buffer` was searched for a line's end.
    searched: usize,
    /// Bytes of the current line that were thrown away because it is too long.
    cut: usize,
    /// When the last bytes came.
    received: RunOffset,
}

/// What comes next in a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A line, without its end.
    Line {
        /// When its last byte came.
        at: RunOffset,
        /// Its bytes, at most as many as were allowed.
        text: Vec<u8>,
        /// How many bytes more it had.
        cut: usize,
    },
    /// The body came to its proper end. `rest` is a last line without an end; empty when there is none.
    End {
        /// The last line's bytes.
        rest: Vec<u8>,
    },
    /// The connection broke in the middle of the body.
    Broken(String),
}

impl Lines {
    pub(crate) fn new(body: Body, clock: RunClock, longest: usize) -> Self {
        Self {
            body,
            clock,
            longest,
            buffer: Vec::new(),
            begin: 0,
            searched: 0,
            cut: 0,
            received: clock.now(),
        }
    }

    /// When bytes came last (at first: when the answer's head was there).
    pub(crate) const fn last_received(&self) -> RunOffset {
        self.received
    }

    pub(crate) async fn next(&mut self) -> Next {
        loop {
            if let Some(line) = self.take_line() {
                return line;
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.received = self.clock.now();
                        self.append(&data);
                    }
                }
                Some(Err(error)) => return Next::Broken(error.to_string()),
                None => {
                    let rest = self.buffer.split_off(self.begin);
                    self.clear();
                    return Next::End { rest };
                }
            }
        }
    }

    fn take_line(&mut self) -> Option<Next> {
        let found = self.buffer[self.searched..]
            .iter()
            .position(|b| *b == b'\n');
        let Some(offset) = found else {
            self.searched = self.buffer.len();
            self.drop_excess();
            return None;
        };
        let end = self.searched + offset;
        let mut text = self.buffer[self.begin..end].to_vec();
        let excess = text.len().saturating_sub(self.longest);
        text.truncate(self.longest);
        let cut = std::mem::take(&mut self.cut) + excess;
        (self.begin, self.searched) = (end + 1, end + 1);
        if text.last() == Some(&b'\r') {
            text.pop();
        }
        Some(Next::Line {
            at: self.received,
            text,
            cut,
        })
    }

    /// Keeps a line that has no end yet within bounds.
    fn drop_excess(&mut self) {
        let bound = self.begin + self.longest;
        if self.buffer.len() > bound {
            self.cut += self.buffer.len() - bound;
            self.buffer.truncate(bound);
            self.searched = bound;
        }
    }

    fn append(&mut self, data: &[u8]) {
        if self.begin > 0 {
            self.buffer.drain(..self.begin);
            self.searched -= self.begin;
            self.begin = 0;
        }
        self.buffer.extend_from_slice(data);
    }

    fn clear(&mut self) {
        self.buffer.clear();
        (self.begin, self.searched, self.cut) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], longest: usize) -> Lines {
        Lines::new(Body::from(text.to_vec()), RunClock::start(), longest)
    }

    async fn all(mut lines: Lines) -> (Vec<(String, usize)>, String) {
        let mut found = Vec::new();
        loop {
            match lines.next().await {
                Next::Line { text, cut, .. } => {
                    found.push((String::from_utf8_lossy(&text).into_owned(), cut));
                }
                Next::End { rest } => {
                    return (found, String::from_utf8_lossy(&rest).into_owned());
                }
                Next::Broken(why) => panic!("broken: {why}"),
            }
        }
    }

    #[tokio::test]
    async fn lines_come_whole_and_the_rest_is_told_apart() {
        let (found, rest) = all(lines(b"one\r\n\ntwo\nthr", 10)).await;
        assert_eq!(
            found,
            [("one".into(), 0), (String::new(), 0), ("two".into(), 0)]
        );
        assert_eq!(rest, "thr");
    }

    #[tokio::test]
    async fn a_line_over_the_bound_is_cut_and_says_by_how_much() {
        let (found, rest) = all(lines(b"0123456789\nab\n", 4)).await;
        assert_eq!(found, [("0123".into(), 6), ("ab".into(), 0)]);
        assert_eq!(rest, "");
    }
}
