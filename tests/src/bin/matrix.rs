//! The matrix of subjects and front ends. It has the product's main in it, so that it can run what it measures.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use rollscope_tests::matrix;

fn main() -> ExitCode {
    let step = std::env::args_os().nth(1);
    let product = ["run", "subject", "pod-shim", "pod-init"];
    if step.is_some_and(|step| product.iter().any(|p| step == *p)) {
        return rollscope_cli::main();
    }
    match matrix::main(&matrix::Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "error: {why}");
            ExitCode::from(2)
        }
    }
}
