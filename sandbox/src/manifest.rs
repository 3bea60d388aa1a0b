//! The manifest: an ordinary multi-document YAML file (or a `v1` List) with a Deployment and its Services.

mod check;
pub(crate) mod defaults;
mod documents;
mod single;
mod strict;

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use single::{Readiness, Single};

/// One thing that is wrong in a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line it is on, from 1, where it could be found.
    pub line: Option<usize>,
    /// What is wrong and what was expected.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Why a manifest can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file can't be read.
    #[error("cannot read the manifest {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It was read and is wrong; every problem found is in it.
    #[error("the manifest {} cannot be used:{}", file.display(), listed(problems))]
    Invalid {
        /// The file.
        file: PathBuf,
        /// What is wrong, in the file's order.
        problems: Vec<Problem>,
    },
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(|p| format!("\n  {p}")).collect()
}

/// A checked manifest: one Deployment and its Services, with the API server's defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The namespace that all objects are in.
    pub namespace: String,
    /// The `apps/v1` Deployment.
    pub deployment: Value,
    /// The `v1` Services; those that select the Deployment's pods come first.
    pub services: Vec<Value>,
    /// How many of [`Self::services`] select the Deployment's pods; at least 1.
    pub selecting: usize,
    /// What was ignored.
    pub warnings: Vec<String>,
}

impl Manifest {
    /// Reads and checks a manifest file.
    ///
    /// # Errors
    /// The file can't be read, is not YAML, or does not hold exactly one Deployment with a Service that selects its
    /// pods; all problems are in the one error.
    pub fn read(file: &Path) -> Result<Self, ManifestError> {
        let text = std::fs::read_to_string(file).map_err(|source| ManifestError::Read {
            file: file.to_owned(),
            source,
        })?;
        Self::parse(&text).map_err(|problems| ManifestError::Invalid {
            file: file.to_owned(),
            problems,
        })
    }

    /// Checks a manifest's text.
    ///
    /// # Errors
    /// Everything that is wrong in it.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        check::checked(documents::read(text)?, text)
    }

    /// The Deployment's name.
    pub fn deployment_name(&self) -> &str {
        self.deployment["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
    }
}

/// The objects of a manifest as they are written, also those that the sandbox does not run; a list's items one by one.
///
/// # Errors
/// A document that is no YAML.
pub fn objects(text: &str) -> Result<Vec<Value>, Problem> {
    let mut objects: Vec<Value> = Vec::new();
    for (_, document) in documents::split(text) {
        let mut object: Value = documents::parse(&document)?;
        match object["items"].as_array_mut() {
            Some(items) => objects.append(items),
            None => objects.push(object),
        }
    }
    Ok(objects)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;
