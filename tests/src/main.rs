//! The `rollscope` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    rollscope_cli::main()
}
