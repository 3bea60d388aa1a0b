//! What the sandbox itself did and when: a witness for those who measure an analysis against the truth. It is written
//! apart from every recording.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// An append-only file with one JSON object a line, each written at once. `t` is the wall clock in nanoseconds since
/// the Unix epoch, `ev` says what happened:
///
/// | `ev` | fields | when |
/// |---|---|---|
/// | `deleted` | `pod`, `grace` | the kubelet learnt of the pod's deletion |
/// | `started` | `pod`, `container`, `pid` | a container's process runs; `pid` is the host's |
/// | `stopping` | `pod`, `container`, `why` | the kubelet begins to stop it (the Killing event) |
/// | `pre_stop_started`, `pre_stop_ended` | `pod`, `container` | its hook; `overran` when the grace ended the wait |
/// | `signal` | `pod`, `container`, `signal` | a signal was sent to it |
/// | `exited` | `pod`, `container`, `code` | its process ended |
/// | `endpoints` | `ready` | the front end's Service has this many ready endpoints; it will learn of it after its lag |
/// | `dialled` | `pod`, `fallback` | the `l4` front end chose where a new connection goes; `pod` is null without an endpoint |
/// | `proxied` | `pod`, `fallback`, `client`, `from`, `how`, `status`, `reused` | the `http` front end has answered a request that came from port `client` at `from` |
///
/// `fallback` says that no endpoint was ready and a terminating one was taken. `how` is `none` (no endpoint),
/// `refused`, `timed_out`, `cut` or `status` (the pod's own).
#[derive(Debug, Clone, Default)]
pub struct TruthLog(Option<Arc<File>>);

impl TruthLog {
    /// Opens `sandbox.jsonl` in a folder, for appending.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let path = dir.join("sandbox.jsonl");
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self(Some(Arc::new(file))))
    }

    /// Notes an event; `fields` is only asked where somebody wants to know.
    pub(crate) fn note(&self, event: &str, fields: impl FnOnce() -> Value) {
        let Some(mut file) = self.0.as_deref() else {
            return;
        };
        let mut line = fields();
        line["t"] = json!(now());
        line["ev"] = json!(event);
        // The sandbox goes on when its witness fails; whoever reads the truth misses the lines.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}

/// The wall clock, in nanoseconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// A truth log that is given to what already runs.
#[derive(Debug, Default)]
pub(crate) struct LateTruth(OnceLock<TruthLog>);

impl LateTruth {
    /// Writes to `truth` from now on; a second call changes nothing.
    pub(crate) fn set(&self, truth: TruthLog) {
        let _ = self.0.set(truth);
    }

    /// As [`TruthLog::note`].
    pub(crate) fn note(&self, event: &str, fields: impl FnOnce() -> Value) {
        if let Some(truth) = self.0.get() {
            truth.note(event, fields);
        }
    }
}

/// The truth of one container.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContainerTruth {
    pub(crate) log: TruthLog,
    pub(crate) pod: String,
    pub(crate) container: String,
}

impl ContainerTruth {
    /// Notes an event of the container, with one field more.
    pub(crate) fn note(&self, event: &str, field: &str, value: impl FnOnce() -> Value) {
        self.log.note(event, || {
            let mut line = json!({"pod": self.pod, "container": self.container});
            line[field] = value();
            line
        });
    }
}
