//! Production after the fact: access logs, and what a cluster wrote down of its deploys, as recordings.
//!
//! No load of ours is needed. Every line of the logs is a request; each deploy (a window that was given, or found in what
//! the cluster wrote down) becomes a recording of its own, with the time before it as the baseline, and is analysed as a
//! run is. What lies outside of all of them is counted.
//!
//! Logs are read in blocks, which as many threads as there are cores parse. Only the rows near a deploy are kept.

mod blocks;
mod cluster;
mod deploy;
mod error;
mod parse;
mod rows;
mod windows;

use std::path::PathBuf;

use rollscope_accesslogs::{Format, Malformed};
use rollscope_records::Recording;

pub use error::LogImportError;
pub use windows::Window;

use cluster::Cluster;
use deploy::Deploys;
use rows::Rows;

/// What is imported.
#[derive(Debug, Clone)]
pub struct Sources {
    /// Access logs, plain or compressed with gzip, in any order.
    pub logs: Vec<PathBuf>,
    /// Their format.
    pub format: Format,
    /// Zone of times without one, s east of UTC.
    pub zone_seconds: i32,
    /// A folder of watch streams and container logs, as `import-watch` reads it.
    pub watch: Option<PathBuf>,
    /// `kubectl get events -o json`.
    pub events: Option<PathBuf>,
    /// An audit log of the API server, one event a line.
    pub audit: Option<PathBuf>,
    /// The deploys: `from,to[,name]` a line, RFC 3339.
    pub windows: Option<PathBuf>,
    /// Patterns that name lines of the containers' logs.
    pub marks: Vec<(String, String)>,
    /// Failed requests of a deploy, beyond what fails without one, that are still a pass.
    pub max_failed: u64,
}

/// What was imported.
#[derive(Debug)]
pub struct Imported {
    /// Lines of the logs.
    pub lines: u64,
    /// Those that could not be read.
    pub malformed: Malformed,
    /// Requests outside of every deploy.
    pub outside: Outside,
    /// The deploys, in order of time.
    pub deploys: Vec<Deploy>,
    /// What was missing or is not certain, in words.
    pub notes: Vec<String>,
}

/// Requests outside of every deploy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outside {
    /// How many there were.
    pub requests: u64,
    /// How many of them failed (5xx, or cut in the response).
    pub failed: u64,
}

/// One deploy.
#[derive(Debug)]
pub struct Deploy {
    /// When it was.
    pub window: Window,
    /// Requests within the window.
    pub requests: u64,
    /// How many of them failed.
    pub failed: u64,
    /// The recording: the time before the deploy, the deploy, and a little after it.
    pub recording: Recording,
}

/// Reads everything.
///
/// # Errors
///
/// [`LogImportError`]: a file that cannot be read or is not what it should be, and an import without a deploy.
pub fn import(sources: &Sources) -> Result<Imported, LogImportError> {
    check(sources)?;
    let cluster = Cluster::read(sources)?;
    let windows = match &sources.windows {
        Some(file) => windows::read(file)?,
        None => windows::of_changes(&cluster.changes()),
    };
    if windows.is_empty() {
        return Err(LogImportError::NoDeploy);
    }
    let spans = deploy::spans(&windows);
    let Rows {
        lines,
        malformed,
        cut,
        minutes,
        rows,
        texts,
    } = parse::read(sources, &spans)?;
    if lines > 0 && malformed.count * 2 > lines {
        return Err(LogImportError::NotALog {
            lines,
            malformed: Box::new(malformed),
        });
    }
    let deploys = Deploys {
        sources,
        cluster: &cluster,
        windows: &windows,
        spans: &spans,
        minutes: &minutes,
        texts: &texts,
        malformed: malformed.count,
        lines,
    };
    let cut = cut.into_iter().map(|log| {
        format!("{log}: the compressed file is cut: what follows its last whole block is missing")
    });
    let deploys = deploys.all(rows);
    let mut outside = minutes.all();
    for deploy in &deploys {
        outside.requests = outside.requests.saturating_sub(deploy.requests);
        outside.failed = outside.failed.saturating_sub(deploy.failed);
    }
    Ok(Imported {
        lines,
        outside,
        deploys,
        notes: cluster.notes.iter().cloned().chain(cut).collect(),
        malformed,
    })
}

/// What can be known to be wrong before anything is read.
fn check(sources: &Sources) -> Result<(), LogImportError> {
    for (name, pattern) in &sources.marks {
        regex::Regex::new(pattern).map_err(|error| LogImportError::Mark {
            name: name.clone(),
            why: error
                .to_string()
                .lines()
                .last()
                .unwrap_or_default()
                .to_owned(),
        })?;
    }
    let mut seen = std::collections::BTreeSet::new();
    for log in &sources.logs {
        // A pipe has no other name; a file that is not there is told when it is read.
        if let Ok(whole) = log.canonicalize()
            && !seen.insert(whole)
        {
            return Err(LogImportError::Twice(log.clone()));
        }
    }
    Ok(())
}
