//! `rollscope analyze`: recording -> analysis -> reports -> verdict.

use std::path::Path;

use rollscope_analyzer::VerdictOutcome;

use crate::args::{AnalyzeArgs, OutputArgs};
use crate::exit::{Exit, Failure};
use crate::{report, terminal};

/// Makes the reports of a recording again. The exit code is the verdict's.
pub(crate) fn analyze(args: &AnalyzeArgs) -> Result<Exit, Failure> {
    let recording = report::recording(&args.recording);
    let out = report::folder(args.out.as_deref(), &recording);
    verdict(&recording, out, &args.output)
}

/// Analyses the recording, writes the reports into `out`, and tells the verdict: on the terminal, in the job's
/// annotations where this runs on GitHub, and by the exit code.
pub(crate) fn verdict(recording: &Path, out: &Path, output: &OutputArgs) -> Result<Exit, Failure> {
    let analysis = report::write(recording, out, output)?;
    if terminal::on_github() {
        terminal::github(&rollscope_reports::github_annotations(&analysis));
    }
    Ok(match analysis.verdict.outcome {
        VerdictOutcome::Passed => Exit::Passed,
        VerdictOutcome::GateFailed => Exit::GateFailed,
        VerdictOutcome::Invalid => Exit::Invalid,
        VerdictOutcome::Interrupted => Exit::Interrupted,
        VerdictOutcome::EnvironmentFailed => Exit::Environment,
    })
}
