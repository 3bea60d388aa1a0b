//! A child process in its own process group, with its output recorded line by line.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rollscope_records::{LogRecord, LogSource, RecordingWriter, RunClock, redact};
use rollscope_scenarios::ExecCommand;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// The longest line that is kept.
const LONGEST_LINE: u64 = 64 << 10;

/// Between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(2);

/// How long the output may stay open after the process has ended.
const DRAIN: Duration = Duration::from_millis(500);

/// Lines that an error message quotes.
const QUOTED: usize = 5;

/// How a process ended.
#[derive(Debug)]
pub(super) enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// The operating system did not say.
    Unknown(String),
}

/// A running command.
pub(super) struct Process {
    child: Child,
    /// The id of the process group: that of its leader.
    group: Option<Pid>,
    readers: JoinSet<()>,
    last: Arc<Mutex<VecDeque<String>>>,
}

impl Process {
    pub(super) fn start(
        command: &ExecCommand,
        stage: usize,
        clock: RunClock,
        recorder: &RecordingWriter,
    ) -> std::io::Result<Self> {
        let mut child = build(command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .map(Pid::from_raw);
        let last = Arc::default();
        let mut readers = JoinSet::new();
        let sink = |stream: &str| Sink {
            clock,
            recorder: recorder.clone(),
            source: LogSource::Exec {
                stage,
                stream: stream.to_owned(),
            },
            last: Arc::clone(&last),
        };
        if let Some(stdout) = child.stdout.take() {
            readers.spawn(read(stdout, sink("stdout")));
        }
        if let Some(stderr) = child.stderr.take() {
            readers.spawn(read(stderr, sink("stderr")));
        }
        Ok(Self {
            child,
            group,
            readers,
            last,
        })
    }

    /// Waits for the end of the process. Cancelling the wait loses nothing.
    pub(super) async fn exit(&mut self) -> Exit {
        match self.child.wait().await {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => Exit::Code(code),
                (None, Some(signal)) => Exit::Signal(signal),
                (None, None) => Exit::Unknown(status.to_string()),
            },
            Err(error) => Exit::Unknown(error.to_string()),
        }
    }

    /// Ends the whole process group: SIGTERM, and SIGKILL for what is left after a while.
    pub(super) async fn kill(&mut self) {
        let Some(group) = self.group else { return };
        let _ = killpg(group, Signal::SIGTERM);
        let _ = tokio::time::timeout(TERM_GRACE, self.child.wait()).await;
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.child.wait().await;
    }

    /// Waits for the rest of the output. If somebody holds it open, reading goes on in `readers`.
    pub(super) async fn hand_over(&mut self, readers: &mut JoinSet<()>) {
        let drained = async { while self.readers.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, drained).await.is_err() {
            let mut open = std::mem::take(&mut self.readers);
            readers.spawn(async move { while open.join_next().await.is_some() {} });
        }
    }

    /// The last lines of the output, for an error message.
    pub(super) fn last_lines(&self) -> String {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.iter()
            .map(|line| format!("\n  output: {line}"))
            .collect()
    }
}

impl Drop for Process {
    /// A walk that is dropped takes the command with it, children included.
    fn drop(&mut self) {
        if let (Some(group), Ok(None)) = (self.group, self.child.try_wait()) {
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

fn build(command: &ExecCommand) -> Command {
    match command {
        ExecCommand::Shell(script) => {
            let mut shell = Command::new("/bin/sh");
            shell.arg("-c").arg(script);
            shell
        }
        ExecCommand::Argv(words) => {
            let mut words = words.iter();
            let mut command = Command::new(words.next().map_or("", String::as_str));
            command.args(words);
            command
        }
    }
}

struct Sink {
    clock: RunClock,
    recorder: RecordingWriter,
    source: LogSource,
    last: Arc<Mutex<VecDeque<String>>>,
}

impl Sink {
    fn line(&self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let line = redact::line(text.trim_end_matches(['\n', '\r'])).into_owned();
        {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.len() == QUOTED {
                last.pop_front();
            }
            last.push_back(line.chars().take(240).collect());
        }
        self.recorder.log(LogRecord {
            at: self.clock.now(),
            source: self.source.clone(),
            timestamp: None,
            line,
        });
    }
}

/// Reads to the end. A line over the bound comes in pieces.
async fn read(stream: impl AsyncRead + Unpin, sink: Sink) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut stream).take(LONGEST_LINE);
        match bounded.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => sink.line(&line),
        }
    }
}
