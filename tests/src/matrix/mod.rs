//! Every Node.js subject behind every front end: what a client sees, and the cause that the report gives.

mod cell;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Mutex;

use clap::Parser;

use crate::corpus::schedule::{Limits, each};
use crate::{Redis, Workdir};
use cell::Cell;

/// The front ends of the sandbox, in the order of the columns.
pub const FRONT_ENDS: [&str; 5] = ["l4", "http", "nginx", "haproxy", "health_checked"];

/// What every shipped scenario of a Node.js subject says.
const SHIPPED: &str = "    front_end: l4\n    endpoint_lag: 300ms..800ms\n";

/// Runs every Node.js subject behind every front end and prints the table of what a client saw, in Markdown.
#[derive(Debug, Clone, Parser)]
#[command(name = "matrix")]
pub struct Args {
    /// Runs at once.
    #[arg(long, default_value_t = 3)]
    jobs: usize,
    /// Only these subjects.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Keeps the reports here.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// The program to run; by default this one, which has the product's main in it.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Runs the command. An error is a reason not to have begun.
pub fn main(args: &Args) -> Result<(), String> {
    let own = std::env::current_exe().map_err(|why| why.to_string())?;
    let program = args.program.clone().unwrap_or(own);
    let program = program.to_str().ok_or("the program's path is no text")?;
    let subjects = subjects(&args.only)?;
    let runs: Vec<_> = subjects
        .iter()
        .flat_map(|s| FRONT_ENDS.map(|f| (s.as_str(), f)))
        .collect();
    let limits = Limits {
        jobs: args.jobs,
        rate: u32::MAX,
    };
    let cells = Mutex::new(BTreeMap::new());
    each(
        &runs,
        limits,
        |_| 0,
        |&(subject, front_end)| {
            let cell = run(program, subject, front_end, args.keep.as_ref());
            let _ = writeln!(io::stderr(), "{subject} behind {front_end}: {cell}");
            cells.lock().unwrap().insert((subject, front_end), cell);
        },
    );
    let table = table(&subjects, &cells.into_inner().unwrap());
    io::stdout()
        .write_all(table.as_bytes())
        .map_err(|why| why.to_string())
}

/// The Node.js subjects that have a scenario, in the order of their names.
fn subjects(only: &[String]) -> Result<Vec<String>, String> {
    let folder = crate::program::shipped().join("node");
    let entries = fs::read_dir(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let files = entries.flatten().map(|e| e.path());
    let mut names: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    match only.iter().find(|name| !names.contains(name)) {
        Some(name) => Err(format!(
            "no subject is called {name}: there are {}",
            names.join(", ")
        )),
        None if only.is_empty() => Ok(names),
        None => Ok(only.to_vec()),
    }
}

/// One cell. The files of the run go with it, unless they are kept.
fn run(program: &str, subject: &str, front_end: &str, keep: Option<&PathBuf>) -> Cell {
    let workdir = Workdir::new(program);
    let _redis = Redis::of_subject(&workdir, subject);
    let scenario = format!("scenarios/node/{subject}-{front_end}.yaml");
    let shipped = workdir
        .path()
        .join(format!("scenarios/node/{subject}.yaml"));
    let text = fs::read_to_string(shipped).unwrap();
    assert!(
        text.contains(SHIPPED),
        "{subject}.yaml is not as the others:\n{text}"
    );
    workdir.write(&scenario, &text.replace(SHIPPED, &target(front_end)));
    let finished = workdir.run(&scenario);
    let cell = Cell::of(&finished);
    if let Some(dir) = keep {
        let kept = dir.join(format!("{subject}-{front_end}"));
        let moved = fs::create_dir_all(dir).and_then(|()| copy(&finished.out, &kept));
        if let Err(why) = moved {
            let _ = writeln!(io::stderr(), "{}: {why}", kept.display());
        }
    }
    cell
}

/// Copies a folder with what is in it: it may be on another file system.
fn copy(from: &std::path::Path, to: &std::path::Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// A front end that learns of endpoints by itself has no lag to be given.
fn target(front_end: &str) -> String {
    match front_end {
        "health_checked" => "    front_end: health_checked\n    \
             health_check: { period: 500ms, unhealthy_after: 2, healthy_after: 2 }\n"
            .to_owned(),
        _ => SHIPPED.replace("l4", front_end),
    }
}

fn table(subjects: &[String], cells: &BTreeMap<(&str, &str), Cell>) -> String {
    let columns = FRONT_ENDS.map(|f| format!("`{f}`")).join(" | ");
    let mut table = format!("| subject | {columns} |\n|---|---|---|---|---|---|\n");
    for subject in subjects {
        let row = FRONT_ENDS.map(|f| cells[&(subject.as_str(), f)].to_string());
        let written = writeln!(table, "| `{subject}` | {} |", row.join(" | "));
        debug_assert!(written.is_ok());
    }
    table
}
