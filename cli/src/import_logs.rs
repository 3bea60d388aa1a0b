//! `rollscope import`: access logs and what a cluster wrote down -> a recording and reports for each deploy.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rollscope_accesslogs::Format;
use rollscope_analyzer::Analysis;
use rollscope_imports::{Deploy, Imported, LogImportError, Sources};
use rollscope_records::{Recording, RecordingWriter};
use rollscope_reports::count;
use serde_json::json;

use crate::args::ImportArgs;
use crate::exit::{Exit, Failure};
use crate::{analyze, index, terminal};

/// Exits with 1 when a deploy failed requests beyond what fails without one, else with 3 when one was not seen whole.
pub(crate) fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    let sources = sources(args)?;
    if args.out.exists() && std::fs::read_dir(&args.out).is_ok_and(|mut d| d.next().is_some()) {
        return Err(Failure::usage(format!(
            "{} is not empty: give --out a new folder",
            args.out.display()
        )));
    }
    let imported = rollscope_imports::import(&sources).map_err(|error| match error {
        LogImportError::Read { ref source, .. }
            if source.kind() == std::io::ErrorKind::PermissionDenied =>
        {
            Failure::environment(error)
        }
        _ => Failure::usage(error),
    })?;
    let mut judged = Vec::new();
    for (i, deploy) in imported.deploys.iter().enumerate() {
        judged.push(judge(i, deploy, args)?);
    }
    let table = table(&imported, &judged);
    write(
        &args.out.join("deploys.json"),
        &document(&imported, &judged),
    )?;
    index::write(&args.out)?;
    match args.output.json {
        true => terminal::json(&document(&imported, &judged)),
        false => terminal::result(&format!(
            "{table}trend       {}\n",
            args.out.join("index.html").display()
        )),
    }
    let worst = |exit: Exit| judged.iter().any(|j| j.exit == exit);
    Ok(match (worst(Exit::GateFailed), worst(Exit::Invalid)) {
        (true, _) => Exit::GateFailed,
        (false, true) => Exit::Invalid,
        _ => Exit::Passed,
    })
}

fn sources(args: &ImportArgs) -> Result<Sources, Failure> {
    let format: Format = args
        .log_format
        .parse()
        .map_err(|error| Failure::usage(format!("--log-format {}: {error}", args.log_format)))?;
    Ok(Sources {
        logs: args.logs.clone(),
        format,
        zone_seconds: args.zone.unwrap_or(0),
        watch: args.watch.clone(),
        events: args.events.clone(),
        audit: args.audit.clone(),
        windows: args.windows.clone(),
        marks: args.mark.clone(),
        max_failed: args.max_failed,
    })
}

/// A deploy with its verdict.
struct Judged {
    folder: PathBuf,
    analysis: Analysis,
    exit: Exit,
}

impl Judged {
    /// Failed requests by cause, without what fails anyway.
    fn causes(&self) -> BTreeMap<&str, u64> {
        let mut causes = BTreeMap::new();
        for burst in self
            .analysis
            .bursts
            .iter()
            .filter(|b| b.cause != "background")
        {
            *causes.entry(burst.cause.as_str()).or_default() += burst.failed;
        }
        causes
    }

    fn beyond(&self) -> u64 {
        self.causes().values().sum()
    }
}

fn judge(i: usize, deploy: &Deploy, args: &ImportArgs) -> Result<Judged, Failure> {
    let name: String = deploy
        .window
        .name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') {
                c
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    let folder = args.out.join(format!("{:03}-{name}", i + 1));
    let recording = folder.join("recording.rollscope");
    record(&deploy.recording, &recording)?;
    let recording = Recording::open(&recording).map_err(Failure::environment)?;
    let (analysis, exit) = analyze::quiet(&recording, &folder, &args.output)?;
    Ok(Judged {
        folder,
        analysis,
        exit,
    })
}

fn record(recording: &Recording, dir: &Path) -> Result<(), Failure> {
    let writer = RecordingWriter::create(dir, &recording.run).map_err(Failure::environment)?;
    let requests = recording.requests.iter();
    requests.for_each(|r| writer.request(r.to_record()));
    recording
        .balancers
        .iter()
        .for_each(|b| writer.balancer(b.clone()));
    recording.watch.iter().for_each(|w| writer.watch(w.clone()));
    recording.logs.iter().for_each(|l| writer.log(l.clone()));
    recording
        .stages
        .iter()
        .for_each(|s| writer.stage(s.clone()));
    writer
        .finish(recording.generator.as_ref(), &recording.run)
        .map(drop)
        .map_err(Failure::environment)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|e| Failure::environment(format!("cannot write {}: {e}", path.display())))
}

/// A row for each deploy.
fn table(imported: &Imported, judged: &[Judged]) -> String {
    let mut text = String::new();
    let outside = imported.outside;
    let mut line = |words: String| {
        let written = writeln!(text, "{words}");
        debug_assert!(written.is_ok());
    };
    line(format!(
        "import      {} lines, {} malformed; {}",
        count(imported.lines),
        count(imported.malformed.count),
        deploys(judged.len())
    ));
    let notes = imported
        .malformed
        .words("logs")
        .into_iter()
        .chain(imported.notes.iter().cloned());
    notes.for_each(|note| line(format!("            {note}")));
    line(format!(
        "outside     {} of {} requests failed ({:.3} %)",
        count(outside.failed),
        count(outside.requests),
        100.0 * outside.failed as f64 / (outside.requests.max(1)) as f64
    ));
    for (deploy, judged) in imported.deploys.iter().zip(judged) {
        let causes: Vec<_> = judged
            .causes()
            .into_iter()
            .map(|(cause, n)| format!("{cause} {}", count(n)))
            .collect();
        let verdict = match judged.exit {
            Exit::Passed => "as without a deploy".to_owned(),
            Exit::Invalid => format!(
                "not seen whole: {}",
                judged.analysis.verdict.reasons.join("; ")
            ),
            _ => causes.join(", "),
        };
        line(format!(
            "{:<28} {:>9} requests {:>7} failed  {verdict}",
            deploy.window.name,
            count(deploy.requests),
            count(deploy.failed),
        ));
    }
    let bad = judged.iter().filter(|j| j.exit == Exit::GateFailed).count();
    line(format!(
        "{bad} of {} failed requests",
        deploys(judged.len())
    ));
    text
}

/// `1 deploy`, `2 deploys`.
fn deploys(n: usize) -> String {
    match n {
        1 => "1 deploy".to_owned(),
        n => format!("{n} deploys"),
    }
}

/// `deploys.json`.
fn document(imported: &Imported, judged: &[Judged]) -> String {
    let deploys = imported.deploys.iter().zip(judged);
    let deploys: Vec<_> = deploys
        .map(|(deploy, judged)| {
            let verdict = &judged.analysis.verdict;
            json!({
                "name": deploy.window.name,
                "from_unix_ms": deploy.window.from / 1_000_000,
                "to_unix_ms": deploy.window.to / 1_000_000,
                "requests": deploy.requests,
                "failed": deploy.failed,
                "failed_beyond_background": judged.beyond(),
                "causes": judged.causes(),
                "outcome": verdict.outcome,
                "exit_code": verdict.exit_code,
                "reasons": verdict.reasons,
                "folder": judged.folder.file_name().map(|n| n.to_string_lossy()),
            })
        })
        .collect();
    let document = json!({
        "schema": "rollscope/deploys/v1",
        "lines": imported.lines,
        "malformed": imported.malformed.count,
        "outside": {"requests": imported.outside.requests, "failed": imported.outside.failed},
        "notes": imported.notes,
        "deploys": deploys,
    });
    format!("{document:#}\n")
}
