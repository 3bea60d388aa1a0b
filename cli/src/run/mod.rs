//! `rollscope run`: a scenario in, a recording, a timeline and an exit code out.

mod balancer_logs;
mod dialer;
mod followed_logs;
mod interrupt;
mod jobs;
mod live;
mod output;
mod progress;
mod run_record;
mod session;
mod shard;
mod target;
mod trial;

pub(crate) use interrupt::Interrupt;
pub(crate) use output::Output;
pub(crate) use session::{Setup, record};
pub(crate) use target::OneProgram;

use rollscope_records::Recording;
use rollscope_sandbox::TruthLog;
use rollscope_scenarios::{Scenario, ScenarioFlags};

use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::{analyze, terminal};
use shard::OwnShard;
use target::ClusterChoice;

/// Runs a scenario. The exit code is the verdict's; with `--record-only` it only says whether the recording is whole.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let scenario = scenario(args)?;
    let shard = OwnShard::of(args, &scenario)?;
    let output = Output::create(args.out.as_deref(), &scenario.name, shard.as_ref())?;
    let truth = match &args.truth {
        Some(dir) => TruthLog::open(dir).map_err(Failure::environment)?,
        None => TruthLog::default(),
    };
    let setup = Setup {
        truth,
        tui: args.tui,
        shard,
        program: None,
        cluster: ClusterChoice {
            kubeconfig: args.kubeconfig.clone(),
            context: args.context.clone(),
            namespace: args.namespace.clone(),
        },
    };
    let ended = match recorded(&scenario, &output, setup) {
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

fn recorded(scenario: &Scenario, output: &Output, setup: Setup) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let interrupt = Interrupt::listen().map_err(Failure::environment)?;
        record(scenario, output, setup, interrupt).await
    })
}

/// The runtime of a run.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::environment(format!("cannot start the runtime: {e}")))
}
