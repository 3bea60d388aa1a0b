//! `rollscope report`: recording -> reports, in any format.

use std::path::{Path, PathBuf};

use rollscope_analyzer::Analysis;
use rollscope_records::Recording;
use rollscope_reports::{Format, REPORT_SCHEMA, ReportPaths, report_json, summary, write_reports};

use crate::args::{OutputArgs, ReportArgs};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Width of the closing summary where there is no terminal to ask.
const WIDTH: usize = 100;

/// Writes the reports of a recording. The verdict is told, but the exit code is 0 once they are written.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    if args.schema {
        terminal::result(REPORT_SCHEMA);
    } else {
        let source = Source::of(&args.recordings)?;
        let out = source.folder(args.out.as_deref())?;
        write(&source.open()?, &out, &args.output)?;
    }
    Ok(Exit::Passed)
}

/// The recordings of one run: one, or those of its several generators.
pub(crate) struct Source {
    recordings: Vec<PathBuf>,
    /// Where reports go unless somewhere else is asked for.
    beside: Option<PathBuf>,
}

impl Source {
    /// The recordings that are meant by `paths`: each is a recording's folder, a run's output folder, or a folder of
    /// such folders.
    pub(crate) fn of(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut recordings = Vec::new();
        for path in paths {
            match inside(path)?.as_slice() {
                [] => recordings.push(recording(path)),
                several => recordings.extend_from_slice(several),
            }
        }
        let beside = match (paths, recordings.as_slice()) {
            (_, [one]) => Some(folder(None, one).to_owned()),
            ([all], _) => Some(all.clone()),
            _ => None,
        };
        Ok(Self { recordings, beside })
    }

    /// The folder for the reports.
    pub(crate) fn folder(&self, asked: Option<&Path>) -> Result<PathBuf, Failure> {
        let out = asked.map(Path::to_owned).or_else(|| self.beside.clone());
        out.ok_or_else(|| {
            Failure::usage(
                "say with --out DIR where the reports of several recordings go, or give the folder that holds all of them",
            )
        })
    }

    /// The recording; those of several generators as one.
    pub(crate) fn open(&self) -> Result<Recording, Failure> {
        let mut parts = Vec::new();
        for path in &self.recordings {
            parts.push(Recording::open(path).map_err(Failure::usage)?);
        }
        match parts.len() {
            1 => Ok(parts.remove(0)),
            _ => Recording::merge(parts).map_err(Failure::usage),
        }
    }
}

/// The recordings in the folders of a folder that holds several runs' output folders, in the order of their names; none
/// when `path` is itself a recording or a run's output folder.
fn inside(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let is_recording = |p: &Path| p.join("run.json").exists();
    if is_recording(&recording(path)) || !path.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable =
        |e: std::io::Error| Failure::usage(format!("cannot read {}: {e}", path.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let candidate = recording(&entry.map_err(unreadable)?.path());
        if is_recording(&candidate) {
            found.push(candidate);
        }
    }
    found.sort();
    Ok(found)
}

/// The recording that is meant: the folder itself, or the one in a run's output folder.
pub(crate) fn recording(path: &Path) -> PathBuf {
    let inside = path.join("recording.rollscope");
    if !path.join("run.json").exists() && inside.join("run.json").exists() {
        inside
    } else {
        path.to_owned()
    }
}

/// The folder for a recording's reports: the one that was asked for, or the one that holds the recording.
pub(crate) fn folder<'a>(out: Option<&'a Path>, recording: &'a Path) -> &'a Path {
    let beside = recording.parent().filter(|p| !p.as_os_str().is_empty());
    out.or(beside).unwrap_or(Path::new("."))
}

/// Analyses the recording, writes the reports into `out` and prints the closing summary, or with `--json` the report.
pub(crate) fn write(
    recording: &Recording,
    out: &Path,
    output: &OutputArgs,
) -> Result<Analysis, Failure> {
    let analysis = rollscope_analyzer::analyze(recording);
    let paths =
        write_reports(out, &output.format, &analysis, recording).map_err(Failure::environment)?;
    let place = place(&paths, out);
    let colours = terminal::colours() && !output.json;
    let summary = summary(&analysis, &place, WIDTH, colours);
    if output.json {
        terminal::note(summary.trim_end());
        terminal::json(&report_json(&analysis));
    } else {
        terminal::result(&summary);
    }
    Ok(analysis)
}

/// What the summary points at: the timeline, or the folder where none was written.
fn place(paths: &ReportPaths, out: &Path) -> String {
    paths.of(Format::Html).unwrap_or(out).display().to_string()
}
