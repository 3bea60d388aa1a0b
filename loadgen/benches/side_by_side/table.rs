//! Medians and ratios, as Markdown.

use crate::options::Options;
use crate::run::{Case, Connections, Measured, Rate, Tool};

/// Prints the table of a case.
pub(crate) fn print(case: Case, tools: &[Tool], rounds: &[Vec<Measured>], options: &Options) {
    let connections = match case.connections {
        Connections::Kept => "64 kept connections",
        Connections::New => "a new connection for each request",
    };
    let rate = match case.rate {
        Rate::PerSecond(rate) => format!("{rate}/s"),
        Rate::Maximum => "maximum".to_owned(),
    };
    println!(
        "\n### {rate}, {connections} (median of {} rounds of {} s)\n",
        options.rounds, options.seconds
    );
    println!(
        "| tool | CPU us/request | ours / its | achieved /s | arrival error p50, p99, p99.9 us | peak MiB |"
    );
    println!("|---|---|---|---|---|---|");
    let ours = median(&rounds[0], |m| m.cpu_us);
    for (tool, rounds) in tools.iter().zip(rounds) {
        let cpu = median(rounds, |m| m.cpu_us);
        let gaps = match case.rate {
            Rate::PerSecond(_) => {
                let at = |i: usize| median(rounds, |m| m.gaps.unwrap_or_default()[i]);
                format!("{:.0}, {:.0}, {:.0}", at(0), at(1), at(2))
            }
            Rate::Maximum => String::new(),
        };
        println!(
            "| {} | {cpu:.1} | {:.2} | {:.0} | {gaps} | {:.0} |",
            tool.name(),
            ours / cpu,
            median(rounds, |m| m.rate),
            median(rounds, |m| m.memory),
        );
    }
}

fn median(rounds: &[Measured], of: impl Fn(&Measured) -> f64) -> f64 {
    let mut values: Vec<f64> = rounds.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
