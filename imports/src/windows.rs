//! When there were deploys.

use std::path::Path;

use rollscope_records::redact;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::LogImportError;

/// Changes that follow one another this closely are of one deploy, ns.
const TOGETHER: i64 = 180_000_000_000;

/// How much of a name is kept, in characters.
const LONGEST_NAME: usize = 80;

/// What a change does begins a little before it is written down, ns ...
const BEFORE: i64 = 5_000_000_000;

/// ... and is over a while after the last one, ns.
const AFTER: i64 = 60_000_000_000;

/// A deploy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// What it is called: as it was named, else its beginning.
    pub name: String,
    /// ns since the epoch.
    pub from: i64,
    /// ns since the epoch.
    pub to: i64,
}

/// Reads `from,to[,name]` lines; empty lines, comments (`#`) and a heading are passed over.
pub(crate) fn read(path: &Path) -> Result<Vec<Window>, LogImportError> {
    let text = std::fs::read_to_string(path).map_err(|source| LogImportError::Read {
        path: path.to_owned(),
        source,
    })?;
    let mut windows = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("from,") {
            continue;
        }
        let window = window(line).map_err(|why| LogImportError::Malformed {
            path: path.to_owned(),
            line: i + 1,
            why,
            expected: "`from,to[,name]` with times as 2026-11-24T10:00:00Z",
        })?;
        windows.push(window);
    }
    windows.sort_by_key(|w: &Window| w.from);
    Ok(windows)
}

fn window(line: &str) -> Result<Window, String> {
    let mut fields = line.splitn(3, ',').map(str::trim);
    let mut time = || {
        let field = fields.next().unwrap_or_default();
        let read = OffsetDateTime::parse(field, &Rfc3339).ok();
        let nanos = read.and_then(|t| i64::try_from(t.unix_timestamp_nanos()).ok());
        nanos.ok_or_else(|| format!("{field:?} is no time"))
    };
    let (from, to) = (time()?, time()?);
    if to <= from {
        return Err("it ends before it begins".to_owned());
    }
    let name = fields.next().filter(|name| !name.is_empty());
    Ok(Window {
        name: name.map_or_else(|| written(from), |name| redact::shown(name, LONGEST_NAME)),
        from,
        to,
    })
}

/// The windows in which changes (ns since the epoch, in order) lie close together.
pub(crate) fn of_changes(changes: &[i64]) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    for at in changes {
        match windows.last_mut() {
            Some(last) if at - (last.to - AFTER) <= TOGETHER => last.to = at + AFTER,
            _ => windows.push(Window {
                name: written(*at),
                from: at - BEFORE,
                to: at + AFTER,
            }),
        }
    }
    windows
}

/// A moment in words: `2026-11-24T10:00:00Z`.
pub(crate) fn written(nanos: i64) -> String {
    let second = OffsetDateTime::from_unix_timestamp(nanos.div_euclid(1_000_000_000));
    let written = second.ok().and_then(|t| t.format(&Rfc3339).ok());
    written.unwrap_or_else(|| nanos.to_string())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn changes_that_lie_close_together_are_one_deploy() {
        let changes = [1_000 * S, 1_100 * S, 1_170 * S, 9_000 * S];
        let windows = of_changes(&changes);
        let spans: Vec<_> = windows.iter().map(|w| (w.from / S, w.to / S)).collect();
        assert_eq!(spans, [(995, 1_230), (8_995, 9_060)]);
        assert_eq!(windows[0].name, "1970-01-01T00:16:40Z");
    }

    #[test]
    fn a_line_names_a_deploy_by_its_beginning_unless_it_has_a_name() {
        let line = "2026-11-24T10:00:00Z, 2026-11-24T11:05:00+01:00, checkout 1.4";
        let named = window(line).unwrap();
        assert_eq!(
            (named.name.as_str(), (named.to - named.from) / S),
            ("checkout 1.4", 300)
        );
        let bare = window("2026-11-24T10:00:00Z,2026-11-24T10:05:00Z").unwrap();
        assert_eq!(bare.name, "2026-11-24T10:00:00Z");
        assert!(window("2026-11-24T10:00:00Z,yesterday").is_err());
        assert!(window("2026-11-24T10:00:00Z,2026-11-24T09:00:00Z").is_err());
    }
}
