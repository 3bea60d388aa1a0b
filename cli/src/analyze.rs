//! `rollscope analyze`: recording -> analysis -> reports -> verdict.

use std::path::Path;

use rollscope_analyzer::VerdictOutcome;
use rollscope_records::Recording;

use crate::args::AnalyzeArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Width of the closing summary where there is no terminal to ask.
const WIDTH: usize = 100;

/// Makes the reports of a recording again. The exit code is the verdict's.
pub(crate) fn analyze(args: &AnalyzeArgs) -> Result<Exit, Failure> {
    let beside = args
        .recording
        .parent()
        .filter(|p| !p.as_os_str().is_empty());
    let out = args.out.as_deref().or(beside).unwrap_or(Path::new("."));
    report(&args.recording, out)
}

/// Analyses the recording, writes the reports into `out` and prints the closing summary.
pub(crate) fn report(recording: &Path, out: &Path) -> Result<Exit, Failure> {
    let recording = Recording::open(recording).map_err(Failure::usage)?;
    let analysis = rollscope_analyzer::analyze(&recording);
    let paths = rollscope_reports::write_reports(out, &analysis, &recording)
        .map_err(Failure::environment)?;
    let timeline = paths.timeline.display().to_string();
    let summary = rollscope_reports::summary(&analysis, &timeline, WIDTH, terminal::colours());
    terminal::result(&summary);
    Ok(match analysis.verdict.outcome {
        VerdictOutcome::Passed => Exit::Passed,
        VerdictOutcome::GateFailed => Exit::GateFailed,
        VerdictOutcome::Invalid => Exit::Invalid,
        VerdictOutcome::Interrupted => Exit::Interrupted,
        VerdictOutcome::EnvironmentFailed => Exit::Environment,
    })
}
