//! `rollscope run`: a scenario in, a recording, a timeline and an exit code out.

mod dialer;
mod interrupt;
mod live;
mod output;
mod progress;
mod run_record;
mod session;
mod shard;
mod target;

use rollscope_records::Recording;
use rollscope_sandbox::TruthLog;
use rollscope_scenarios::{Scenario, ScenarioFlags};

use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::{analyze, terminal};
use output::Output;
use shard::OwnShard;

/// Runs a scenario. The exit code is the verdict's; with `--record-only` it only says whether the recording is whole.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let scenario = scenario(args)?;
    let shard = OwnShard::of(args, &scenario)?;
    let output = Output::create(args.out.as_deref(), &scenario.name, shard.as_ref())?;
    let truth = match &args.truth {
        Some(dir) => TruthLog::open(dir).map_err(Failure::environment)?,
        None => TruthLog::default(),
    };
    let ended = match record(&scenario, &output, truth, args.tui, shard) {
        Ok(ended) => ended,
        Err(failure) => {
            output.remove_if_empty();
            return Err(failure);
        }
    };
    if args.record_only || shard.is_some() {
        terminal::result(&format!("recording: {}\n", output.recording().display()));
        if let Some(shard) = shard {
            terminal::note(&format!(
                "generator {} of {} is done; the verdict is that of all of them together: rollscope analyze with their {} recordings",
                shard.index, shard.of, shard.of
            ));
        }
        return Ok(ended);
    }
    let recording = Recording::open(&output.recording()).map_err(Failure::usage)?;
    analyze::verdict(&recording, output.dir(), &args.output)
}

fn scenario(args: &RunArgs) -> Result<Scenario, Failure> {
    let scenario = match (&args.scenario, &args.url) {
        (Some(file), _) => Scenario::load(file).map_err(Failure::usage)?,
        (None, Some(url)) => {
            let (rate, exec) = (args.rate.as_deref(), args.exec.as_deref());
            let mut flags =
                ScenarioFlags::new(url, rate.unwrap_or_default(), exec.unwrap_or_default());
            flags.warmup.clone_from(&args.warmup);
            flags.settle.clone_from(&args.settle);
            Scenario::from_flags(&flags).map_err(Failure::usage)?
        }
        (None, None) => {
            return Err(Failure::usage(
                "give a scenario file, or --url, --rate and --exec",
            ));
        }
    };
    scenario.check_environment().map_err(Failure::usage)?;
    for warning in scenario.warnings() {
        terminal::note(&format!("warning: {warning}"));
    }
    Ok(scenario)
}

fn record(
    scenario: &Scenario,
    output: &Output,
    truth: TruthLog,
    tui: bool,
    shard: Option<OwnShard>,
) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::environment(format!("cannot start the runtime: {e}")))?;
    runtime.block_on(session::record(scenario, output, truth, tui, shard))
}
