//! The folder in which containers find the command `rollscope`.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const PREFIX: &str = "rollscope-sandbox-";

/// A folder with one link, `rollscope`, to the sandbox's program; removed when dropped. One that a killed sandbox left
/// behind is removed when the next sandbox starts.
#[derive(Debug)]
pub(super) struct Scratch {
    dir: PathBuf,
}

impl Scratch {
    pub(super) fn create(program: &Path) -> io::Result<Self> {
        let parent = std::env::temp_dir();
        remove_stale(&parent);
        let id = format!("{:08x}", rand::random::<u32>());
        let dir = parent.join(format!("{PREFIX}{}-{id}", std::process::id()));
        fs::create_dir(&dir)?;
        let scratch = Self { dir };
        symlink(program.canonicalize()?, scratch.dir.join("rollscope"))?;
        Ok(scratch)
    }

    pub(super) fn path(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn remove_stale(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|n| {
            n.strip_prefix(PREFIX)?
                .split('-')
                .next()?
                .parse::<u32>()
                .ok()
        });
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
