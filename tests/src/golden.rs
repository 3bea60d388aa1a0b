//! The golden recordings of a real cluster.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

/// Names of the folders below `golden/`, in order.
pub fn golden_cases() -> Vec<String> {
    let folders = fs::read_dir(golden_dir()).unwrap();
    let names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Makes the recording of a case in the folder `into` and returns its path.
pub fn golden_recording(case: &str, into: &Path) -> PathBuf {
    let packed = File::open(golden_dir().join(case).join("streams.tar.gz")).unwrap();
    let streams = into.join("streams");
    tar::Archive::new(GzDecoder::new(packed))
        .unpack(&streams)
        .unwrap();
    let recording = into.join("recording.rollscope");
    rollscope_collector::import_watch(&streams, &recording).unwrap();
    recording
}

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}
