//! Why a folder cannot be imported.

use std::path::PathBuf;

use rollscope_records::WriteError;

/// Why a folder cannot be imported. Each message names the file, what is wrong in it, and what was expected.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Not a folder that can be read.
    #[error("{}: {source}; expected a folder with requests.jsonl and *.watch files", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What happened.
        source: std::io::Error,
    },
    /// Nothing in it can be imported.
    #[error(
        "{}: neither requests.jsonl nor any *.watch file is here; expected a folder of recorded streams", .0.display()
    )]
    Empty(PathBuf),
    /// A line in the middle of a file is damaged.
    #[error("{}, line {line}: {why}; expected {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
        /// What a line looks like.
        expected: &'static str,
    },
    /// The recording could not be written.
    #[error("the recording could not be written: {0}")]
    Write(#[from] WriteError),
}
