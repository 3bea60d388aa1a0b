//! The folder that a run writes into.

use std::path::{Path, PathBuf};

use time::OffsetDateTime;
use time::macros::format_description;

use super::shard::OwnShard;
use crate::exit::Failure;

/// The output folder: `timeline.html`, `report.json`, `recording.rollscope/`.
pub(crate) struct Output {
    dir: PathBuf,
}

impl Output {
    /// Creates the folder; by default a new one, `rollscope-runs/<name>-<time>`, and of several generators that begin at
    /// one time, each one's own in that.
    pub(crate) fn create(
        dir: Option<&Path>,
        name: &str,
        shard: Option<&OwnShard>,
    ) -> Result<Self, Failure> {
        let dir = match (dir, shard) {
            (Some(dir), _) => dir.to_owned(),
            (None, Some(shard)) => named_dir(name, shard.start()).join(shard.folder()),
            (None, None) => default_dir(name),
        };
        let output = Self { dir };
        if output.recording().exists() {
            let at = output.recording().display().to_string();
            return Err(Failure::usage(format!(
                "{at} exists already: choose another --out folder, or remove it"
            )));
        }
        std::fs::create_dir_all(&output.dir).map_err(|e| {
            Failure::environment(format!("cannot create {}: {e}", output.dir.display()))
        })?;
        Ok(output)
    }

    /// The folder itself.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The recording in it.
    pub(crate) fn recording(&self) -> PathBuf {
        self.dir.join("recording.rollscope")
    }

    /// Removes the folder if nothing was written into it.
    pub(crate) fn remove_if_empty(&self) {
        let _ = std::fs::remove_dir(&self.dir);
    }
}

fn named_dir(name: &str, at: OffsetDateTime) -> PathBuf {
    let at = at.to_offset(time::UtcOffset::UTC);
    let stamp = format_description!("[year][month][day]-[hour][minute][second]Z");
    let stamp = at
        .format(&stamp)
        .unwrap_or_else(|_| at.unix_timestamp().to_string());
    Path::new("rollscope-runs").join(format!("{name}-{stamp}"))
}

fn default_dir(name: &str) -> PathBuf {
    let base = named_dir(name, OffsetDateTime::now_utc());
    let numbered = (2..).map(|n| PathBuf::from(format!("{}-{n}", base.display())));
    std::iter::once(base.clone())
        .chain(numbered)
        .find(|dir| !dir.exists())
        .unwrap_or(base)
}
