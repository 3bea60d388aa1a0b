//! The rollscope command.

use std::process::ExitCode;

/// Runs the command line and returns the exit code of the process.
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
