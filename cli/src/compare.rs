//! `rollscope compare`: two recordings -> comparison.html, a table, and whether the second run is a regression.

use rollscope_analyzer::{Analysis, VerdictOutcome};
use rollscope_reports::{comparison_md, write_comparison};

use crate::args::CompareArgs;
use crate::exit::{Exit, Failure};
use crate::report::Source;
use crate::terminal;

/// Analyses both recordings, writes the page and prints the table. The exit code is that of [`judged`].
pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let [before, after] =
        [&args.before, &args.after].map(|path| Source::of(std::slice::from_ref(path)));
    let after = after?;
    let out = after.folder(args.out.as_deref())?;
    let (before, after) = (analysed(&before?)?, analysed(&after)?);
    let page = write_comparison(&out, &before, &after).map_err(Failure::environment)?;
    let (exit, words) = judged(&before, &after);
    terminal::result(&format!("{}\n{words}\n", comparison_md(&before, &after)));
    if let Some(said) = proves_nothing(&before) {
        terminal::note(&format!(
            "warning: the first run {said}, so it is a poor measure for the second one"
        ));
    }
    terminal::note(&format!("comparison: {}", page.display()));
    Ok(exit)
}

fn analysed(source: &Source) -> Result<Analysis, Failure> {
    Ok(rollscope_analyzer::analyze(&source.open()?))
}

/// Whether `after` is a regression, and why, in a sentence. Failures count even in a run that proves nothing: they
/// happened.
fn judged(before: &Analysis, after: &Analysis) -> (Exit, String) {
    let gate = before.verdict.outcome == VerdictOutcome::Passed
        && after.verdict.outcome == VerdictOutcome::GateFailed;
    let more = after.requests.failed.saturating_sub(before.requests.failed);
    let mut reasons = Vec::new();
    if more > 0 {
        let requests = if more == 1 { "request" } else { "requests" };
        reasons.push(format!("{more} {requests} more failed"));
    }
    if gate {
        reasons.push("the gate failed where it passed before".to_owned());
    }
    if !reasons.is_empty() {
        let reasons = reasons.join(", and ");
        return (Exit::GateFailed, format!("**Regression:** {reasons}."));
    }
    match proves_nothing(after) {
        Some(said) => {
            let words = format!("**Not comparable:** the second run {said}.");
            (Exit::Invalid, words)
        }
        None => (Exit::Passed, "**No regression.**".to_owned()),
    }
}

/// What is the matter with a run that ended without an answer.
fn proves_nothing(run: &Analysis) -> Option<&'static str> {
    match run.verdict.outcome {
        VerdictOutcome::Passed | VerdictOutcome::GateFailed => None,
        VerdictOutcome::Invalid => Some("is invalid"),
        VerdictOutcome::Interrupted => Some("was interrupted"),
        VerdictOutcome::EnvironmentFailed => Some("ended when its environment failed"),
    }
}
