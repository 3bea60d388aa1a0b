//! Reports as files, each written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rollscope_analyzer::Analysis;
use rollscope_records::{Recording, in_parallel, requests_parquet};

use crate::figures::{DrawError, Figure};
use crate::{
    Format, RunEntry, comparison_html, index_html, junit_xml, latency_hlog, report_json,
    summary_md, timeline_html, trace_json,
};

/// Where the reports are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportPaths {
    /// Every file that was written, in the order of [`Format::ALL`].
    pub files: Vec<(Format, PathBuf)>,
}

impl ReportPaths {
    /// The first file of a format.
    pub fn of(&self, format: Format) -> Option<&Path> {
        let found = self.files.iter().find(|(of, _)| *of == format);
        found.map(|(_, path)| path.as_path())
    }
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
    /// A figure could not be drawn.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// The requests could not be encoded.
    #[error("cannot write requests.parquet: {0}")]
    Encode(#[from] rollscope_records::WriteError),
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

/// Writes the reports of `formats` into `dir`, which is made when it is not there. Each file is written beside its
/// place and then renamed, so that a reader never sees half of one and a full disk leaves the old one alone. The same
/// recording gives the same bytes.
///
/// # Errors
///
/// [`ReportError`] names the file or folder and the cause.
pub fn write_reports(
    dir: &Path,
    formats: &[Format],
    analysis: &Analysis,
    recording: &Recording,
) -> Result<ReportPaths, ReportError> {
    make_folder(dir)?;
    let chosen: Vec<Format> = Format::ALL
        .into_iter()
        .filter(|f| formats.contains(f))
        .collect();
    let write = |format: &Format| -> Result<Vec<(Format, PathBuf)>, ReportError> {
        let mut files = Vec::new();
        for (name, bytes) in contents(*format, formats, analysis, recording)? {
            let path = dir.join(name);
            if let Some(folder) = path.parent() {
                make_folder(folder)?;
            }
            replace(&path, &bytes)?;
            files.push((*format, path));
        }
        Ok(files)
    };
    let written = in_parallel(&chosen, write);
    let files: Vec<_> = written.into_iter().collect::<Result<_, _>>()?;
    Ok(ReportPaths {
        files: files.concat(),
    })
}

/// Writes `index.html` of `runs` into `dir` and returns its path.
///
/// # Errors
///
/// [`ReportError::File`] names the file and the cause.
pub fn write_index(dir: &Path, runs: &[RunEntry]) -> Result<PathBuf, ReportError> {
    let path = dir.join("index.html");
    replace(&path, index_html(runs).as_bytes())?;
    Ok(path)
}

/// Writes `comparison.html` of two runs into `dir`, which is made when it is not there, and returns its path.
pub fn write_comparison(
    dir: &Path,
    before: &Analysis,
    after: &Analysis,
) -> Result<PathBuf, ReportError> {
    make_folder(dir)?;
    let path = dir.join("comparison.html");
    replace(&path, comparison_html(before, after).as_bytes())?;
    Ok(path)
}

/// The files of a format: name below the folder, and content.
fn contents(
    format: Format,
    formats: &[Format],
    a: &Analysis,
    recording: &Recording,
) -> Result<Vec<(String, Vec<u8>)>, ReportError> {
    let one = |name: &str, bytes: Vec<u8>| Ok(vec![(name.to_owned(), bytes)]);
    match format {
        Format::Html => one("timeline.html", timeline_html(a, recording).into_bytes()),
        Format::Json => one("report.json", report_json(a).into_bytes()),
        Format::Junit => one("junit.xml", junit_xml(a).into_bytes()),
        Format::Md => {
            let text = summary_md(a, recording, timeline_figure(formats).as_deref());
            one("summary.md", text.into_bytes())
        }
        Format::Trace => one("trace.json", trace_json(a, recording).into_bytes()),
        Format::Hlog => one("latency.hlog", latency_hlog(recording)),
        Format::Parquet => one("requests.parquet", requests_parquet(&recording.requests)?),
        Format::Svg => figures("svg", |figure| Ok(figure.svg(a, recording)?.into_bytes())),
        Format::Png => figures("png", |figure| figure.png(a, recording)),
    }
}

fn figure_file(figure: Figure, extension: &str) -> String {
    format!("figures/{}.{extension}", figure.name())
}

fn figures(
    extension: &str,
    draw: impl Fn(Figure) -> Result<Vec<u8>, DrawError>,
) -> Result<Vec<(String, Vec<u8>)>, ReportError> {
    let drawn = Figure::ALL
        .into_iter()
        .map(|figure| Ok((figure_file(figure, extension), draw(figure)?)));
    drawn.collect()
}

/// The timeline's picture, where one is written beside the summary.
fn timeline_figure(formats: &[Format]) -> Option<String> {
    let extension = [Format::Png, Format::Svg]
        .into_iter()
        .find(|format| formats.contains(format))?;
    Some(figure_file(Figure::Timeline, extension.name()))
}

fn make_folder(dir: &Path) -> Result<(), ReportError> {
    fs::create_dir_all(dir).map_err(|source| ReportError::Folder {
        path: dir.to_owned(),
        source,
    })
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
