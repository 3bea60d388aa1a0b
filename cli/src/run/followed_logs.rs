//! Access logs that somebody else's balancers write, followed from their ends on.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use rollscope_accesslogs::Format;
use rollscope_records::BalancerLog;
use rollscope_scenarios::BalancerSpec;

use crate::exit::Failure;

/// What is read of a log at once, at most; the rest waits for the next time.
const AT_ONCE: u64 = 16 << 20;

/// A log, as far as it was read.
#[derive(Debug)]
pub(super) struct FollowedLog {
    path: PathBuf,
    file: File,
    /// Which file it is: another one of that name is a rotation.
    inode: u64,
    offset: u64,
    /// The beginning of a line whose end is not written yet.
    rest: Vec<u8>,
}

/// The logs of a scenario, at their ends; what they are for the recording comes with them.
pub(super) fn open(balancers: &[BalancerSpec]) -> Result<Vec<(BalancerLog, FollowedLog)>, Failure> {
    (0..)
        .zip(balancers)
        .map(|(log, spec)| {
            let format: Format = spec.format.parse().map_err(|error| {
                Failure::usage(format!(
                    "balancers: {}: format {}: {error}",
                    spec.name, spec.format
                ))
            })?;
            let followed = FollowedLog::at_end(spec.file.clone()).map_err(|error| {
                Failure::environment(format!(
                    "balancers: {}: the log {} cannot be followed: {error}",
                    spec.name,
                    spec.file.display()
                ))
            })?;
            let what = BalancerLog {
                log,
                balancer: spec.name.clone(),
                format: Some(format.as_str().to_owned()),
                clock: None,
            };
            Ok((what, followed))
        })
        .collect()
}

/// How the balancer of a format routes, as a front end is called.
pub(super) fn front_end(spec: &BalancerSpec) -> &'static str {
    let name = spec.format.split(':').next().unwrap_or_default();
    match name {
        "nginx" | "ingress-nginx" => "nginx",
        "haproxy" => "haproxy",
        _ => "http",
    }
}

impl FollowedLog {
    fn at_end(path: PathBuf) -> io::Result<Self> {
        let mut file = File::open(&path)?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let offset = file.seek(SeekFrom::End(0))?;
        Ok(Self {
            path,
            inode: meta.ino(),
            file,
            offset,
            rest: Vec::new(),
        })
    }

    /// The lines that are whole by now; what a rotation left in the old file comes first.
    pub(super) fn read(&mut self) -> Vec<String> {
        let mut lines = self.rest_of_file();
        let renamed = std::fs::metadata(&self.path).is_ok_and(|meta| meta.ino() != self.inode);
        if renamed && let Ok(file) = File::open(&self.path) {
            lines.extend(self.rest_of_file());
            self.inode = file.metadata().map_or(self.inode, |meta| meta.ino());
            (self.file, self.offset) = (file, 0);
            self.rest.clear();
            lines.extend(self.rest_of_file());
        }
        lines
    }

    fn rest_of_file(&mut self) -> Vec<String> {
        let length = self.file.metadata().map_or(0, |meta| meta.len());
        if length < self.offset {
            // It was cut short to be written anew.
            self.offset = 0;
            self.rest.clear();
        }
        let mut bytes = Vec::new();
        let read = self
            .file
            .seek(SeekFrom::Start(self.offset))
            .and_then(|_| (&self.file).take(AT_ONCE).read_to_end(&mut bytes));
        self.offset += read.unwrap_or(0) as u64;
        self.rest.extend(bytes);
        let Some(last) = self.rest.iter().rposition(|b| *b == b'\n') else {
            return Vec::new();
        };
        let whole: Vec<u8> = self.rest.drain(..=last).collect();
        let text = String::from_utf8_lossy(&whole);
        text.lines().map(str::to_owned).collect()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn append(path: &std::path::Path, text: &str) {
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path);
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn lines_are_whole_and_of_the_run_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access.log");
        append(&path, "before\nhalf");
        let mut log = FollowedLog::at_end(path.clone()).unwrap();
        append(&path, " a line\none\ntw");
        assert_eq!(log.read(), [" a line", "one"]);
        append(&path, "o\n");
        assert_eq!(log.read(), ["two"]);
        assert_eq!(log.read(), Vec::<String>::new());
    }

    #[test]
    fn a_rotation_and_a_truncation_lose_nothing_that_was_written_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access.log");
        append(&path, "");
        let mut log = FollowedLog::at_end(path.clone()).unwrap();
        append(&path, "one\n");
        assert_eq!(log.read(), ["one"]);
        append(&path, "two\n");
        std::fs::rename(&path, dir.path().join("access.log.1")).unwrap();
        append(&dir.path().join("access.log.1"), "three\n");
        append(&path, "four\n");
        assert_eq!(log.read(), ["two", "three", "four"]);
        File::create(&path).unwrap();
        append(&path, "5\n");
        assert_eq!(log.read(), ["5"]);
    }

    #[test]
    fn a_log_that_is_not_there_and_a_format_that_is_none_are_told_before_the_run() {
        let spec = |file: &str, format: &str| BalancerSpec {
            name: "edge".to_owned(),
            file: PathBuf::from(file),
            format: format.to_owned(),
        };
        let missing = open(&[spec("/nonexistent/access.log", "nginx")]).unwrap_err();
        assert!(
            missing.message.contains("/nonexistent/access.log"),
            "{}",
            missing.message
        );
        let unknown = open(&[spec("/dev/null", "apache")]).unwrap_err();
        assert!(unknown.message.contains("apache"), "{}", unknown.message);
        assert!(
            open(&[spec("/dev/null", "nginx")]).is_err(),
            "no regular file"
        );
    }
}
