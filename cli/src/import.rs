//! `rollscope import-watch`: raw streams -> recording.

use rollscope_collector::ImportSummary;

use crate::args::ImportWatchArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Makes a recording from the raw streams of a folder.
pub(crate) fn import_watch(args: &ImportWatchArgs) -> Result<Exit, Failure> {
    let summary =
        rollscope_collector::import_watch(&args.dir, &args.out).map_err(Failure::usage)?;
    for warning in &summary.warnings {
        terminal::note(&format!("warning: {warning}"));
    }
    let ImportSummary {
        requests,
        watch_events,
        log_lines,
        gaps,
        ..
    } = summary;
    terminal::result(&format!(
        "recording: {}\n{requests} requests, {watch_events} watch events, {log_lines} log lines, {gaps} gaps\n",
        args.out.display()
    ));
    Ok(Exit::Passed)
}
