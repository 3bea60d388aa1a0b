//! `logs/<pod>.<container>.<restart>.api.log`: `<receive time, ns> <runtime timestamp> <line>`.

use std::collections::BTreeSet;
use std::path::Path;

use rollscope_records::{LogSource, redact};

use super::{ImportError, files};

/// A log line with the time at which it was received, ns since the epoch.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) nanos: i64,
    pub(super) source: LogSource,
    pub(super) timestamp: Option<String>,
    pub(super) line: String,
}

/// All lines of all containers, in order of their receive time; `None` when there is no folder `logs`.
pub(super) fn read(
    dir: &Path,
    warnings: &mut Vec<String>,
) -> Result<Option<Vec<Received>>, ImportError> {
    let folder = dir.join("logs");
    if !folder.is_dir() {
        return Ok(None);
    }
    let mut lines = Vec::new();
    for name in names(&folder)? {
        let Some(source) = source(&name) else {
            continue;
        };
        if let Some((path, text)) = files::read(&folder, &name)? {
            let expected = "`<receive time, ns> <runtime timestamp> <line>`";
            let read = files::lines(&path, &text, expected, warnings, |l| parse(l, &source))?;
            lines.extend(read.into_iter().flatten());
        }
    }
    lines.sort_by_key(|l| l.nanos);
    Ok(Some(lines))
}

/// The names of the files, without `.gz`, in order.
fn names(folder: &Path) -> Result<BTreeSet<String>, ImportError> {
    let failed = |source| ImportError::Read {
        path: folder.to_owned(),
        source,
    };
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let name = name.to_string_lossy();
        names.insert(name.strip_suffix(".gz").unwrap_or(&name).to_owned());
    }
    Ok(names)
}

/// Who wrote the file's lines; `None` when it is no log that was followed through the API.
fn source(name: &str) -> Option<LogSource> {
    let mut parts = name.strip_suffix(".api.log")?.rsplitn(3, '.');
    let _restart = parts.next()?;
    let container = parts.next()?.to_owned();
    let pod = parts.next()?.to_owned();
    Some(LogSource::Container { pod, container })
}

/// `None` for the mark of the stream's end.
fn parse(line: &str, source: &LogSource) -> Result<Option<Received>, String> {
    let (nanos, rest) = files::stamped(line)?;
    if rest == "<EOF>" {
        return Ok(None);
    }
    let (timestamp, text) = match rest.split_once(' ') {
        Some((stamp, text)) if is_timestamp(stamp) => (Some(stamp.to_owned()), text),
        None if is_timestamp(rest) => (Some(rest.to_owned()), ""),
        _ => (None, rest),
    };
    Ok(Some(Received {
        nanos,
        source: source.clone(),
        timestamp,
        line: redact::line(text).into_owned(),
    }))
}

fn is_timestamp(text: &str) -> bool {
    text.parse::<jiff::Timestamp>().is_ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_file_name_tells_pod_and_container_even_with_dots_in_the_pod() {
        let expected = LogSource::Container {
            pod: "web.v2-0".to_owned(),
            container: "app".to_owned(),
        };
        assert_eq!(source("web.v2-0.app.1.api.log"), Some(expected));
        assert_eq!(source("web-0.app.1.cri.log"), None);
    }

    #[test]
    fn the_end_mark_is_no_line() {
        let source = source("web-0.app.0.api.log").unwrap();
        assert!(parse("17 <EOF>", &source).unwrap().is_none());
        let line = parse("17 2026-11-30T11:07:16.8Z hello world", &source)
            .unwrap()
            .unwrap();
        assert_eq!(line.timestamp.as_deref(), Some("2026-11-30T11:07:16.8Z"));
        assert_eq!(line.line, "hello world");
    }
}
