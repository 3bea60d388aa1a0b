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
    match &args.recording {
        Some(path) => {
            let recording = recording(path);
            let out = folder(args.out.as_deref(), &recording);
            write(&recording, out, &args.output)?;
        }
        None => terminal::result(REPORT_SCHEMA),
    }
    Ok(Exit::Passed)
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
    recording: &Path,
    out: &Path,
    output: &OutputArgs,
) -> Result<Analysis, Failure> {
    let recording = Recording::open(recording).map_err(Failure::usage)?;
    let analysis = rollscope_analyzer::analyze(&recording);
    let paths =
        write_reports(out, &output.format, &analysis, &recording).map_err(Failure::environment)?;
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
