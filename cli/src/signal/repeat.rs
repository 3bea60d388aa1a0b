//! The program again and again, the signal at another moment each time.

use std::path::Path;

use rollscope_scenarios::Moment;
use serde_json::{Value, json};

use super::workload::Program;
use crate::args::{IndexArgs, SignalArgs};
use crate::exit::{Exit, Failure};
use crate::index;
use crate::run::{Interrupt, Output};
use crate::terminal;

/// The version of `signal.json`.
const SCHEMA: &str = "rollscope/signal/v1";

/// One run that was made.
struct Run {
    moment: Moment,
    folder: String,
    exit: Exit,
    report: Value,
}

/// Makes all runs and sums them up: `signal.json`, `index.html`, a table. An interruption ends them.
pub(super) async fn all(
    program: &mut Program,
    args: &SignalArgs,
    output: &Output,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let mut runs = Vec::new();
    for index in 0..usize::from(args.repeat) {
        let moment = Moment::of_run(index, program.plan().is_slow());
        let run = one(program, args, (moment, index), output, interrupt).await;
        let over = match run {
            Ok(run) => {
                let interrupted = run.exit == Exit::Interrupted;
                runs.push(run);
                interrupted
            }
            // What comes before the first run's end is told as of a single run.
            Err(failure) if runs.is_empty() => return Err(failure),
            Err(failure) => {
                summed_up(&runs, output.dir(), args)?;
                return Err(failure);
            }
        };
        if over {
            break;
        }
    }
    summed_up(&runs, output.dir(), args)
}

async fn one(
    program: &mut Program,
    args: &SignalArgs,
    (moment, index): (Moment, usize),
    output: &Output,
    interrupt: &Interrupt,
) -> Result<Run, Failure> {
    let folder = format!("run-{:02}-{}", index + 1, moment.as_str().replace(' ', "-"));
    let dir = output.dir().join(&folder);
    let output = Output::create(Some(&dir), program.name(), None)?;
    if let Err(failure) = super::record(program, args, (moment, index), &output, interrupt).await {
        output.remove_if_empty();
        return Err(failure);
    }
    let recording =
        rollscope_records::Recording::open(&output.recording()).map_err(Failure::usage)?;
    let (analysis, exit) = crate::analyze::quiet(&recording, output.dir(), &args.output)?;
    let report = serde_json::to_value(&analysis).map_err(Failure::environment)?;
    let run = Run {
        moment,
        folder,
        exit,
        report,
    };
    terminal::note(&run.line());
    Ok(run)
}

impl Run {
    /// A line of the table.
    fn line(&self) -> String {
        let failed = &self.report["requests"]["failed"];
        let told = self.report["signal"]["summary"]
            .as_str()
            .unwrap_or("the program's end was not seen");
        format!(
            "{:<26} exit code {}, {failed} failed; {told}",
            self.folder,
            self.exit.code()
        )
    }

    fn json(&self) -> Value {
        json!({
            "moment": self.moment.as_str(),
            "folder": self.folder,
            "exit_code": self.exit.code(),
            "reasons": self.report["verdict"]["reasons"],
            "failed": self.report["requests"]["failed"],
            "sent": self.report["requests"]["sent"],
            "signal": self.report["signal"],
        })
    }
}

/// Writes the sum and tells it. The exit code is the worst.
fn summed_up(runs: &[Run], dir: &Path, args: &SignalArgs) -> Result<Exit, Failure> {
    let exit = runs
        .iter()
        .map(|r| r.exit)
        .max_by_key(|e| badness(*e))
        .unwrap_or(Exit::Passed);
    let sum = json!({
        "schema": SCHEMA,
        "exit_code": exit.code(),
        "asked": args.repeat,
        "runs": runs.iter().map(Run::json).collect::<Vec<_>>(),
    });
    let text = format!("{sum:#}\n");
    std::fs::write(dir.join("signal.json"), &text)
        .map_err(|e| Failure::environment(format!("cannot write {}: {e}", dir.display())))?;
    let lines: Vec<String> = runs.iter().map(Run::line).collect();
    let passed = runs.iter().filter(|r| r.exit == Exit::Passed).count();
    let summary = format!(
        "{}\n{passed} of {} runs passed (exit code {}): {}\n",
        lines.join("\n"),
        args.repeat,
        exit.code(),
        dir.join("signal.json").display()
    );
    if args.output.json {
        terminal::note(summary.trim_end());
        terminal::json(&text);
    } else {
        terminal::result(&summary);
        if args
            .output
            .format
            .contains(&rollscope_reports::Format::Json)
            && !runs.is_empty()
        {
            index::index(&IndexArgs {
                dir: dir.to_owned(),
            })?;
        }
    }
    Ok(exit)
}

/// The order of exits, the worst last: an interruption is the user's, failures count more than what could not be seen.
const fn badness(exit: Exit) -> u8 {
    match exit {
        Exit::Passed => 0,
        Exit::Invalid => 1,
        Exit::Environment => 2,
        Exit::Usage => 3,
        Exit::GateFailed => 4,
        Exit::Interrupted => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_worse_than_what_proves_nothing() {
        assert!(badness(Exit::GateFailed) > badness(Exit::Invalid));
        assert!(badness(Exit::Interrupted) > badness(Exit::GateFailed));
        assert!(badness(Exit::Invalid) > badness(Exit::Passed));
    }
}
