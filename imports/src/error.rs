//! Why an import cannot be made.

use std::io;
use std::path::PathBuf;

use rollscope_accesslogs::Malformed;
use rollscope_collector::ImportError;

/// Why an import cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum LogImportError {
    /// A file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}:{line}: {why}: expected {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was found.
        why: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// Most lines are not in the format.
    #[error("{} of {lines} lines are not in this format: is it the log's? {}", malformed.count, malformed.words("the logs").join("; "))]
    NotALog {
        /// Lines of the logs.
        lines: u64,
        /// Those that could not be read.
        malformed: Box<Malformed>,
    },
    /// Nothing says when there was a deploy.
    #[error(
        "no deploy is known: name them (--windows FILE with `from,to` a line), or give what the cluster wrote down (--watch, --events, --audit) in which pods or a Deployment change"
    )]
    NoDeploy,
    /// A log that is given twice.
    #[error("{}: is given twice: its requests would count twice", .0.display())]
    Twice(PathBuf),
    /// A mark's pattern.
    #[error("--mark {name}: {why}: expected a regular expression")]
    Mark {
        /// The mark.
        name: String,
        /// What is wrong with its pattern.
        why: String,
    },
    /// The folder of watch streams.
    #[error(transparent)]
    Watch(#[from] ImportError),
}
