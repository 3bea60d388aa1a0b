//! Following a log file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// A log of a balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramLog {
    /// The program.
    pub balancer: &'static str,
    /// The format of an access log, as the parsers name it; `None` for a log of errors.
    pub format: Option<String>,
}

/// A log file, read from where it was left.
#[derive(Debug)]
pub(super) struct LogTail {
    what: ProgramLog,
    path: PathBuf,
    offset: u64,
    /// The beginning of a line whose end is not written yet.
    rest: Vec<u8>,
}

impl LogTail {
    pub(super) const fn new(what: ProgramLog, path: PathBuf) -> Self {
        Self {
            what,
            path,
            offset: 0,
            rest: Vec::new(),
        }
    }

    pub(super) fn what(&self) -> ProgramLog {
        self.what.clone()
    }

    /// The lines that are whole by now.
    pub(super) fn read(&mut self) -> Vec<String> {
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.offset))?;
            file.read_to_end(&mut bytes)
        });
        // A file that is not there yet has no lines.
        let Ok(read) = read else {
            return Vec::new();
        };
        self.offset += read as u64;
        self.rest.append(&mut bytes);
        let whole = self
            .rest
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |i| i + 1);
        let lines = self.rest.drain(..whole).collect::<Vec<u8>>();
        let lines = String::from_utf8_lossy(&lines);
        lines
            .lines()
            .filter(|l| !l.is_empty())
            .map(str::to_owned)
            .collect()
    }
}
