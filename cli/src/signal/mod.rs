//! `rollscope signal`: one program, as a container would run it, under load, and the stop signal.
//!
//! It is a run like any other: the sandbox has one pod, the rollout is the deletion of that pod, and recording, analysis
//! and reports are those of `run`.

mod docker;
mod repeat;
mod workload;

pub(crate) use docker::{guard as docker_guard, pod as docker_pod};

use std::path::Path;

use rollscope_records::Recording;
use rollscope_sandbox::TruthLog;
use rollscope_scenarios::{Moment, SignalPlan};

use crate::args::SignalArgs;
use crate::exit::{Exit, Failure};
use crate::run::{self, Interrupt, OneProgram, Output, Setup};
use crate::{analyze, terminal};
use workload::Program;

/// Puts the program to the test, once or several times. The exit code is the worst run's.
pub(crate) fn signal(args: &SignalArgs) -> Result<Exit, Failure> {
    let mut program = Program::of(args)?;
    let _guard = program.container().map(docker::Guard::start).transpose()?;
    let output = Output::create(args.out.as_deref(), program.name(), None)?;
    let ended = run::runtime()?.block_on(async {
        let interrupt = Interrupt::listen().map_err(Failure::environment)?;
        match args.repeat {
            1 => once(&mut program, args, &output, &interrupt).await,
            _ => repeat::all(&mut program, args, &output, &interrupt).await,
        }
    });
    if ended.is_err() {
        output.remove_if_empty();
    }
    ended
}

async fn once(
    program: &mut Program,
    args: &SignalArgs,
    output: &Output,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    record(program, args, (Moment::Steady, 0), output, interrupt).await?;
    verdict(output.dir(), &output.recording(), args)
}

/// Records one run, with the signal at that moment.
async fn record(
    program: &mut Program,
    args: &SignalArgs,
    (moment, run): (Moment, usize),
    output: &Output,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let (plan, workload) = program.prepare(moment, run)?;
    let truth = match &args.truth {
        Some(dir) => TruthLog::open(dir).map_err(Failure::environment)?,
        None => TruthLog::default(),
    };
    terminal::note(&format!(
        "{} is starting; PORT is {}; signal: {}",
        program.words(),
        program.port(),
        moment.as_str()
    ));
    let SignalPlan {
        ready,
        ready_within,
        ..
    } = program.plan();
    let setup = Setup {
        truth,
        program: Some(OneProgram {
            workload,
            ready_within: *ready_within,
            ready_line: ready.clone(),
            tried: moment != Moment::BeforeFirstRequest,
            after_signal: plan.after_signal,
        }),
        ..Setup::default()
    };
    run::record(&plan.scenario, output, setup, interrupt.clone()).await?;
    Ok(())
}

/// Analyses a recording and writes its reports.
fn verdict(dir: &Path, recording: &Path, args: &SignalArgs) -> Result<Exit, Failure> {
    let recording = Recording::open(recording).map_err(Failure::usage)?;
    analyze::verdict(&recording, dir, &args.output)
}
