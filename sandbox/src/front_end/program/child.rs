//! The program's process, which ends with the sandbox whatever happens to it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::super::error::FrontEndError;
use super::{POLL, ProgramCommand};

/// How much of its last words is told.
const SAID: usize = 600;

/// What it says, in its folder.
const STDERR: &str = "stderr.log";

/// A folder of its own, removed in the end.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = format!("rollscope-front-end-{}-{number}", process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left in the temporary folder is the system's to clear.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running program.
#[derive(Debug)]
pub(super) struct Child(process::Child);

impl Child {
    /// Starts it. The kernel ends it with the thread that calls this; `setpriv` asks for that where there is one.
    pub(super) fn start(
        what: ProgramCommand,
        dir: &Path,
        name: &'static str,
    ) -> Result<Self, FrontEndError> {
        let failed = |source: io::Error| FrontEndError::Program {
            program: name,
            said: source.to_string(),
        };
        let Some(program) = found(what.program) else {
            return Err(FrontEndError::Missing {
                program: what.program,
                package: what.package,
            });
        };
        let mut command = match found("setpriv") {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                command.args(["--pdeathsig", "TERM", "--"]).arg(program);
                command
            }
            None => Command::new(program),
        };
        let stdout = match &what.stdout {
            Some(path) => Stdio::from(File::create(path).map_err(failed)?),
            None => Stdio::null(),
        };
        let stderr = File::create(dir.join(STDERR)).map_err(failed)?;
        command
            .args(&what.args)
            .current_dir(dir)
            // HAProxy writes local times without their zone.
            .env("TZ", "UTC0")
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr);
        command.spawn().map(Self).map_err(failed)
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.0.id()).unwrap_or(i32::MAX))
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    /// The end of what it said.
    pub(super) fn said(&self, dir: &Path) -> String {
        let said = std::fs::read_to_string(dir.join(STDERR)).unwrap_or_default();
        let skip = said.chars().count().saturating_sub(SAID);
        said.chars()
            .skip(skip)
            .collect::<String>()
            .trim()
            .to_owned()
    }

    /// Sends `signal` and waits for the end, for no longer than `limit`.
    pub(super) fn end(&mut self, signal: Signal, limit: Duration) {
        if self.has_ended() {
            return;
        }
        // It is our own child, which has not been reaped.
        let _ = kill(self.pid(), signal);
        let begun = Instant::now();
        while !self.has_ended() && begun.elapsed() < limit {
            thread::sleep(POLL);
        }
        self.terminate();
    }

    /// Ends it at once. SIGTERM makes nginx end its workers too.
    fn terminate(&mut self) {
        if self.has_ended() {
            return;
        }
        let _ = kill(self.pid(), Signal::SIGTERM);
        let begun = Instant::now();
        while !self.has_ended() && begun.elapsed() < Duration::from_secs(1) {
            thread::sleep(POLL);
        }
        if !self.has_ended() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.terminate();
    }
}

/// Where a program is: in the folders of `ROLLSCOPE_PROGRAMS`, where that is set; else in PATH, or where Debian keeps those
/// of administrators.
fn found(program: &str) -> Option<PathBuf> {
    let only = std::env::var_os("ROLLSCOPE_PROGRAMS");
    let path = only.clone().or_else(|| std::env::var_os("PATH"));
    let beside = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&path.unwrap_or_default())
        .chain(beside.into_iter().filter(|_| only.is_none()))
        .map(|dir| dir.join(program))
        .find(|file| file.is_file())
}
