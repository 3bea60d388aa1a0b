//! What a queue says of the jobs that the load submits: a list in Redis, a JSON document, or the rows of a query, asked
//! again and again. Nothing is written to any of them.

mod http;
mod postgresql;
mod redis;
mod seen;

use std::time::Duration;

use rollscope_records::{JobRecord, RecordingWriter, RunClock, redact};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

pub use http::{Document, Route};
pub use postgresql::Query;
pub use redis::RedisList;
use seen::Seen;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is read.
#[derive(Debug)]
pub enum JobsFrom {
    /// The elements of a list, as they are appended.
    Redis(RedisList),
    /// The elements of a list in a document, where they were not there before.
    Http(Document),
    /// The rows of a query, where they were not there before.
    Postgresql(Query),
}

/// What to read, and how.
#[derive(Debug)]
pub struct JobsReading {
    /// Where the events are.
    pub from: JobsFrom,
    /// How often they are read.
    pub every: Duration,
    /// What the keys of the run's jobs begin with.
    pub key_prefix: String,
}

/// Reads the events of jobs until it is stopped.
#[derive(Debug)]
pub struct JobsObserver {
    stop: watch::Sender<bool>,
    reading: JoinHandle<()>,
}

/// Why nothing was read, in words.
#[derive(Debug)]
struct Unread {
    why: String,
    /// Whether a later reading does not bring what was missed.
    missing: bool,
}

impl JobsObserver {
    /// Begins to read what comes from now on. What goes wrong is recorded, and tried again.
    pub fn start(of: JobsReading, clock: RunClock, recorder: RecordingWriter) -> Self {
        let (stop, stopped) = watch::channel(false);
        let reader = Reader {
            seen: Seen::of_keys(&of.key_prefix),
            of,
            clock,
            recorder,
        };
        Self {
            stop,
            reading: tokio::spawn(reader.read_until(stopped)),
        }
    }

    /// Reads once more, and ends.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        // The task cannot be cancelled; where it panicked, what it read is recorded.
        let _ = self.reading.await;
    }
}

struct Reader {
    of: JobsReading,
    seen: Seen,
    clock: RunClock,
    recorder: RecordingWriter,
}

impl Reader {
    async fn read_until(mut self, mut stopped: watch::Receiver<bool>) {
        let mut ticks = interval(self.of.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let last = tokio::select! {
                _ = ticks.tick() => false,
                () = stop(&mut stopped) => true,
            };
            self.record().await;
            if last {
                return;
            }
        }
    }

    async fn record(&mut self) {
        let asked = self.clock.now();
        let record = match self.read().await {
            Ok(lines) => {
                let at = self.clock.now();
                for line in lines {
                    let line = redact::line(&line).into_owned();
                    self.recorder.job(JobRecord::Event { at, line });
                }
                JobRecord::Read { at: asked }
            }
            Err(Unread { why, missing }) => JobRecord::Unread {
                at: asked,
                why,
                missing,
            },
        };
        self.recorder.job(record);
    }

    /// What is new.
    async fn read(&mut self) -> Result<Vec<String>, Unread> {
        match &mut self.of.from {
            JobsFrom::Redis(list) => list.read().await,
            JobsFrom::Http(document) => Ok(self.seen.new_among(document.read().await?)),
            JobsFrom::Postgresql(query) => {
                let rows = query.read(&self.of.key_prefix).await?;
                Ok(self.seen.new_among(rows))
            }
        }
    }
}

async fn stop(stopped: &mut watch::Receiver<bool>) {
    // Without a sender there is nobody to read for.
    let _ = stopped.wait_for(|stop| *stop).await;
}
