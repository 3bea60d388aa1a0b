//! The golden cases: one folder each below `golden/`, a recording and the right answer in words. A folder holds either
//! the packed streams of a real cluster (`streams.tar.gz`) or a run written by hand (`recording.txt`).

mod expected;
mod parse;
mod pods;
mod written;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use rollscope_records::Recording;

pub use expected::{Expected, ExpectedCause};

/// A folder below `golden/`.
#[derive(Debug, Clone)]
pub struct GoldenCase {
    /// The folder's name.
    pub name: String,
    dir: PathBuf,
}

impl GoldenCase {
    /// Every case, in order of the names.
    pub fn all() -> Vec<Self> {
        let folders = fs::read_dir(golden_dir()).unwrap();
        let folders = folders.map(|entry| entry.unwrap().path());
        let mut cases: Vec<_> = folders.filter(|path| path.is_dir()).map(Self::of).collect();
        cases.sort_by(|a, b| a.name.cmp(&b.name));
        assert!(!cases.is_empty(), "no golden cases");
        cases
    }

    /// Those that a real cluster made.
    pub fn real() -> Vec<Self> {
        let mut cases = Self::all();
        cases.retain(|case| case.packed().exists());
        cases
    }

    fn of(dir: PathBuf) -> Self {
        let name = dir.file_name().unwrap().to_str().unwrap().to_owned();
        Self { name, dir }
    }

    /// The right answer.
    pub fn expected(&self) -> Expected {
        Expected::read(&self.dir.join("expected.md"))
    }

    /// The text of a recording that was written by hand; `None` for one of a real cluster.
    pub fn written(&self) -> Option<String> {
        fs::read_to_string(self.dir.join("recording.txt")).ok()
    }

    /// The recording.
    pub fn recording(&self) -> Recording {
        match self.written() {
            Some(text) => written::recording(&self.name, &text),
            None => {
                let into = tempfile::tempdir().unwrap();
                let streams = self.unpack(into.path());
                rollscope_collector::read_watch_dir(&streams)
                    .unwrap()
                    .recording
            }
        }
    }

    /// Unpacks the streams of a real cluster into a folder whose name says nothing, and returns it.
    pub fn unpack(&self, into: &Path) -> PathBuf {
        let streams = into.join("streams");
        let packed = File::open(self.packed()).unwrap();
        tar::Archive::new(GzDecoder::new(packed))
            .unpack(&streams)
            .unwrap();
        streams
    }

    fn packed(&self) -> PathBuf {
        self.dir.join("streams.tar.gz")
    }
}

/// Names of the cases that a real cluster made, in order.
pub fn golden_cases() -> Vec<String> {
    let real = GoldenCase::real().into_iter();
    real.map(|case| case.name).collect()
}

/// Makes the recording of a real cluster's case in the folder `into` and returns its path.
pub fn golden_recording(case: &str, into: &Path) -> PathBuf {
    let streams = GoldenCase::of(golden_dir().join(case)).unpack(into);
    let recording = into.join("recording.rollscope");
    rollscope_collector::import_watch(&streams, &recording).unwrap();
    recording
}

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}
