//! Writes the reports of a hand-made run into a folder: `cargo run -p rollscope-reports --example demo -- DIR [early-close|clean|invalid|large]`.
#![expect(clippy::print_stdout, reason = "an example speaks on the terminal")]

mod sample;

use std::path::PathBuf;

use rollscope_reports::{Format, summary, write_reports};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().unwrap_or_else(|| "demo-report".to_owned()));
    let (analysis, recording) = match args.next().as_deref() {
        Some("clean") => sample::clean(),
        Some("invalid") => sample::invalid(),
        Some("large") => sample::early_close(100_000),
        _ => sample::early_close(4_400),
    };
    write_reports(&dir, &Format::ALL, &analysis, &recording)?;
    let timeline = dir.join("timeline.html").display().to_string();
    print!("{}", summary(&analysis, &timeline, 100, false));
    Ok(())
}
