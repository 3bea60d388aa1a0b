//! Rollscope's load generator beside oha, wrk and hey, against nginx and against a server that writes down when each
//! request arrives:
//!
//!     cargo bench -p rollscope-loadgen --bench side_by_side -- [--seconds 5] [--rounds 3] [--rates 1000,10000,20000]
//!
//! A tool that is not in the `PATH` is left out and named. The tools take turns in each round, so that what else happens
//! on the machine hits all of them alike; the tables show medians over the rounds, and ratios to the peers. Every request
//! of ours is recorded on disk. What was measured is in `PERFORMANCE.md`.
#![expect(clippy::print_stdout, reason = "it prints what it measured")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark fails by panicking"
)]

mod arrivals;
mod nginx;
mod options;
mod ours;
mod peers;
mod run;
mod table;

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use options::Options;
use run::{Case, Connections, Rate, Tool};

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    match args.first().map(String::as_str) {
        // The same program is the generator's process and the server's.
        Some("ours") => ours::generate(&args[1..]),
        Some("arrivals") => arrivals::serve(&args[1..]),
        _ => measure(&Options::of(&args)),
    }
}

fn measure(options: &Options) {
    let tools: Vec<Tool> = Tool::ALL.into_iter().filter(|t| options.has(*t)).collect();
    for missing in Tool::ALL.iter().filter(|t| !tools.contains(t)) {
        println!("{} is left out: it is not in the PATH", missing.name());
    }
    let nginx = nginx::Nginx::start();
    let rates = options.rates.iter().map(|r| Rate::PerSecond(*r));
    for connections in [Connections::Kept, Connections::New] {
        let mut cases: Vec<Case> = rates
            .clone()
            .map(|rate| Case { connections, rate })
            .collect();
        if options.maximum {
            cases.push(Case {
                connections,
                rate: Rate::Maximum,
            });
        }
        for case in cases {
            let able: Vec<Tool> = tools.iter().copied().filter(|t| t.is_able(case)).collect();
            let rounds = run::rounds(&able, case, options, &nginx.url());
            table::print(case, &able, &rounds, options);
        }
    }
}
