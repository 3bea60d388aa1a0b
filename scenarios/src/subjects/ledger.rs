//! A subject's own account of what reached its sockets, for tests: a witness that is independent of the load.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// An append-only file with one event a line, each after the wall clock in microseconds since the Unix epoch and a
/// blank. Each line is one `write`, so it is in the file when the process is killed right after it. Events, in which `conn` counts the accepted connections of a process and `n` the requests of
/// a connection, both from 1:
///
/// | line | when |
/// |---|---|
/// | `started <pid>` | the process starts (a restarted container appends to the same file) |
/// | `listening` | the listener is open |
/// | `accepted <conn> <port>` | a connection from that port of the client was accepted; those that die in the kernel's backlog never get this far |
/// | `received <conn> <n> <method> <path?query>` | a request's head was read |
/// | `answering <conn> <n>` | the response is complete in the connection's write buffer and goes to the kernel next |
/// | `answered <conn> <n> <status>` | the last byte of the response was handed to the kernel |
/// | `unanswered <conn> <n>` | the connection ended before that, while the process lived on |
/// | `signal` | the handler of the stop signal runs |
/// | `draining` | readiness is off |
/// | `refusing` | the listener is closed |
/// | `closing` | idle connections are closed, the others as they become idle |
/// | `cutting` | the drain's deadline has passed: every connection is dropped |
/// | `pool_closed` | the pool answers no query any more |
/// | `timeout` | the safety timer ends the process |
/// | `exit <code>` | the process ends by itself now |
///
/// A request that was received and is neither `answered` nor `unanswered` was cut by the end of the process. Whether its
/// response still left, only the client can say when the ledger ends on `answering`.
#[derive(Debug, Default)]
pub struct Ledger {
    file: Option<File>,
}

impl Ledger {
    /// Opens the ledger for appending. If `path` is a folder, the file is `<path>/<pod>.ledger`. Without a path nothing
    /// is written.
    pub fn open(path: Option<&Path>, pod: &str) -> io::Result<Self> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let path = if path.is_dir() {
            path.join(format!("{pod}.ledger"))
        } else {
            path.to_owned()
        };
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file: Some(file) })
    }

    pub(super) fn started(&self) {
        self.write(|| format!("started {}\n", std::process::id()));
    }

    pub(super) fn accepted(&self, conn: u64, port: u16) {
        self.write(|| format!("accepted {conn} {port}\n"));
    }

    pub(super) fn received(&self, conn: u64, n: u64, method: &str, path: &str) {
        self.write(|| format!("received {conn} {n} {method} {path}\n"));
    }

    pub(super) fn answering(&self, conn: u64, n: u64) {
        self.write(|| format!("answering {conn} {n}\n"));
    }

    pub(super) fn answered(&self, conn: u64, n: u64, status: u16) {
        self.write(|| format!("answered {conn} {n} {status}\n"));
    }

    pub(super) fn unanswered(&self, conn: u64, n: u64) {
        self.write(|| format!("unanswered {conn} {n}\n"));
    }

    /// A step of the start or of the shutdown, as the table above names it.
    pub(super) fn step(&self, step: &str) {
        self.write(|| format!("{step}\n"));
    }

    pub(super) fn exit(&self, code: u8) {
        self.write(|| format!("exit {code}\n"));
    }

    fn write(&self, line: impl FnOnce() -> String) {
        if let Some(mut file) = self.file.as_ref() {
            // A subject serves on when its witness fails; the missing lines fail the test that reads them.
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            let _ = file.write_all(format!("{} {}", now.as_micros(), line()).as_bytes());
        }
    }
}
