//! `rollscope scenario`: check files, print the schema.

use rollscope_sandbox::manifest::Manifest;
use rollscope_scenarios::{Scenario, Target};

use crate::args::ScenarioCommand;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Runs a `scenario` subcommand.
pub(crate) fn scenario(command: &ScenarioCommand) -> Result<Exit, Failure> {
    match command {
        ScenarioCommand::Check { file } => {
            let scenario = Scenario::load(file).map_err(Failure::usage)?;
            if let Target::Sandbox(sandbox) = &scenario.target {
                Manifest::read(&sandbox.manifest).map_err(Failure::usage)?;
            }
            let (requests, stages) = (scenario.load.requests.len(), scenario.stages.len());
            terminal::result(&format!(
                "{}: scenario {:?} is good: {requests} requests, {stages} stages\n",
                file.display(),
                scenario.name
            ));
        }
        ScenarioCommand::Schema => {
            let schema = serde_json::to_string_pretty(&rollscope_scenarios::schema())
                .map_err(Failure::usage)?;
            terminal::result(&format!("{schema}\n"));
        }
    }
    Ok(Exit::Passed)
}
