//! What a queue says of the jobs that the load submits: the elements of a list in Redis, as they are appended.

mod redis;

use std::time::Duration;

use rollscope_records::{JobRecord, RecordingWriter, RunClock, redact};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use redis::{Redis, RedisError};

/// Which list to read, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobList {
    /// `host:port` of the Redis.
    pub address: String,
    /// The list's key.
    pub list: String,
    /// How often it is read.
    pub every: Duration,
}

/// Reads a list until it is stopped. Nothing is written to Redis.
#[derive(Debug)]
pub struct JobsObserver {
    stop: watch::Sender<bool>,
    reading: JoinHandle<()>,
}

impl JobsObserver {
    /// Begins to read what is appended from now on. What goes wrong is recorded, and tried again.
    pub fn start(of: JobList, clock: RunClock, recorder: RecordingWriter) -> Self {
        let (stop, stopped) = watch::channel(false);
        let reader = Reader {
            of,
            clock,
            recorder,
            redis: None,
            next: None,
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
    of: JobList,
    clock: RunClock,
    recorder: RecordingWriter,
    redis: Option<Redis>,
    /// The index of the first element that is not read yet; `None` before the list's length is known.
    next: Option<i64>,
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
            Ok(()) => JobRecord::Read { at: asked },
            Err(error) => {
                self.redis = None;
                let (address, list) = (&self.of.address, &self.of.list);
                let why = format!("the list {list} of the Redis at {address}: {error}");
                let missing = matches!(error, RedisError::Shorter);
                JobRecord::Unread {
                    at: asked,
                    why,
                    missing,
                }
            }
        };
        self.recorder.job(record);
    }

    async fn read(&mut self) -> Result<(), RedisError> {
        let mut redis = match self.redis.take() {
            Some(redis) => redis,
            None => Redis::connect(&self.of.address).await?,
        };
        let length = redis.length(&self.of.list).await?;
        let from = match self.next {
            Some(next) if next > length => {
                self.next = Some(length);
                return Err(RedisError::Shorter);
            }
            Some(next) => next,
            None => length,
        };
        let lines = redis.range(&self.of.list, from, length).await?;
        let at = self.clock.now();
        self.next = Some(from.max(length));
        for line in lines {
            let line = redact::line(&line).into_owned();
            self.recorder.job(JobRecord::Event { at, line });
        }
        self.redis = Some(redis);
        Ok(())
    }
}

async fn stop(stopped: &mut watch::Receiver<bool>) {
    // Without a sender there is nobody to read for.
    let _ = stopped.wait_for(|stop| *stop).await;
}
