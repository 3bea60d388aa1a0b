//! Files of a folder, plain or compressed, line by line.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::ImportError;

/// The text of `dir/name`, or of `dir/name.gz`; `None` when neither is there.
pub(super) fn read(dir: &Path, name: &str) -> Result<Option<(PathBuf, String)>, ImportError> {
    for (path, compressed) in [
        (dir.join(name), false),
        (dir.join(format!("{name}.gz")), true),
    ] {
        match std::fs::read(&path) {
            Ok(bytes) => {
                let text = text(&bytes, compressed).map_err(|source| ImportError::Read {
                    path: path.clone(),
                    source,
                })?;
                return Ok(Some((path, text)));
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(ImportError::Read { path, source }),
        }
    }
    Ok(None)
}

fn text(bytes: &[u8], compressed: bool) -> std::io::Result<String> {
    let mut plain = Vec::new();
    if compressed {
        MultiGzDecoder::new(bytes).read_to_end(&mut plain)?;
    } else {
        plain.extend_from_slice(bytes);
    }
    Ok(String::from_utf8_lossy(&plain).into_owned())
}

/// Parses each line that is not empty. A last line that cannot be parsed counts as cut: it is left out with a warning.
pub(super) fn lines<T>(
    path: &Path,
    text: &str,
    expected: &'static str,
    warnings: &mut Vec<String>,
    mut parse: impl FnMut(&str) -> Result<T, String>,
) -> Result<Vec<T>, ImportError> {
    let mut parsed = Vec::new();
    let mut rest = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .peekable();
    while let Some((index, line)) = rest.next() {
        match parse(line) {
            Ok(value) => parsed.push(value),
            Err(why) if rest.peek().is_none() => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                warnings.push(format!(
                    "{name}: the last line is cut and was left out ({why})"
                ));
            }
            Err(why) => {
                return Err(ImportError::Malformed {
                    path: path.to_owned(),
                    line: index + 1,
                    why,
                    expected,
                });
            }
        }
    }
    Ok(parsed)
}

/// Splits `<ns since the epoch> <rest>`.
pub(super) fn stamped(line: &str) -> Result<(i64, &str), String> {
    let (stamp, rest) = line.split_once(' ').unwrap_or((line, ""));
    match stamp.parse() {
        Ok(nanos) => Ok((nanos, rest)),
        Err(_) => Err(format!("{stamp:?} is not a time in ns")),
    }
}
