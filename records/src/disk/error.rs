//! What can go wrong between a recording and its disk.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use polars::prelude::PolarsError;

/// A recording could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The operating system refused.
    #[error("cannot write the recording: {path}: {source}", path = .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder holds something already.
    #[error("{path} exists already; choose another --out folder", path = .0.display())]
    Exists(PathBuf),
    /// Rows could not be encoded.
    #[error("cannot encode rows of the recording: {0}")]
    Encode(#[from] PolarsError),
    /// The writing thread ended before its time.
    #[error("the recording's writer ended unexpectedly")]
    WriterGone,
}

impl WriteError {
    pub(crate) fn create(path: &Path) -> Result<File, Self> {
        File::create(path).map_err(|source| Self::Io {
            path: path.to_owned(),
            source,
        })
    }

    /// Writes a file whole or not at all: beside it first, then renamed.
    pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Self> {
        Self::whole(path, |file| {
            file.write_all(bytes).map_err(|source| Self::Io {
                path: path.to_owned(),
                source,
            })
        })
    }

    /// As [`write_whole`](Self::write_whole), with what `write` puts into the file.
    pub(crate) fn whole(
        path: &Path,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<(), Self>,
    ) -> Result<(), Self> {
        let io = |source| Self::Io {
            path: path.to_owned(),
            source,
        };
        let beside = path.with_extension("partial");
        let written = File::create(&beside).map_err(io).and_then(|file| {
            // Parquet's metadata comes a byte at a time.
            let mut file = BufWriter::new(file);
            write(&mut file)?;
            file.flush().map_err(io)?;
            file.get_ref().sync_data().map_err(io)
        });
        written
            .and_then(|()| std::fs::rename(&beside, path).map_err(io))
            .inspect_err(|_| {
                let _ = std::fs::remove_file(&beside);
            })
    }
}

/// A recording could not be read at all. Smaller damage is a [`Loss`](crate::Loss).
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system refused.
    #[error("cannot read the recording: {path}: {source}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder is not a recording.
    #[error("{path} is not a recording: it has no run.json with a format version (give the folder that ends in .rollscope)", path = .0.display())]
    NotARecording(PathBuf),
    /// `run.json` is not what it should be.
    #[error("{path} cannot be understood: {source}", path = .path.display())]
    Run {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// Written by a newer version.
    #[error("{path} has format version {found}; this program reads up to {known}: use a newer rollscope", path = .path.display())]
    TooNew {
        /// The recording.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The newest that this program reads.
        known: u32,
    },
    /// A file's checksum is wrong.
    #[error("{path} is damaged: its checksum is wrong", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// Columns could not be decoded.
    #[error("cannot decode rows of the recording: {0}")]
    Decode(#[from] PolarsError),
}
