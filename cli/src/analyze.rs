//! `rollscope analyze`: recording -> analysis -> reports -> verdict.

use std::path::Path;

use rollscope_analyzer::{Analysis, VerdictOutcome};
use rollscope_records::Recording;

use crate::args::{AnalyzeArgs, OutputArgs};
use crate::exit::{Exit, Failure};
use crate::report::Source;
use crate::{report, terminal};

/// Makes the reports of a recording again. The exit code is the verdict's.
pub(crate) fn analyze(args: &AnalyzeArgs) -> Result<Exit, Failure> {
    let source = Source::of(&args.recordings)?;
    let out = source.folder(args.out.as_deref())?;
    verdict(&source.open()?, &out, &args.output)
}

/// Analyses the recording, writes the reports into `out`, and tells the verdict: on the terminal, in the job's
/// annotations where this runs on GitHub, and by the exit code.
pub(crate) fn verdict(
    recording: &Recording,
    out: &Path,
    output: &OutputArgs,
) -> Result<Exit, Failure> {
    let analysis = report::write(recording, out, output)?;
    if terminal::on_github() {
        terminal::github(&rollscope_reports::github_annotations(&analysis));
    }
    Ok(exit(analysis.verdict.outcome))
}

/// The same without a word on the terminal, for one run of several.
pub(crate) fn quiet(
    recording: &Recording,
    out: &Path,
    output: &OutputArgs,
) -> Result<(Analysis, Exit), Failure> {
    let analysis = rollscope_analyzer::analyze(recording);
    rollscope_reports::write_reports(out, &output.format, &analysis, recording)
        .map_err(Failure::environment)?;
    if terminal::on_github() {
        terminal::github(&rollscope_reports::github_annotations(&analysis));
    }
    let exit = exit(analysis.verdict.outcome);
    Ok((analysis, exit))
}

const fn exit(outcome: VerdictOutcome) -> Exit {
    match outcome {
        VerdictOutcome::Passed => Exit::Passed,
        VerdictOutcome::GateFailed => Exit::GateFailed,
        VerdictOutcome::Invalid => Exit::Invalid,
        VerdictOutcome::Interrupted => Exit::Interrupted,
        VerdictOutcome::EnvironmentFailed => Exit::Environment,
    }
}
