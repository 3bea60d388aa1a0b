//! What is wrong with the input itself, and where.

use std::fmt;

use rollscope_scenarios::Position;

/// One thing that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file's name as it was given, or the live object's.
    pub file: String,
    /// Where in it; `None` for the file as a whole, and in a live object.
    pub at: Option<Position>,
    /// The field, as `spec.replicas`; empty where it is not about one.
    pub path: String,
    /// What was found, in words.
    pub found: String,
    /// What was expected, in words.
    pub expected: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(at) = self.at {
            write!(f, ":{}:{}", at.line, at.column)?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": found {}, expected {}", self.found, self.expected)
    }
}

/// Everything that is wrong with the input; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadInput(Vec<Problem>);

impl BadInput {
    /// The problems, put in the order of files and places; `None` when there are none.
    pub(crate) fn of(mut problems: Vec<Problem>) -> Option<Self> {
        problems.sort();
        problems.dedup();
        (!problems.is_empty()).then_some(Self(problems))
    }

    /// The problems; at least one.
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BadInput {}

/// `text` for a message: without secrets and control characters, and not too long.
pub(crate) fn shown(text: &str) -> String {
    rollscope_records::redact::shown(text, 120)
}
