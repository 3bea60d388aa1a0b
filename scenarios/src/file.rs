//! Reading a scenario from a file or a text.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::check::{self, Checker};
use crate::model::Scenario;
use crate::problem::{Place, Position, Problem, ScenarioErrors};
use crate::tree;

/// A scenario is written by hand; a longer file is something else.
const LONGEST_FILE: u64 = 1 << 20;

impl Scenario {
    /// Reads and checks the scenario in the file `path`.
    ///
    /// # Errors
    ///
    /// Every problem of the file at once, also that it cannot be read.
    pub fn load(path: &Path) -> Result<Self, ScenarioErrors> {
        let name = path.display().to_string();
        let unreadable = |problem| ScenarioErrors::new(&name, vec![problem]);
        let bytes = read(path).map_err(|found| unreadable(whole_file(found)))?;
        let text = decode(&bytes).map_err(unreadable)?;
        let base_dir = path.parent().unwrap_or(Path::new(""));
        parse(text, &name, base_dir)
    }
}

/// Checks the scenario `text`. `file_name` is used in messages only; relative paths in the scenario start at `base_dir`.
///
/// # Errors
///
/// Every problem of the text at once, each with line and column, what was found, what was expected, and the nearest
/// valid key where one is near.
pub fn parse(text: &str, file_name: &str, base_dir: &Path) -> Result<Scenario, ScenarioErrors> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut checker = Checker {
        problems: Vec::new(),
        base_dir,
    };
    let scenario = match tree::read(text, &mut checker.problems) {
        Some(root) => check::scenario(&root, &mut checker),
        None => {
            if checker.problems.is_empty() {
                checker
                    .problems
                    .push(whole_file("an empty file".to_owned()));
            }
            None
        }
    };
    match scenario {
        Some(scenario) if checker.problems.is_empty() => Ok(scenario),
        _ => Err(ScenarioErrors::new(file_name, checker.problems)),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error: std::io::Error| format!("a file that cannot be read ({error})");
    let file = File::open(path).map_err(cannot)?;
    if file.metadata().map_err(cannot)?.is_dir() {
        return Err("a directory".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(LONGEST_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    if bytes.len() as u64 > LONGEST_FILE {
        return Err("a file of more than 1 MiB".to_owned());
    }
    Ok(bytes)
}

/// The bytes as UTF-8, or the place of the first that is not.
fn decode(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let last_line = good.rsplit('\n').next().unwrap_or_default();
        Problem {
            place: Place::At(Position {
                line: good.matches('\n').count() + 1,
                column: last_line.chars().count() + 1,
            }),
            key: String::new(),
            found: "a byte that is not UTF-8".to_owned(),
            expected: "a text file in UTF-8".to_owned(),
            nearest: None,
        }
    })
}

fn whole_file(found: String) -> Problem {
    Problem {
        place: Place::WholeFile,
        key: String::new(),
        found,
        expected: "a scenario with `name`, `target`, `load` and `stages`".to_owned(),
        nearest: None,
    }
}
