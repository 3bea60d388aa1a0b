//! Files in blocks of whole lines.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::LogImportError;

/// How much is read at once.
const BLOCK: usize = 1 << 20;

/// A longer line is no line of a log.
const LONGEST_LINE: usize = 16 << 20;

/// Whole lines.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) bytes: Vec<u8>,
    /// Number of the first line in its file, from 1.
    pub(crate) first_line: u64,
}

/// Hands the blocks of a file to `take` until that wants no more. A compressed file that is cut ends with its last
/// whole block; whether it was.
pub(crate) fn each(
    path: &Path,
    mut take: impl FnMut(Block) -> bool,
) -> Result<bool, LogImportError> {
    let failed = |source| LogImportError::Read {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    // What is piped in can be read only once.
    let mut file = BufReader::with_capacity(1 << 18, file);
    let compressed = file.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
    let mut input: Box<dyn Read> = match compressed {
        true => Box::new(MultiGzDecoder::new(file)),
        false => Box::new(file),
    };
    let mut rest = Vec::new();
    let mut line = 1;
    loop {
        let before = rest.len();
        rest.resize(before + BLOCK, 0);
        let (read, cut) = match fill(&mut input, &mut rest[before..]) {
            Ok(read) => (read, false),
            Err((read, error)) if compressed && error.kind() == io::ErrorKind::UnexpectedEof => {
                (read, true)
            }
            Err((_, source)) => return Err(failed(source)),
        };
        rest.truncate(before + read);
        let over = read < BLOCK;
        let whole = match rest.iter().rposition(|b| *b == b'\n') {
            _ if over => rest.len(),
            Some(last) => last + 1,
            None if rest.len() > LONGEST_LINE => {
                let why = format!(
                    "a line of more than {} MiB: is it a text?",
                    LONGEST_LINE >> 20
                );
                return Err(failed(io::Error::other(why)));
            }
            None => continue,
        };
        let bytes: Vec<u8> = rest.drain(..whole).collect();
        let lines = bytes.iter().filter(|b| **b == b'\n').count() as u64;
        let goes_on = bytes.is_empty()
            || take(Block {
                bytes,
                first_line: line,
            });
        line += lines;
        if over || !goes_on {
            return Ok(cut);
        }
    }
}

/// Reads until the buffer is full or the input is over; with an error, how much was read before it.
fn fill(input: &mut dyn Read, buffer: &mut [u8]) -> Result<usize, (usize, io::Error)> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((filled, error)),
        }
    }
    Ok(filled)
}
