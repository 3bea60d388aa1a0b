//! Counting server-sent events as their bytes come (WHATWG HTML, 9.2.5).

/// Counts blocks that a blank line ends, whatever the line ends are: events, and comments that keep a stream alive.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Events {
    /// Something stands in the block.
    in_block: bool,
    /// Something stands in the line.
    in_line: bool,
    /// The last byte was a carriage return: a line feed after it ends no further line.
    after_return: bool,
}

impl Events {
    /// How many blocks these bytes complete.
    pub(super) fn completed_by(&mut self, bytes: &[u8]) -> u64 {
        let mut completed = 0;
        for byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    completed += u64::from(self.end_of_line());
                }
                _ => {
                    (self.in_block, self.in_line) = (true, true);
                    self.after_return = false;
                }
            }
        }
        completed
    }

    /// Whether the end of the line ends a block.
    const fn end_of_line(&mut self) -> bool {
        if self.in_line {
            self.in_line = false;
            return false;
        }
        let complete = self.in_block;
        self.in_block = false;
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_end_with_a_blank_line_of_any_kind() {
        for text in [
            "data: a\n\ndata: b\n\n",
            "data: a\r\n\r\ndata: b\r\n\r\n",
            "data: a\r\rdata: b\r\r",
            ": alive\n\n\n\ndata: b\ndata: c\n\ndata: unfinished\n",
        ] {
            for piece in 1..=text.len() {
                let mut events = Events::default();
                let pieces = text.as_bytes().chunks(piece);
                let count: u64 = pieces.map(|p| events.completed_by(p)).sum();
                assert_eq!(count, 2, "{text:?} in pieces of {piece}");
            }
        }
    }
}
