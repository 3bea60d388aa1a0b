//! `rollscope index`: the report.json files of a folder of runs -> index.html.

use std::fs;
use std::path::{Path, PathBuf};

use rollscope_reports::{RunEntry, write_index};

use crate::args::IndexArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// How deep below the folder reports are looked for.
const DEPTH: usize = 3;

/// Writes the index. A report that cannot be read is left out with a note.
pub(crate) fn index(args: &IndexArgs) -> Result<Exit, Failure> {
    let (path, runs) = write(&args.dir)?;
    let found = if runs == 1 { "run" } else { "runs" };
    terminal::result(&format!("{runs} {found} -> {}\n", path.display()));
    Ok(Exit::Passed)
}

/// Writes `index.html` into the folder; its path, and how many runs are in it.
pub(crate) fn write(dir: &Path) -> Result<(PathBuf, usize), Failure> {
    let mut reports = Vec::new();
    find(dir, DEPTH, &mut reports)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", dir.display())))?;
    reports.sort();
    let runs: Vec<RunEntry> = reports
        .iter()
        .filter_map(|report| entry(dir, report))
        .collect();
    if runs.is_empty() {
        let dir = dir.display();
        return Err(Failure::usage(format!(
            "no report.json that can be shown in {dir} or {DEPTH} folders below it; `rollscope analyze` writes one"
        )));
    }
    let path = write_index(dir, &runs).map_err(Failure::environment)?;
    Ok((path, runs.len()))
}

/// The `report.json` files in `dir` and below; links are not followed, recordings not searched.
fn find(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let recording = path.extension().is_some_and(|e| e == "rollscope");
        if kind.is_dir() && depth > 0 && !recording {
            if let Err(error) = find(&path, depth - 1, found) {
                terminal::note(&format!("left out {}: {error}", path.display()));
            }
        } else if kind.is_file() && entry.file_name() == "report.json" {
            found.push(path);
        }
    }
    Ok(())
}

fn entry(dir: &Path, report: &Path) -> Option<RunEntry> {
    let timeline = report.with_file_name("timeline.html");
    let link = timeline
        .is_file()
        .then(|| relative(dir, &timeline))
        .flatten();
    let read = fs::read_to_string(report).map_err(|error| error.to_string());
    let entry = read.and_then(|text| RunEntry::from_report(&text, link).map_err(|e| e.to_string()));
    entry
        .inspect_err(|error| terminal::note(&format!("left out {}: {error}", report.display())))
        .ok()
}

/// `path` below `dir` with `/` between its parts; `None` where a part is not text.
fn relative(dir: &Path, path: &Path) -> Option<String> {
    let parts = path.strip_prefix(dir).ok()?.iter();
    let parts: Option<Vec<&str>> = parts.map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}
