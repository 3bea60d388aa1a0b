//! What is wrong with a scenario, and where.

use std::fmt;

/// A place in a text: line and column, both counted from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// Where a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The file as a whole: it cannot be read.
    WholeFile,
    /// A position in the file.
    At(Position),
    /// A flag of the command line, with its dashes.
    Flag(&'static str),
}

/// One problem of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it is.
    pub place: Place,
    /// The key that it is about, as `load.requests[1].weight`; empty for the file as a whole.
    pub key: String,
    /// What was found, in words.
    pub found: String,
    /// What was expected, in words.
    pub expected: String,
    /// What was probably meant: the nearest valid key or value.
    pub nearest: Option<String>,
}

impl fmt::Display for Problem {
    /// The problem without its place: `load.rate: found ..., expected ...; did you mean ...?`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "found {}, expected {}", self.found, self.expected)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

/// Every problem of a scenario, in the order of the file. Never empty.
///
/// `Display` gives one message with a line for each problem, in the form `file:line:column: what`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioErrors {
    source_name: String,
    problems: Vec<Problem>,
}

impl ScenarioErrors {
    /// The problems of `source_name` (a file's name, or `command line`), put in the order of their places.
    pub(crate) fn new(source_name: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|p| p.place);
        Self {
            source_name: source_name.to_owned(),
            problems,
        }
    }

    /// The problems, in the order of the file; at least one.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The file's name as it was given, or `command line`.
    pub fn source_name(&self) -> &str {
        &self.source_name
    }
}

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.problems.len();
        let plural = if count == 1 { "" } else { "s" };
        write!(f, "{}: {count} problem{plural}", self.source_name)?;
        for problem in &self.problems {
            f.write_str("\n  ")?;
            match problem.place {
                Place::WholeFile => write!(f, "{}: ", self.source_name)?,
                Place::At(at) => write!(f, "{}:{}:{}: ", self.source_name, at.line, at.column)?,
                Place::Flag(flag) => write!(f, "{flag}: ")?,
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioErrors {}
