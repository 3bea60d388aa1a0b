//! Follows the log of one container until its pod is gone.

use std::time::Duration;

use http::Request;
use kube::api::LogParams;
use kube::client::Body;
use rollscope_records::{
    Gap, LogRecord, LogSource, ObjectKind, RecordingWriter, RunClock, RunOffset, WatchRecord,
    redact,
};
use tokio::sync::watch;

use super::LogTail;
use super::position::{Position, split};
use crate::backoff::Backoff;
use crate::lines::{Lines, Next};
use crate::resource::{Resource, built};
use crate::{ApiFailure, ApiServer, ClusterState, ContainerState};

/// The longest line that is kept; the rest of a longer one is cut off and counted.
const LONGEST_LINE: usize = 64 << 10;

/// How long a stream may go on after its pod is gone.
const END_WITHIN: Duration = Duration::from_secs(10);

/// Attempts to read the log of the instance before a restart: it is gone for good after the next one.
const PREVIOUS_ATTEMPTS: u32 = 3;

/// A container of a pod.
pub(super) struct Container {
    pub(super) pod_uid: String,
    pub(super) pod: String,
    pub(super) name: String,
}

/// Follows one container's log.
pub(super) struct Follower {
    pub(super) api: ApiServer,
    pub(super) namespace: String,
    pub(super) clock: RunClock,
    pub(super) recorder: RecordingWriter,
    pub(super) tail: LogTail,
    pub(super) container: Container,
    /// How many lines of the past the first stream begins with; `None` for all.
    pub(super) past_lines: Option<i64>,
}

/// How a stream ended.
enum Ended {
    /// The container's log is at its end.
    InOrder,
    /// It broke in the middle.
    Cut(String),
    /// It could not be opened.
    Refused(String),
}

/// How far the log of one container was read.
#[derive(Debug, Default)]
struct Reading {
    position: Position,
    /// The current instance's log was read to its end, as far as we know.
    complete: bool,
    /// Since when, and why, a part is missing.
    broken: Option<(RunOffset, String)>,
}

impl Reading {
    /// Takes in how a stream ended at `now`. Gives whether the log is complete.
    fn take(&mut self, ended: Ended, now: RunOffset) -> bool {
        match ended {
            Ended::InOrder => {
                self.complete = true;
                self.broken = None;
            }
            // A container that is gone refuses a new stream; what was read to its end stays complete.
            Ended::Refused(_) if self.complete => {}
            Ended::Refused(why) | Ended::Cut(why) => {
                self.complete = false;
                self.broken.get_or_insert((now, why));
            }
        }
        self.complete
    }
}

/// What the watch says of the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    restarts: i64,
    /// It has run, or runs.
    started: bool,
    /// It ended.
    ended: bool,
}

impl Follower {
    /// Follows until the pod is gone or `stop` turns true.
    pub(super) async fn run(
        self,
        mut state: watch::Receiver<ClusterState>,
        mut stop: watch::Receiver<bool>,
    ) {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => {}
            () = self.follow(&mut state) => {}
        }
    }

    async fn follow(&self, state: &mut watch::Receiver<ClusterState>) {
        let mut reading = Reading::default();
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
        let mut last: Option<Seen> = None;
        loop {
            let seen = self.seen(&state.borrow_and_update());
            let Some(seen) = seen else { break };
            if let Some(before) = last.filter(|last| seen.restarts > last.restarts) {
                self.restarted(before, seen, &mut reading).await;
            }
            last = Some(seen);
            if !seen.started {
                self.until_other(state, seen).await;
                continue;
            }
            let began = reading.position.clone();
            let ended = tokio::select! {
                ended = self.stream(&mut reading.position, false) => ended,
                () = self.outlived(state.clone()) => {
                    Ended::Cut("the stream did not end although the pod was gone".to_owned())
                }
            };
            let complete = reading.take(ended, self.clock.now());
            if complete && seen.ended {
                // All of it is read; only a restart or the pod's end is news.
                self.until_other(state, seen).await;
                continue;
            }
            if reading.position != began {
                backoff.reset();
            }
            tokio::select! {
                () = self.until_other(state, seen) => {}
                () = tokio::time::sleep(backoff.delay(None)) => {}
            }
        }
        if let Some((from, why)) = reading.broken {
            let why = format!("{why}; the pod was gone before the rest of its log could be read");
            self.gap(from, None, why);
        }
    }

    /// Returns some time after the pod was gone: a stream that is still open then is half open.
    async fn outlived(&self, mut state: watch::Receiver<ClusterState>) {
        let gone = |state: &ClusterState| self.seen(state).is_none();
        if state.wait_for(gone).await.is_err() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(END_WITHIN).await;
    }

    /// Reads what the instance before a restart wrote and no stream delivered.
    async fn restarted(&self, before: Seen, now: Seen, reading: &mut Reading) {
        let from = self.clock.now();
        let skipped = now.restarts - before.restarts - 1;
        if skipped > 0 {
            let why = format!("{skipped} instances ended between two looks at the pod");
            self.gap(from, Some(from), why);
        }
        if !reading.complete {
            let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
            for _ in 0..PREVIOUS_ATTEMPTS {
                let ended = self.stream(&mut reading.position, true).await;
                if reading.take(ended, from) {
                    break;
                }
                tokio::time::sleep(backoff.delay(None)).await;
            }
            if let Some((from, why)) = reading.broken.take() {
                let why =
                    format!("{why}; the rest of the log before the restart could not be read");
                self.gap(from, Some(self.clock.now()), why);
            }
        }
        reading.complete = false;
    }

    /// The container in the live view; `None` when its pod is gone.
    fn seen(&self, state: &ClusterState) -> Option<Seen> {
        let pod = state.pods.get(&self.container.pod_uid)?;
        let container = pod
            .containers
            .iter()
            .find(|c| c.name == self.container.name);
        Some(container.map_or(
            Seen {
                restarts: 0,
                started: false,
                ended: false,
            },
            |c| Seen {
                restarts: c.restarts,
                started: c.restarts > 0
                    || matches!(
                        c.state,
                        ContainerState::Running | ContainerState::Terminated { .. }
                    ),
                ended: matches!(c.state, ContainerState::Terminated { .. }),
            },
        ))
    }

    /// Returns when the container's state is another one than `seen`.
    async fn until_other(&self, state: &mut watch::Receiver<ClusterState>, seen: Seen) {
        let other = |state: &ClusterState| self.seen(state) != Some(seen);
        if state.wait_for(other).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    async fn stream(&self, position: &mut Position, previous: bool) -> Ended {
        position.restart();
        let answer = match self.request(position, previous) {
            Ok(request) => self.api.stream(request).await,
            Err(failure) => Err(failure),
        };
        match answer {
            Ok(answer) => self.read(answer.into_body(), position).await,
            Err(failure) => Ended::Refused(failure.to_string()),
        }
    }

    fn request(&self, position: &Position, previous: bool) -> Result<Request<Vec<u8>>, ApiFailure> {
        let since = position.since();
        let params = LogParams {
            container: Some(self.container.name.clone()),
            follow: !previous,
            previous,
            timestamps: true,
            since_time: since,
            tail_lines: self.past_lines.filter(|_| since.is_none() && !previous),
            ..LogParams::default()
        };
        let pods = Resource::new(ObjectKind::Pod, &self.namespace);
        let request = kube::core::Request::new(pods.path());
        built(request.logs(&self.container.pod, &params))
    }

    async fn read(&self, body: Body, position: &mut Position) -> Ended {
        let mut lines = Lines::new(body, self.clock, LONGEST_LINE);
        loop {
            match lines.next().await {
                Next::Line { text, .. } if is_of_the_kubelet(&text) => {
                    return Ended::Cut(String::from_utf8_lossy(&text).into_owned());
                }
                Next::Line { at, text, cut } => self.record(at, &text, cut, position),
                Next::End { rest } => {
                    if !rest.is_empty() {
                        self.record(lines.last_received(), &rest, 0, position);
                    }
                    return Ended::InOrder;
                }
                Next::Broken(why) => return Ended::Cut(why),
            }
        }
    }

    fn record(&self, at: RunOffset, text: &[u8], cut: usize, position: &mut Position) {
        let text = String::from_utf8_lossy(text);
        let (stamp, rest) = split(&text);
        if !position.advance(stamp.map(|(_, at)| at)) {
            return;
        }
        let mut line = redact::line(rest).into_owned();
        if cut > 0 {
            line.push_str(&format!(" [{cut} bytes more]"));
        }
        self.tail.push(&self.container.pod, &line);
        self.recorder.log(LogRecord {
            at,
            source: LogSource::Container {
                pod: self.container.pod.clone(),
                container: self.container.name.clone(),
            },
            timestamp: stamp.map(|(text, _)| text.to_owned()),
            line,
        });
    }

    fn gap(&self, from: RunOffset, to: Option<RunOffset>, reason: String) {
        let Container { pod, name, .. } = &self.container;
        self.recorder.watch(WatchRecord::Gap(Gap {
            source: format!("logs/{pod}/{name}"),
            from,
            to,
            reason,
        }));
    }
}

/// The kubelet writes its own trouble into the stream, as a line without a timestamp.
fn is_of_the_kubelet(line: &[u8]) -> bool {
    let trouble: [&[u8]; 2] = [
        b"unable to retrieve container logs for ",
        b"failed to create fsnotify watcher",
    ];
    trouble.iter().any(|words| line.starts_with(words))
}
