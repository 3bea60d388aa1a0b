//! One tool, one case, one round.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::arrivals::Arrivals;
use crate::options::Options;

/// What sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Ours at the default precision.
    Ours,
    /// Ours with `precision: exact`.
    Exact,
    Oha,
    Wrk,
    Hey,
}

impl Tool {
    pub(crate) const ALL: [Self; 5] = [Self::Ours, Self::Exact, Self::Oha, Self::Wrk, Self::Hey];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "rollscope",
            Self::Exact => "rollscope, exact",
            Self::Oha => "oha",
            Self::Wrk => "wrk",
            Self::Hey => "hey",
        }
    }

    pub(crate) const fn is_ours(self) -> bool {
        matches!(self, Self::Ours | Self::Exact)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connections {
    Kept,
    New,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rate {
    PerSecond(u32),
    Maximum,
}

/// What is asked of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) connections: Connections,
    pub(crate) rate: Rate,
}

/// What one round of one tool showed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measured {
    /// User and system time of the process for each request, microseconds.
    pub(crate) cpu_us: f64,
    /// Requests sent a second.
    pub(crate) rate: f64,
    /// Peak of resident memory, MiB.
    pub(crate) memory: f64,
    /// By how much the gaps between arrivals differ from those of the schedule, microseconds: p50, p99, p99.9.
    pub(crate) gaps: Option<[f64; 3]>,
}

/// Every tool's rounds, interleaved.
pub(crate) fn rounds(
    tools: &[Tool],
    case: Case,
    options: &Options,
    nginx: &str,
) -> Vec<Vec<Measured>> {
    let mut rounds = vec![Vec::new(); tools.len()];
    for _ in 0..options.rounds {
        for (tool, rounds) in tools.iter().zip(&mut rounds) {
            let mut measured = match case.rate {
                Rate::Maximum if tool.is_ours() => fastest(*tool, case, options.seconds, nginx),
                _ => run(*tool, case, options.seconds, nginx),
            };
            if let Rate::PerSecond(rate) = case.rate {
                measured.gaps = Some(gaps(*tool, case, rate, options.seconds));
            }
            rounds.push(measured);
        }
    }
    rounds
}

/// Slots that are sent where a rate is held; the others were dropped at the cap of requests in flight.
const HELD: f64 = 0.99;

/// How often the highest rate is halved in on.
const STEPS: usize = 4;

/// The highest rate that is held. The other tools send the next request when an answer has come; a schedule has to be
/// told how fast, and each slot that is too much costs a record.
fn fastest(tool: Tool, case: Case, seconds: u64, url: &str) -> Measured {
    let at = |rate: u32| {
        let rate = Rate::PerSecond(rate);
        run(tool, Case { rate, ..case }, seconds, url)
    };
    let (mut held, mut over) = (1_000, 2_000);
    let mut best = at(held);
    loop {
        let measured = at(over);
        if measured.rate < f64::from(over) * HELD {
            break;
        }
        (held, over, best) = (over, over * 2, measured);
    }
    for _ in 0..STEPS {
        let between = held.midpoint(over);
        let measured = at(between);
        if measured.rate < f64::from(between) * HELD {
            over = between;
        } else {
            (held, best) = (between, measured);
        }
    }
    best
}

fn run(tool: Tool, case: Case, seconds: u64, url: &str) -> Measured {
    let (program, args) = tool.command(case, seconds, url);
    let before = children_us();
    let begun = Instant::now();
    let mut child = Command::new(&program)
        .args(&args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|e| panic!("{program}: {e}"));
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    while child.try_wait().unwrap().is_none() {
        memory = peak_kib(&status).unwrap_or(memory);
        std::thread::sleep(Duration::from_millis(20));
        assert!(
            begun.elapsed() < Duration::from_secs(seconds + 60),
            "{program} does not end"
        );
    }
    let output = child.wait_with_output().unwrap();
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let sent = tool.sent(&output).max(1);
    // Ours reports the state at the end of the load: a run turns the recording into Parquet after it.
    let (cpu_us, memory) = match own(tool, &output) {
        Some(own) => own,
        None => (children_us() - before, memory),
    };
    Measured {
        cpu_us: cpu_us as f64 / sent as f64,
        rate: sent as f64 / seconds as f64,
        memory: memory as f64 / 1024.0,
        gaps: None,
    }
}

fn own(tool: Tool, output: &str) -> Option<(i64, u64)> {
    let json: serde_json::Value = tool
        .is_ours()
        .then(|| serde_json::from_str(output).unwrap())?;
    Some((json["cpu_us"].as_i64()?, json["peak_kib"].as_u64()?))
}

/// CPU time of all processes that have ended, microseconds.
fn children_us() -> i64 {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    (used.user_time() + used.system_time()).num_microseconds()
}

fn peak_kib(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// By how much arrivals at the recording server are off, microseconds.
fn gaps(tool: Tool, case: Case, rate: u32, seconds: u64) -> [f64; 3] {
    let server = Arrivals::start();
    run(tool, case, seconds, &server.url());
    let times = server.times();
    let expected = 1e6 / f64::from(rate);
    let mut errors: Vec<f64> = times
        .windows(2)
        .map(|pair| ((pair[1] - pair[0]) as f64 / 1e3 - expected).abs())
        .collect();
    errors.sort_by(f64::total_cmp);
    let at = |permille: usize| {
        let place = errors.len() * permille / 1000;
        errors.get(place).copied().unwrap_or(f64::NAN)
    };
    [at(500), at(990), at(999)]
}
