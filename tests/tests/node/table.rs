//! The README's table of the Node.js subjects: what each is expected to get.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) subject: String,
    /// From its rollout.
    pub(crate) rollout: Verdict,
    /// From `rollscope signal`.
    pub(crate) signal: Verdict,
    /// What `rollscope signal` is told beside the usual.
    pub(crate) flags: Vec<String>,
}

/// What a subject is expected to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) exit_code: i32,
    /// The cause that must be among those of its bursts; `None`: no request need fail.
    pub(crate) cause: Option<String>,
    /// Causes that may stand beside it.
    pub(crate) beside: BTreeSet<String>,
    /// Findings that must be told.
    pub(crate) findings: BTreeSet<String>,
}

const HEADING: &str = "### Node.js subjects";

/// The folder of the repository.
pub(crate) fn repository() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap().to_owned()
}

/// The cells of the first table under a heading.
pub(crate) fn rows_under(text: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, section) = text.split_once(heading).expect("the table's heading");
    let rows = section
        .lines()
        .skip_while(|l| !l.starts_with("|---"))
        .skip(1);
    let rows = rows.take_while(|l| l.starts_with('|'));
    rows.map(|line| {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    })
    .collect()
}

/// Every row.
pub(crate) fn expected() -> Vec<Expected> {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    rows_under(&readme, HEADING)
        .iter()
        .map(|cells| row(cells))
        .collect()
}

fn row(cells: &[String]) -> Expected {
    let [subject, _, exit_code, cause, findings, signal] = cells else {
        panic!("not a row of six: {cells:?}");
    };
    let (exit, told) = signal.split_once(' ').unwrap_or((signal, ""));
    let (told, with) = told.split_once("with").unwrap_or((told, ""));
    let (causes, found) = told.split_once("finding").unwrap_or((told, ""));
    let flags = words(with).join(" ");
    Expected {
        subject: words(subject).remove(0),
        rollout: verdict(exit_code, cause, findings),
        signal: verdict(exit.trim_end_matches(':'), causes, found),
        flags: flags.split_ascii_whitespace().map(str::to_owned).collect(),
    }
}

fn verdict(exit_code: &str, cause: &str, findings: &str) -> Verdict {
    let (always, at_times) = cause.split_once("at times").unwrap_or((cause, ""));
    Verdict {
        exit_code: exit_code.parse().unwrap(),
        cause: words(always).pop(),
        beside: words(at_times).into_iter().collect(),
        findings: words(findings).into_iter().collect(),
    }
}

/// What stands in backquotes.
pub(crate) fn words(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

fn names(folder: &str, extension: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(repository().join(folder)).unwrap();
    entries
        .map(|e| e.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_cell_says_exit_code_cause_finding_and_flags() {
    let line = "| `x` | a server | 0 | none | | 1 `a`, at times `b`, finding `c`, with `--rate=2/s --path=/` |";
    let rows = rows_under(&format!("h\n|---|\n{line}\n"), "h");
    let row = row(&rows[0]);
    assert_eq!(row.flags, ["--rate=2/s", "--path=/"]);
    let own = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
    let expected = Verdict {
        exit_code: 1,
        cause: Some("a".to_owned()),
        beside: own(&["b"]),
        findings: own(&["c"]),
    };
    assert_eq!((row.signal, row.rollout.exit_code), (expected, 0));
}

#[test]
fn every_scenario_and_manifest_of_a_node_subject_has_its_row() {
    let rows: BTreeSet<_> = expected().into_iter().map(|e| e.subject).collect();
    assert_eq!(names("scenarios/node", "yaml"), rows);
    assert_eq!(names("scenarios/node/manifests", "yaml"), rows);
}

#[test]
fn every_program_of_a_node_subject_has_its_row() {
    let rows: BTreeSet<_> = expected().into_iter().map(|e| e.subject).collect();
    let mut programs = names("scenarios/subjects/node", "js");
    // What is copied into services; the subjects with a command of another kind run the reference.
    assert!(programs.remove("graceful-shutdown"));
    programs.extend(["npm-start", "shell-wrapped"].map(str::to_owned));
    assert_eq!(programs, rows);
}
