//! Writes a recording while the run goes on: a thread of its own, so that nobody who records ever waits for a disk.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::columns::Stored;
use super::stream::RowStream;
use super::{BALANCERS, JOBS, STREAMS, WriteError, checksums, parquet};
use crate::redact::REDACTED;
use crate::table::Place;
use crate::{
    BalancerRecord, ClockSample, ConnectionColumns, ConnectionRecord, GeneratorRecord, JobRecord,
    LogRecord, RequestColumns, RequestRecord, RunRecord, StageRecord, StreamRecord, Text,
    WatchRecord,
};

/// Rows of a batch. A batch is also written when its first row is this old: [`FLUSH`].
const BATCH: usize = 8192;
/// Shorter values than this are no secrets that could be told from ordinary text.
const SECRET: usize = 6;
/// The longest that a record stays in memory.
const FLUSH: Duration = Duration::from_millis(250);
/// Rows of the load that may wait for the disk; more are lost, and counted.
const MOST_WAITING: usize = 1 << 16;

enum Message {
    Requests(Vec<RequestRecord<Text>>),
    Connections(Vec<ConnectionRecord>),
    Stream(StreamRecord),
    Job(JobRecord),
    Balancer(BalancerRecord),
    Watch(Box<WatchRecord>),
    Log(LogRecord),
    Stage(StageRecord),
    Clock(ClockSample),
    Finish,
}

/// A handle on a recording that is being written. Clones write into the same recording. No method waits for the disk.
#[derive(Clone)]
pub struct RecordingWriter {
    dir: PathBuf,
    records: Sender<Message>,
    shared: Arc<Shared>,
}

struct Shared {
    secrets: Vec<String>,
    thread: Mutex<Option<JoinHandle<Ended>>>,
    /// Rows that were sent and are not written yet.
    waiting: AtomicUsize,
    lost: AtomicU64,
    error: Mutex<Option<WriteError>>,
}

impl std::fmt::Debug for RecordingWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordingWriter")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

impl RecordingWriter {
    /// Creates the folder `dir` (which must not hold a recording yet), writes `run.json` and starts the writer.
    pub fn create(dir: &Path, run: &RunRecord) -> Result<Self, WriteError> {
        Self::create_without(Vec::new(), dir, run)
    }

    /// As [`create`](Self::create), for a run that knows secrets: log lines are recorded without these values.
    pub fn create_without(
        secrets: Vec<String>,
        dir: &Path,
        run: &RunRecord,
    ) -> Result<Self, WriteError> {
        if dir.join("run.json").exists() {
            return Err(WriteError::Exists(dir.to_owned()));
        }
        std::fs::create_dir_all(dir).map_err(|source| WriteError::Io {
            path: dir.to_owned(),
            source,
        })?;
        write_json(&dir.join("run.json"), run)?;
        let files = Files::create(dir)?;
        let (records, inbox) = channel();
        let shared = Arc::new(Shared {
            secrets: secrets.into_iter().filter(|s| s.len() >= SECRET).collect(),
            thread: Mutex::new(None),
            waiting: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            error: Mutex::new(None),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("recording".to_owned())
            .spawn(move || files.write_until_finished(&inbox, &for_thread))
            .map_err(|source| WriteError::Io {
                path: dir.to_owned(),
                source,
            })?;
        *shared.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(Self {
            dir: dir.to_owned(),
            records,
            shared,
        })
    }

    /// The recording's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn send(&self, message: Message) {
        if self.records.send(message).is_err() {
            self.shared.fail(WriteError::WriterGone);
        }
    }

    /// Records a request.
    pub fn request(&self, record: RequestRecord) {
        self.shared.waiting.fetch_add(1, Relaxed);
        self.send(Message::Requests(vec![record.to_shared()]));
    }

    /// Records a connection.
    pub fn connection(&self, record: ConnectionRecord) {
        self.shared.waiting.fetch_add(1, Relaxed);
        self.send(Message::Connections(vec![record]));
    }

    /// Records what a load hands over at once. Where too much of it waits for the disk already, it is lost, and counted
    /// in [`lost`](Self::lost): a load never waits, and memory has a bound.
    pub fn batch(&self, requests: Vec<RequestRecord<Text>>, connections: Vec<ConnectionRecord>) {
        let rows = requests.len() + connections.len();
        if self.shared.waiting.fetch_add(rows, Relaxed) + rows > MOST_WAITING {
            self.shared.waiting.fetch_sub(rows, Relaxed);
            self.shared.lost.fetch_add(rows as u64, Relaxed);
            return;
        }
        if !requests.is_empty() {
            self.send(Message::Requests(requests));
        }
        if !connections.is_empty() {
            self.send(Message::Connections(connections));
        }
    }

    /// Records of requests and connections that were lost because the disk was too slow.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Relaxed)
    }

    /// Records what happened on a connection that was held open.
    pub fn stream(&self, record: StreamRecord) {
        self.send(Message::Stream(record));
    }

    /// Records what is known of jobs, without the secrets that the run knows.
    pub fn job(&self, mut record: JobRecord) {
        if let JobRecord::Event { line, .. } = &mut record {
            self.shared.redact(line);
        }
        self.send(Message::Job(record));
    }

    /// Records a watch event or a gap.
    pub fn watch(&self, record: WatchRecord) {
        self.send(Message::Watch(Box::new(record)));
    }

    /// Records a log line, without the secrets that the run knows.
    pub fn log(&self, mut record: LogRecord) {
        self.shared.redact(&mut record.line);
        self.send(Message::Log(record));
    }

    /// Records a line of a balancer's log, or that such a log begins; without the secrets that the run knows.
    pub fn balancer(&self, mut record: BalancerRecord) {
        if let BalancerRecord::Line { line, .. } = &mut record {
            self.shared.redact(line);
        }
        self.send(Message::Balancer(record));
    }

    /// Records what happened to a stage.
    pub fn stage(&self, record: StageRecord) {
        self.send(Message::Stage(record));
    }

    /// Records a sample of another clock.
    pub fn clock_sample(&self, record: ClockSample) {
        self.send(Message::Clock(record));
    }

    /// What has gone wrong so far (for example a full disk), in words. A run should stop when there is something.
    pub fn error(&self) -> Option<String> {
        let error = self
            .shared
            .error
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        error.as_ref().map(ToString::to_string)
    }

    /// Writes what is left, turns the row streams into Parquet and writes `run.json` and `generator.json` for good.
    /// Records sent after this are lost.
    pub fn finish(
        &self,
        generator: Option<&GeneratorRecord>,
        run: &RunRecord,
    ) -> Result<(), WriteError> {
        self.send(Message::Finish);
        let thread = self
            .shared
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let ended = match thread.map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(_)) => return Err(WriteError::WriterGone),
            None => Ended::default(),
        };
        if let Some(generator) = generator {
            write_json(&self.dir.join("generator.json"), generator)?;
        }
        write_json(&self.dir.join("run.json"), run)?;
        match self
            .shared
            .error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        {
            Some(error) => Err(error),
            None => self.replace_streams(&ended),
        }
    }

    fn replace_streams(&self, ended: &Ended) -> Result<(), WriteError> {
        parquet::from_stream::<RequestColumns>(&self.dir, &ended.requests)?;
        parquet::from_stream::<ConnectionColumns>(&self.dir, &ended.connections)?;
        for name in [RequestColumns::FILE, ConnectionColumns::FILE] {
            let _ = std::fs::remove_file(self.dir.join(format!("{name}.arrows")));
            let _ = std::fs::remove_file(self.dir.join(format!("{name}.arrows.crc")));
        }
        checksums::write(&self.dir)
    }
}

/// The first place of each batch that was written.
#[derive(Default)]
struct Ended {
    requests: Vec<Place>,
    connections: Vec<Place>,
}

impl Shared {
    fn fail(&self, error: WriteError) {
        self.error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error);
    }

    /// Takes the run's secrets out of a text.
    fn redact<T: AsRef<str> + From<String>>(&self, text: &mut T) {
        for secret in &self.secrets {
            if text.as_ref().contains(secret.as_str()) {
                *text = text.as_ref().replace(secret.as_str(), REDACTED).into();
            }
        }
    }

    /// Takes them out of what a peer said.
    fn redact_row<const N: usize, T: AsRef<str> + From<String>>(&self, texts: [&mut Option<T>; N]) {
        if !self.secrets.is_empty() {
            texts.into_iter().flatten().for_each(|t| self.redact(t));
        }
    }
}

pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), WriteError> {
    let io = |source| WriteError::Io {
        path: path.to_owned(),
        source,
    };
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|e| io(e.into()))?;
    bytes.push(b'\n');
    WriteError::write_whole(path, &bytes)
}

/// A file with a JSON document a line.
struct Lines {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Lines {
    fn create(dir: &Path, name: &str) -> Result<Self, WriteError> {
        let path = dir.join(name);
        Ok(Self {
            file: BufWriter::new(WriteError::create(&path)?),
            path,
        })
    }

    fn append(&mut self, record: &impl Serialize) -> Result<(), WriteError> {
        serde_json::to_writer(&mut self.file, record)
            .map_err(std::io::Error::from)
            .and_then(|()| self.file.write_all(b"\n"))
            .map_err(|source| WriteError::Io {
                path: self.path.clone(),
                source,
            })
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        self.file.flush().map_err(|source| WriteError::Io {
            path: self.path.clone(),
            source,
        })
    }
}

/// The files of a recording, owned by the writing thread.
struct Files {
    requests: RowStream<RequestColumns>,
    connections: RowStream<ConnectionColumns>,
    request_batch: Vec<RequestRecord<Text>>,
    connection_batch: Vec<ConnectionRecord>,
    dir: PathBuf,
    /// Begun with the first record.
    streams: Option<Lines>,
    jobs: Option<Lines>,
    /// Begun with the first record.
    balancers: Option<Lines>,
    watch: Lines,
    logs: Lines,
    stages: Lines,
    clocks: Lines,
}

impl Files {
    fn create(dir: &Path) -> Result<Self, WriteError> {
        Ok(Self {
            requests: RowStream::create(dir)?,
            connections: RowStream::create(dir)?,
            request_batch: Vec::new(),
            connection_batch: Vec::new(),
            dir: dir.to_owned(),
            streams: None,
            jobs: None,
            balancers: None,
            watch: Lines::create(dir, "watch.jsonl")?,
            logs: Lines::create(dir, "logs.jsonl")?,
            stages: Lines::create(dir, "stages.jsonl")?,
            clocks: Lines::create(dir, "clock.jsonl")?,
        })
    }

    fn write_until_finished(mut self, inbox: &Receiver<Message>, shared: &Shared) -> Ended {
        let mut flush_at = Instant::now() + FLUSH;
        loop {
            let wait = flush_at.saturating_duration_since(Instant::now());
            let written = match inbox.recv_timeout(wait) {
                Ok(Message::Finish) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(message) => self.write(message, shared),
                Err(RecvTimeoutError::Timeout) => Ok(()),
            };
            if let Err(error) = written {
                shared.fail(error);
            }
            if Instant::now() >= flush_at {
                if let Err(error) = self.flush() {
                    shared.fail(error);
                }
                flush_at = Instant::now() + FLUSH;
            }
        }
        self.end().unwrap_or_else(|error| {
            shared.fail(error);
            Ended::default()
        })
    }

    fn write(&mut self, message: Message, shared: &Shared) -> Result<(), WriteError> {
        match message {
            Message::Requests(mut records) => {
                shared.waiting.fetch_sub(records.len(), Relaxed);
                for r in &mut records {
                    shared.redact_row([&mut r.pod, &mut r.emitted_by, &mut r.detail]);
                }
                self.request_batch.append(&mut records);
                self.flush_full()
            }
            Message::Connections(mut records) => {
                shared.waiting.fetch_sub(records.len(), Relaxed);
                for c in &mut records {
                    shared.redact_row([&mut c.detail]);
                }
                self.connection_batch.append(&mut records);
                self.flush_full()
            }
            Message::Stream(record) => {
                if self.streams.is_none() {
                    self.streams = Some(Lines::create(&self.dir, STREAMS)?);
                }
                self.streams.as_mut().map_or(Ok(()), |s| s.append(&record))
            }
            Message::Job(record) => {
                if self.jobs.is_none() {
                    self.jobs = Some(Lines::create(&self.dir, JOBS)?);
                }
                self.jobs.as_mut().map_or(Ok(()), |s| s.append(&record))
            }
            Message::Balancer(record) => {
                if self.balancers.is_none() {
                    self.balancers = Some(Lines::create(&self.dir, BALANCERS)?);
                }
                let lines = self.balancers.as_mut();
                lines.map_or(Ok(()), |l| l.append(&record))
            }
            Message::Watch(record) => self.watch.append(&record),
            Message::Log(record) => self.logs.append(&record),
            Message::Stage(record) => self.stages.append(&record),
            Message::Clock(record) => self.clocks.append(&record),
            Message::Finish => Ok(()),
        }
    }

    fn flush_full(&mut self) -> Result<(), WriteError> {
        if self.request_batch.len().max(self.connection_batch.len()) < BATCH {
            return Ok(());
        }
        self.flush_rows()
    }

    fn flush_rows(&mut self) -> Result<(), WriteError> {
        let requests = std::mem::take(&mut self.request_batch);
        if !requests.is_empty() {
            let rows: Vec<_> = requests.iter().map(RequestRecord::view).collect();
            self.requests.append(&rows)?;
        }
        let connections = std::mem::take(&mut self.connection_batch);
        if !connections.is_empty() {
            let rows: Vec<_> = connections.iter().map(ConnectionRecord::view).collect();
            self.connections.append(&rows)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        self.flush_rows()?;
        self.streams.as_mut().map_or(Ok(()), Lines::flush)?;
        self.jobs.as_mut().map_or(Ok(()), Lines::flush)?;
        self.balancers.as_mut().map_or(Ok(()), Lines::flush)?;
        self.watch.flush()?;
        self.logs.flush()?;
        self.stages.flush()?;
        self.clocks.flush()
    }

    fn end(mut self) -> Result<Ended, WriteError> {
        self.flush()?;
        Ok(Ended {
            requests: self.requests.end()?,
            connections: self.connections.end()?,
        })
    }
}
