//! Finds GOAWAY in the bytes of an HTTP/2 connection (RFC 9113, 4.1 and 6.8), which HTTP itself keeps to itself.

/// Bytes of a frame's header.
const HEADER: usize = 9;
/// Bytes of a GOAWAY's fixed part: last stream and code.
const FIXED: usize = 8;
const GOAWAY: u8 = 7;

/// A GOAWAY that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Goaway {
    /// Streams over this were not looked at.
    pub(crate) last_stream: u32,
    /// Why.
    pub(crate) code: u32,
}

/// Follows the frames of a connection, however they are cut into reads.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// What came of a frame's header, and of a GOAWAY's fixed part after it.
    kept: Vec<u8>,
    /// Bytes of the current frame that are not looked at.
    skip: usize,
}

impl Frames {
    /// Takes in what was read. Returns the last GOAWAY in it.
    pub(crate) fn read(&mut self, mut bytes: &[u8]) -> Option<Goaway> {
        let mut found = None;
        loop {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            if bytes.is_empty() {
                return found;
            }
            let wanted = if self.kept.len() < HEADER {
                HEADER
            } else {
                HEADER + FIXED
            };
            let taken = (wanted - self.kept.len()).min(bytes.len());
            self.kept.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            found = self.frame().or(found);
        }
    }

    /// What there is to know once a header, or a GOAWAY's fixed part, is complete.
    fn frame(&mut self) -> Option<Goaway> {
        let number = |bytes: &[u8]| bytes.iter().fold(0, |n, b| n << 8 | u32::from(*b));
        match self.kept.as_slice() {
            [a, b, c, GOAWAY, _, _, _, _, _, rest @ ..] => {
                let length = number(&[*a, *b, *c]) as usize;
                if rest.len() < FIXED && length >= FIXED {
                    return None;
                }
                let goaway = (length >= FIXED).then(|| Goaway {
                    last_stream: number(&rest[..4]) & 0x7fff_ffff,
                    code: number(&rest[4..8]),
                });
                self.skip = length - rest.len();
                self.kept.clear();
                goaway
            }
            [a, b, c, _, _, _, _, _, _, ..] => {
                self.skip = number(&[*a, *b, *c]) as usize;
                self.kept.clear();
                None
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, payload.len() as u8, kind, 0, 0, 0, 0, 0];
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn goaway_is_found_wherever_reads_are_cut() {
        let payload = [0x80, 0, 0, 5, 0, 0, 0, 11, b'b', b'y', b'e'];
        let bytes = [
            frame(4, &[]),
            frame(0, &[GOAWAY; 40]),
            frame(GOAWAY, &payload),
            frame(6, &[1; 8]),
        ]
        .concat();
        let expected = Goaway {
            last_stream: 5,
            code: 11,
        };
        for size in 1..bytes.len() {
            let mut frames = Frames::default();
            let found: Vec<_> = bytes.chunks(size).filter_map(|c| frames.read(c)).collect();
            assert_eq!(found, [expected], "reads of {size} bytes");
        }
    }

    #[test]
    fn a_goaway_that_is_too_short_is_passed_over() {
        let bytes = [frame(GOAWAY, &[0; 3]), frame(GOAWAY, &[0; 8])].concat();
        let nothing = Goaway {
            last_stream: 0,
            code: 0,
        };
        assert_eq!(Frames::default().read(&bytes), Some(nothing));
    }
}
