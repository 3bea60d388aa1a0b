//! `checksums.json`: CRC-32 of every file of a recording that has ended, so that damage and changes are noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crc32fast::Hasher;

use super::WriteError;
use crate::{Loss, RunRecord, in_parallel};

/// The file itself.
pub(crate) const FILE: &str = "checksums.json";

/// Checksums by file name.
type Checksums = BTreeMap<String, u32>;

/// Bytes that are summed up together.
const PIECE: u64 = 1 << 24;

/// The CRC-32 of a file of any size.
fn sum(path: &Path) -> io::Result<u32> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let pieces: Vec<u64> = (0..length.max(1)).step_by(PIECE as usize).collect();
    let mut sum = Hasher::new();
    for piece in in_parallel(&pieces, |from| piece(&file, *from)) {
        sum.combine(&piece?);
    }
    Ok(sum.finalize())
}

/// What is read of a file from `from` on, at most a piece.
fn piece(file: &File, from: u64) -> io::Result<Hasher> {
    let mut hasher = Hasher::new();
    let mut bytes = vec![0; 1 << 16];
    let (mut at, end) = (from, from + PIECE);
    while at < end {
        let most = bytes.len().min((end - at) as usize);
        match file.read_at(&mut bytes[..most], at) {
            Ok(0) => break,
            Ok(read) => {
                hasher.update(&bytes[..read]);
                at += read as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(hasher)
}

/// Sums up every file that is in `dir` now and writes the list.
pub(crate) fn write(dir: &Path) -> Result<(), WriteError> {
    let io = |source| WriteError::Io {
        path: dir.to_owned(),
        source,
    };
    let mut sums = Checksums::new();
    for entry in std::fs::read_dir(dir).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else {
            continue;
        };
        if name != FILE {
            sums.insert(name.to_owned(), sum(&path).map_err(io)?);
        }
    }
    super::writer::write_json(&dir.join(FILE), &sums)
}

/// Holds the files of `dir` against the list and returns those that are damaged: they are not to be decoded. A recording
/// whose run has ended must have a list; a run that was killed left none, and only its row streams have checksums of
/// their own.
pub(crate) fn check(dir: &Path, run: &RunRecord, losses: &mut Vec<Loss>) -> BTreeSet<String> {
    let mut damaged = BTreeSet::new();
    let mut lose = |file: &str, what: &str| {
        losses.push(Loss {
            file: file.to_owned(),
            what: what.to_owned(),
        });
    };
    let sums: Option<Checksums> = std::fs::read(dir.join(FILE))
        .ok()
        .and_then(|b| serde_json::from_slice(&b).ok());
    let Some(sums) = sums else {
        if run.end.is_some() {
            lose(
                FILE,
                "it is missing or cannot be read: damage to the other files would not be noticed",
            );
        }
        return damaged;
    };
    for (name, sum) in &sums {
        match self::sum(&dir.join(name)) {
            Ok(found) if found == *sum => {}
            Ok(_) => {
                damaged.insert(name.clone());
                lose(
                    name,
                    "its checksum is wrong: it was damaged or changed after the run",
                );
            }
            Err(_) => lose(name, "it is missing"),
        }
    }
    if run.end.is_some() && !sums.contains_key("run.json") {
        lose(
            "run.json",
            "it has no checksum: changes would not be noticed",
        );
    }
    damaged
}
