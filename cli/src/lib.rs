//! The rollscope command: the composition root. Commands meet the libraries here and nowhere else.

mod analyze;
mod args;
mod compare;
mod exit;
mod import;
mod import_logs;
mod index;
mod init;
mod preflight;
mod report;
mod run;
mod sandbox;
mod scenario;
mod signal;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::exit::Failure;

/// Runs the command line and returns the exit code of the process.
pub fn main() -> ExitCode {
    if let Some(exit) = pod_process() {
        return exit;
    }
    match dispatch(Cli::parse().command) {
        Ok(code) => code,
        Err(failure) => {
            terminal::error(&failure.message);
            failure.exit.into()
        }
    }
}

/// The steps by which the sandbox starts a container's process. They run before anything else of this program: no
/// thread, no runtime, no parsing.
fn pod_process() -> Option<ExitCode> {
    let step = std::env::args_os().nth(1)?;
    match step.to_str()? {
        "pod-shim" => Some(rollscope_sandbox::process::shim_main()),
        "pod-init" => Some(rollscope_sandbox::process::init_main()),
        _ => None,
    }
}

fn dispatch(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Run(args) => run::run(&args).map(ExitCode::from),
        Command::Signal(args) => signal::signal(&args).map(ExitCode::from),
        Command::DockerPod(args) => signal::docker_pod(&args),
        Command::DockerGuard { name } => Ok(signal::docker_guard(&name)),
        Command::Analyze(args) => analyze::analyze(&args).map(ExitCode::from),
        Command::Report(args) => report::report(&args).map(ExitCode::from),
        Command::Import(args) => import_logs::import(&args).map(ExitCode::from),
        Command::ImportWatch(args) => import::import_watch(&args).map(ExitCode::from),
        Command::Compare(args) => compare::compare(&args).map(ExitCode::from),
        Command::Index(args) => index::index(&args).map(ExitCode::from),
        Command::Preflight(args) => preflight::preflight(&args).map(ExitCode::from),
        Command::Sandbox(args) => sandbox::sandbox(&args).map(ExitCode::from),
        Command::Init(args) => init::init(&args).map(ExitCode::from),
        Command::Scenario(command) => scenario::scenario(&command).map(ExitCode::from),
        Command::Journeys => Ok(rollscope_loadgen::journeys_main()),
        Command::Subject => Ok(rollscope_scenarios::subjects::run(|name| {
            std::env::var(name).ok()
        })),
    }
}
