//! Reports as files, each written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rollscope_analyzer::Analysis;
use rollscope_records::Recording;

use crate::{report_json, timeline_html};

/// Where the reports are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportPaths {
    /// The HTML timeline.
    pub timeline: PathBuf,
    /// `report.json`.
    pub report: PathBuf,
}

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The folder could not be made.
    #[error("cannot make the folder {} for the reports: {source}; choose another with --out", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be written or put in its place. What stood there before still stands.
    #[error("cannot write the report {}: {source}{}", path.display(), hint(source))]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space and run `rollscope analyze` on the recording"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; choose another folder with --out"
        }
        _ => "",
    }
}

/// Writes `timeline.html` and `report.json` into `dir`, which is made when it is not there. Each file is written beside
/// its place and then renamed, so that a reader never sees half of one and a full disk leaves the old one alone.
///
/// # Errors
///
/// [`ReportError`] names the file or folder and the cause.
pub fn write_reports(
    dir: &Path,
    analysis: &Analysis,
    recording: &Recording,
) -> Result<ReportPaths, ReportError> {
    fs::create_dir_all(dir).map_err(|source| ReportError::Folder {
        path: dir.to_owned(),
        source,
    })?;
    let paths = ReportPaths {
        timeline: dir.join("timeline.html"),
        report: dir.join("report.json"),
    };
    replace(&paths.report, report_json(analysis).as_bytes())?;
    replace(
        &paths.timeline,
        timeline_html(analysis, recording).as_bytes(),
    )?;
    Ok(paths)
}

/// Puts `bytes` at `path` by way of a temporary file beside it.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), ReportError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let done = File::create(&temporary)
        .and_then(|file| fill(file, bytes))
        .and_then(|()| fs::rename(&temporary, path));
    done.map_err(|source| {
        let _ = fs::remove_file(&temporary);
        ReportError::File {
            path: path.to_owned(),
            source,
        }
    })
}

/// Writes everything through to the disk.
fn fill(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_with_what_to_do() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let source = fill(full, b"report").unwrap_err();
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        let error = ReportError::File {
            path: "out/timeline.html".into(),
            source,
        }
        .to_string();
        assert!(error.contains("out/timeline.html"), "{error}");
        assert!(error.contains("No space left on device"), "{error}");
        assert!(error.contains("rollscope analyze"), "{error}");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("report.json");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("kept"), "x").unwrap();
        let error = replace(&place, b"{}").unwrap_err().to_string();
        assert!(error.contains("report.json"), "{error}");
        let left: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(left, ["report.json"]);
        assert!(place.join("kept").exists());
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("report.json");
        fs::write(&place, "an older and longer report").unwrap();
        replace(&place, b"{}\n").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"{}\n");
    }
}
