//! The command: draw, run, label, score, tell.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::Parser;
use time::OffsetDateTime;

use super::draw::{Case, RANGES};
use super::execute::{CASE, Folders, execute};
use super::report;
use super::schedule::{Limits, each};
use super::score::Score;

/// Draws rollouts at random, records them, and holds the verdict on every failed request against the truth.
#[derive(Debug, Clone, Parser)]
#[command(name = "corpus")]
pub struct Args {
    /// Cases to run.
    #[arg(long, default_value_t = 300)]
    runs: u64,
    /// Seed of the draw.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs at once.
    #[arg(long, default_value_t = 6)]
    jobs: usize,
    /// Requests per second over all runs at once.
    #[arg(long, default_value_t = 800)]
    rate: u32,
    /// Cases of a higher rate are left out.
    #[arg(long)]
    max_rate: Option<u32>,
    /// Keeps the recordings of runs with a wrong verdict here.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Keeps all recordings, not only those with a wrong verdict.
    #[arg(long, requires = "keep")]
    keep_all: bool,
    /// Only this case.
    #[arg(long, value_name = "SEED:INDEX")]
    only: Option<String>,
    /// Runs nothing: scores the cases that were kept in this folder, with the analyzer of now.
    #[arg(long, value_name = "DIR", conflicts_with = "only")]
    score: Option<PathBuf>,
    /// Writes the result into this file.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// The program to run; by default this one, which has the product's main in it.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Runs the command. An error is a reason not to have begun.
pub fn main(args: &Args) -> Result<(), String> {
    let mut out = io::stdout().lock();
    let (score, keep) = match &args.score {
        Some(dir) => (rescore(dir)?, dir.clone()),
        None => (run(args)?, args.keep.clone().unwrap_or_default()),
    };
    let tables = report::tables(&score);
    let _ = writeln!(out, "{tables}");
    let _ = writeln!(
        out,
        "{}",
        report::findings(&score, &keep.display().to_string())
    );
    let last = report::last_line(&score);
    if let Some(path) = &args.write {
        let document = document(args, &tables, &last);
        fs::write(path, document).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let _ = writeln!(out, "{last}");
    Ok(())
}

fn cases(args: &Args) -> Result<Vec<Case>, String> {
    if let Some(only) = &args.only {
        let numbers = only
            .split_once(':')
            .and_then(|(s, i)| Some((s.parse().ok()?, i.parse().ok()?)));
        let (seed, index) =
            numbers.ok_or_else(|| format!("--only {only}: expected SEED:INDEX, such as 1:42"))?;
        return Ok(vec![Case::draw(seed, index)]);
    }
    let drawn = (0..args.runs).map(|index| Case::draw(args.seed, index));
    let fits = |case: &Case| args.max_rate.is_none_or(|max| case.rate <= max);
    Ok(drawn.filter(fits).collect())
}

fn run(args: &Args) -> Result<Score, String> {
    let cases = cases(args)?;
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let program = args.program.clone().unwrap_or(own);
    let work = tempfile::tempdir().map_err(|e| e.to_string())?;
    let score = Mutex::new(Score::default());
    let limits = Limits {
        jobs: args.jobs,
        rate: args.rate,
    };
    each(
        &cases,
        limits,
        |case| case.rate,
        |case| one(args, case, &program, work.path(), &score),
    );
    Ok(score.into_inner().unwrap())
}

fn one(args: &Args, case: &Case, program: &Path, work: &Path, score: &Mutex<Score>) {
    let folders = Folders::new(work, case);
    let said = match execute(case, program, &folders) {
        Ok(()) => {
            let bad = score.lock().unwrap().add(case, &folders);
            if bad > 0 {
                format!("{bad} wrong or left out")
            } else {
                "right".to_owned()
            }
        }
        Err(why) => {
            score.lock().unwrap().discard("no recording");
            why
        }
    };
    let _ = writeln!(io::stderr(), "{}: {said}: {}", case.folder(), case.words());
    let wanted = said != "right" || args.keep_all;
    if let (Some(keep), true) = (&args.keep, wanted) {
        let _ = copy(folders.root(), &keep.join(case.folder()));
    }
    let _ = fs::remove_dir_all(folders.root());
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn rescore(dir: &Path) -> Result<Score, String> {
    let entries = fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut score = Score::default();
    let mut cases: Vec<Case> = entries
        .flatten()
        .filter_map(|entry| {
            let json = fs::read_to_string(entry.path().join(CASE)).ok()?;
            serde_json::from_str(&json).ok()
        })
        .collect();
    cases.sort_by_key(|case| (case.seed, case.index));
    for case in &cases {
        let folders = Folders::new(dir, case);
        if folders.recording().exists() {
            score.add(case, &folders);
        }
    }
    Ok(score)
}

/// The arguments that decide the result, as they can be given again.
fn again(args: &Args) -> String {
    if let Some(dir) = &args.score {
        return format!("--score {}", dir.display());
    }
    if let Some(only) = &args.only {
        return format!("--only {only}");
    }
    let mut again = format!("--runs {} --seed {}", args.runs, args.seed);
    if let Some(max) = args.max_rate {
        again += &format!(" --max-rate {max}");
    }
    again
}

fn document(args: &Args, tables: &str, last: &str) -> String {
    let today = OffsetDateTime::now_utc().date();
    let mut text = format!(
        "# How often the cause is right\n\nMeasured on rollouts that were drawn at random, run in the sandbox, and labelled from what the sandbox and the servers\n\
         themselves wrote down, apart from the recording. Every failed request counts, not only large bursts.\n\n    \
         cargo run --release -p rollscope-tests --bin corpus -- {}\n\n{today}: {last}\n\n## Ranges of the draw\n\n| what | range |\n|---|---|\n",
        again(args)
    );
    for (what, range) in RANGES {
        text += &format!("| {what} | {range} |\n");
    }
    text + RULES + tables.trim_end() + "\n"
}

const RULES: &str = "
## What counts as right

The true cause of a request comes from the front end's log (which pod its connection or request was sent to, and how that
ended), the pod's own ledger and the kubelet's log; the rules are in `tests/src/corpus/label.rs`. Where either of two
causes would have saved the request, both are right: where a stream without an end is cut by a server that was stopped
before its drain came to it, and where a server with two owners of its shutdown hides its log. What the shutdown of an
evicted pod fails is `node_drain`, however the pod went. `several` is right only where it names the true cause and no
observer can tell more: without logs and without a readiness probe; for a wrapper that dies of the signal and for an end
with an error code after the signal (a timer's or an error's), without logs; for a process that was killed at about its
deletion; behind `l4` while the front end may not know yet that an endpoint is ready again; for refusals within half a
second of others with another cause, since neither a refused connection nor a balancer's error names its pod. `unknown`
is never right.

## Result

";
