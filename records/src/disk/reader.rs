//! Reads a recording, also one that was cut.

use std::collections::BTreeSet;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::columns::Stored;
use super::{BALANCERS, JOBS, ReadError, STREAMS, checksums, parquet, stream};
use crate::{FORMAT_VERSION, Loss, Recording, RunRecord, Table, in_parallel};

impl Recording {
    /// Reads the recording in the folder `dir`. What is cut or damaged is left out and listed in `losses`.
    pub fn open(dir: &Path) -> Result<Self, ReadError> {
        let mut recording = Self::new(read_run(dir)?);
        let mut losses = Vec::new();
        let damaged = checksums::check(dir, &recording.run, &mut losses);
        recording.requests = rows(dir, &damaged, &mut losses)?;
        recording.connections = rows(dir, &damaged, &mut losses)?;
        if dir.join(STREAMS).exists() {
            recording.streams = lines(dir, STREAMS, &mut losses)?;
        }
        if dir.join(JOBS).exists() {
            recording.jobs = lines(dir, JOBS, &mut losses)?;
        }
        recording.watch = lines(dir, "watch.jsonl", &mut losses)?;
        recording.logs = lines(dir, "logs.jsonl", &mut losses)?;
        if dir.join(BALANCERS).exists() {
            recording.balancers = lines(dir, BALANCERS, &mut losses)?;
        }
        recording.stages = lines(dir, "stages.jsonl", &mut losses)?;
        recording.clocks = lines(dir, "clock.jsonl", &mut losses)?;
        recording.generator = generator(dir, &mut losses);
        recording.losses = losses;
        recording.sort();
        Ok(recording)
    }
}

fn read_run(dir: &Path) -> Result<RunRecord, ReadError> {
    let path = dir.join("run.json");
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && dir.exists() => {
            return Err(ReadError::NotARecording(dir.to_owned()));
        }
        Err(source) => return Err(ReadError::Io { path, source }),
    };
    let misread = |source| ReadError::Run {
        path: path.clone(),
        source,
    };
    let raw: Value = serde_json::from_slice(&bytes).map_err(misread)?;
    let found = raw["format_version"].as_u64().unwrap_or(0);
    if found == 0 {
        return Err(ReadError::NotARecording(dir.to_owned()));
    }
    if found > u64::from(FORMAT_VERSION) {
        return Err(ReadError::TooNew {
            path: dir.to_owned(),
            found,
            known: FORMAT_VERSION,
        });
    }
    serde_json::from_value(raw).map_err(misread)
}

/// The rows from the Parquet file if there is a good one, else from the stream.
fn rows<C: Stored>(
    dir: &Path,
    damaged: &BTreeSet<String>,
    losses: &mut Vec<Loss>,
) -> Result<Table<C>, ReadError> {
    let name = format!("{}.parquet", C::FILE);
    let path = dir.join(&name);
    if path.exists() {
        let read = if damaged.contains(&name) {
            Err(ReadError::Damaged { path })
        } else {
            // A damaged footer makes the decoder panic.
            let read = std::panic::catch_unwind(|| parquet::read(dir));
            read.unwrap_or_else(|_| {
                let damaged = polars::prelude::polars_err!(ComputeError: "it is damaged and cannot be decoded");
                Err(damaged.into())
            })
        };
        match read {
            Ok(rows) => return Ok(rows),
            Err(error) => losses.push(Loss {
                file: name,
                what: error.to_string(),
            }),
        }
    }
    if dir.join(format!("{}.arrows", C::FILE)).exists() {
        return stream::read(dir, losses);
    }
    losses.push(Loss {
        file: format!("{}.parquet", C::FILE),
        what: "no rows can be read".to_owned(),
    });
    Ok(Table::default())
}

/// Bytes of lines that are parsed together, at least.
const LINES: usize = 1 << 20;

fn lines<T: DeserializeOwned + Send>(
    dir: &Path,
    name: &str,
    losses: &mut Vec<Loss>,
) -> Result<Vec<T>, ReadError> {
    let path = dir.join(name);
    let mut lose = |what: String| {
        losses.push(Loss {
            file: name.to_owned(),
            what,
        })
    };
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            lose("the file is missing".to_owned());
            return Ok(Vec::new());
        }
        Err(source) => return Err(ReadError::Io { path, source }),
    };
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    let parts = parts(&bytes[..whole]);
    let mut records = Vec::new();
    let mut number = 0;
    for (read, bad, lines) in in_parallel(&parts, |part| parsed(part)) {
        records.extend(read);
        for (line, e) in bad {
            lose(format!("line {}: {e}", number + line));
        }
        number += lines;
    }
    if whole < bytes.len() {
        lose("the last line is cut".to_owned());
    }
    Ok(records)
}

/// Whole lines in parts of some size.
fn parts(mut lines: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while !lines.is_empty() {
        let least = LINES.min(lines.len());
        let rest = lines[least..].iter().position(|b| *b == b'\n');
        let (part, others) = lines.split_at(rest.map_or(lines.len(), |i| least + i + 1));
        parts.push(part);
        lines = others;
    }
    parts
}

/// The records of whole lines, what is wrong with others (counted from 1), and how many lines there are.
type Parsed<T> = (Vec<T>, Vec<(usize, serde_json::Error)>, usize);

fn parsed<T: DeserializeOwned + Send>(lines: &[u8]) -> Parsed<T> {
    let (mut records, mut bad, mut number) = (Vec::new(), Vec::new(), 0);
    for line in lines.split_inclusive(|b| *b == b'\n') {
        number += 1;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(record) => records.push(record),
            Err(e) => bad.push((number, e)),
        }
    }
    (records, bad, number)
}

fn generator(dir: &Path, losses: &mut Vec<Loss>) -> Option<crate::GeneratorRecord> {
    let bytes = std::fs::read(dir.join("generator.json")).ok()?;
    match serde_json::from_slice(&bytes) {
        Ok(record) => Some(record),
        Err(e) => {
            losses.push(Loss {
                file: "generator.json".to_owned(),
                what: e.to_string(),
            });
            None
        }
    }
}
