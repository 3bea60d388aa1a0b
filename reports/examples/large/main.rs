//! A large made-up run, in which nothing is sent: its page, and the analysis of its recording, with what they took.
//!
//! - `cargo run --release -p rollscope-reports --example large -- page DIR [REQUESTS [PODS [FAILED]]]` writes the HTML
//!   timeline (10,000,000 requests, 500 pods and 50,000 failures if nothing else is said).
//! - `... -- scale DIR [REQUESTS...]` records such runs in DIR and prints the table of `analyzer/PERFORMANCE.md`
//!   (1, 3, 10 and 30 million requests if nothing else is said).
#![expect(clippy::print_stdout, reason = "an example speaks on the terminal")]

mod pods;
mod requests;
mod scale;

use std::path::{Path, PathBuf};
use std::time::Instant;

use rollscope_analyzer::{
    Analysis, Latency, Ms, MsLength, RequestCounts, RunSummary, SCHEMA, StageMark, StageReport,
    Verdict, VerdictOutcome,
};
use rollscope_records::{Recording, RunOffset, RunRecord, TargetFacts};
use rollscope_reports::timeline_html;

/// Requests a second.
const RATE: u64 = 10_000;

/// How large the run is, and when each of its old pods ends.
struct Size {
    requests: u64,
    pods: usize,
    failed: u64,
}

impl Size {
    /// Length of the load, ns.
    fn length(&self) -> i64 {
        (self.requests * 1_000_000_000 / RATE) as i64
    }

    /// Old pods: half of them.
    fn old(&self) -> usize {
        (self.pods / 2).max(1)
    }

    /// When the `i`th old pod is told to end: one after the other, within the middle 80 % of the run.
    fn ends(&self, i: usize) -> RunOffset {
        let first = self.length() / 10;
        RunOffset(first + (self.length() - 2 * first) / self.old() as i64 * i as i64)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (what, dir) = (args.next(), args.next());
    let (Some(what), Some(dir)) = (what, dir.map(PathBuf::from)) else {
        return Err("expected `page DIR` or `scale DIR`".into());
    };
    match what.as_str() {
        "page" => page(&dir, args),
        "scale" => scale::table(&dir, args),
        "analyze" => scale::analysis(&dir),
        "floor" => scale::floor(&dir),
        other => Err(format!("{other}: expected page or scale").into()),
    }
}

fn page(
    dir: &Path,
    mut args: impl Iterator<Item = String>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut number = |usual: u64| args.next().map_or(Ok(usual), |text| text.parse());
    let size = Size {
        requests: number(10_000_000)?,
        pods: number(500)? as usize,
        failed: number(50_000)?,
    };
    let (analysis, recording) = made_up(&size);
    let before = peak_mib()?;
    let begun = Instant::now();
    let page = timeline_html(&analysis, &recording);
    let took = begun.elapsed();
    std::fs::create_dir_all(dir)?;
    let path = dir.join("timeline.html");
    std::fs::write(&path, &page)?;
    println!(
        "{} requests ({} failed), {} pods, {} bursts -> {}: {:.2} MB in {:.1} s; peak memory {before} MiB with the recording, {} MiB with the page",
        recording.requests.len(),
        analysis.requests.failed,
        analysis.pods.len(),
        analysis.bursts.len(),
        path.display(),
        page.len() as f64 / 1e6,
        took.as_secs_f64(),
        peak_mib()?
    );
    Ok(())
}

/// The most memory that this process has had, MiB (Linux).
fn peak_mib() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .ok_or("no VmHWM in /proc/self/status")?
        .trim()
        .parse()?;
    Ok(kib / 1024)
}

fn made_up(size: &Size) -> (Analysis, Recording) {
    let mut recording = Recording::new(run());
    recording.requests = requests::requests(size).collect();
    pods::records(size, &mut recording);
    let failed = recording
        .requests
        .iter()
        .filter(|r| r.outcome.is_failure())
        .count() as u64;
    let bursts = pods::bursts(size, &recording);
    let analysis = Analysis {
        failures: pods::failures(&bursts),
        schema: SCHEMA,
        verdict: Verdict {
            outcome: VerdictOutcome::GateFailed,
            exit_code: 1,
            reasons: vec![format!("{failed} requests failed, 0 are allowed")],
        },
        run: RunSummary {
            id: "large".to_owned(),
            name: "large".to_owned(),
            tool: "rollscope".to_owned(),
            target: "kubernetes".to_owned(),
            workload: Some("deployment/checkout".to_owned()),
            started_at: "2026-11-30T11:20:07.018Z".to_owned(),
            duration_ms: MsLength(size.length()),
            rate_per_second: RATE as f64,
            rate_shape: None,
            max_failed: 0,
        },
        requests: RequestCounts {
            planned: size.requests,
            sent: size.requests,
            ok: size.requests - failed,
            failed,
            transport: failed,
            ..RequestCounts::default()
        },
        latency_ms: Latency::default(),
        pods: pods::reports(size),
        unattributed: failed - bursts.iter().map(|b| b.failed).sum::<u64>(),
        bursts,
        findings: Vec::new(),
        assertions: Vec::new(),
        advice: Vec::new(),
        budget: None,
        clocks: Vec::new(),
        generator: None,
        streams: Vec::new(),
        jobs: None,
        journeys: None,
        signal: None,
        balancers: Vec::new(),
        gaps: Vec::new(),
        stages: stages(size),
        notes: Vec::new(),
    };
    (analysis, recording)
}

fn stages(size: &Size) -> Vec<StageReport> {
    let tenth = size.length() / 10;
    let stage = |kind: &str, from: i64, to: i64, marks: Vec<StageMark>| StageReport {
        kind: kind.to_owned(),
        from_ms: Ms(RunOffset(from)),
        to_ms: Some(Ms(RunOffset(to))),
        marks,
        end: "completed",
        detail: None,
    };
    let requested = StageMark {
        at_ms: Ms(RunOffset(tenth)),
        mark: "rollout_requested".to_owned(),
    };
    vec![
        stage("warmup", 0, tenth, Vec::new()),
        stage("restart", tenth, 9 * tenth, vec![requested]),
        stage("settle", 9 * tenth, 10 * tenth, Vec::new()),
    ]
}

fn run() -> RunRecord {
    RunRecord {
        rate_per_second: RATE as f64,
        ..RunRecord::new(
            "large",
            "large",
            "rollscope",
            1_796_037_607_018_033_502,
            TargetFacts {
                namespace: Some("shop".to_owned()),
                workload: Some("deployment/checkout".to_owned()),
                services: vec!["checkout".to_owned()],
                ..TargetFacts::of("kubernetes")
            },
        )
    }
}
