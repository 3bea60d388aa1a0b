//! Container logs: what the containers wrote, line by line, with the time at which the runtime read it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

/// Longest piece of a line, in bytes; longer lines are kept in pieces, as containerd does.
pub const LINE_LIMIT: usize = 16 * 1024;
/// Bytes of text that are kept of one container's run, unless [`LogStore::with_limit`] says otherwise.
const RUN_LIMIT: usize = 16 * 1024 * 1024;

/// The stream that a line was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One line, or one piece of a line over [`LINE_LIMIT`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// When the runtime read the line's end.
    pub time: Timestamp,
    /// Where it was written.
    pub stream: LogStream,
    /// The text without its line end; bytes that are not UTF-8 are replaced.
    pub text: Arc<str>,
    /// Whether the next line of the same stream continues this one.
    pub partial: bool,
}

impl LogLine {
    /// The time as container runtimes write it: RFC 3339, UTC, nine digits.
    pub fn timestamp(&self) -> String {
        self.time.strftime("%Y-%m-%dT%H:%M:%S.%9fZ").to_string()
    }
}

/// Which lines a reader wants.
#[derive(Debug, Clone, Default)]
pub struct LogOptions {
    /// The run before the last restart instead of the present one.
    pub previous: bool,
    /// At most so many of the lines that are already there.
    pub tail_lines: Option<usize>,
    /// Only lines at or after this time.
    pub since: Option<Timestamp>,
    /// Go on until the container ends.
    pub follow: bool,
}

type Key = (String, String, String);

/// The logs of all containers. Clones share them.
#[derive(Debug, Clone)]
pub struct LogStore {
    containers: Arc<Mutex<BTreeMap<Key, Vec<Arc<Run>>>>>,
    limit: usize,
}

impl Default for LogStore {
    fn default() -> Self {
        Self::new()
    }
}

impl LogStore {
    /// An empty store that keeps 16 MiB of text of each container's run.
    pub fn new() -> Self {
        Self::with_limit(RUN_LIMIT)
    }

    /// An empty store that keeps `limit` bytes of text of each container's run. The oldest lines go first.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            containers: Arc::default(),
            limit,
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Vec<Arc<Run>>>> {
        self.containers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the log of a new run of a container. The run before becomes the previous one, and the one before that is
    /// forgotten. The run ends when the writer and its clones are dropped.
    pub fn start(&self, namespace: &str, pod: &str, container: &str) -> LogWriter {
        let run = Arc::new(Run::new(self.limit));
        let mut containers = self.lock();
        let runs = containers
            .entry(key(namespace, pod, container))
            .or_default();
        if runs.len() > 1 {
            runs.remove(0);
        }
        runs.push(Arc::clone(&run));
        LogWriter {
            end: Arc::new(RunEnd(run)),
        }
    }

    /// A reader of a container's log; `None` if the container (or its previous run) has not run.
    pub fn read(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        options: &LogOptions,
    ) -> Option<LogReader> {
        let containers = self.lock();
        let runs = containers.get(&key(namespace, pod, container))?;
        let run = match (options.previous, runs.as_slice()) {
            (true, [before, _]) => before,
            (true, _) => return None,
            (false, runs) => runs.last()?,
        };
        Some(LogReader::new(Arc::clone(run), options))
    }

    /// The lines of a container that are there now, oldest first; empty if it has not run.
    pub fn lines(&self, namespace: &str, pod: &str, container: &str) -> Vec<LogLine> {
        let containers = self.lock();
        let run = containers
            .get(&key(namespace, pod, container))
            .and_then(|runs| runs.last());
        run.map(|r| r.lock().lines.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// Forgets a pod's logs. Readers that are open go on to the end.
    pub fn forget(&self, namespace: &str, pod: &str) {
        self.lock()
            .retain(|(ns, name, _), _| ns != namespace || name != pod);
    }
}

fn key(namespace: &str, pod: &str, container: &str) -> Key {
    (namespace.to_owned(), pod.to_owned(), container.to_owned())
}

/// One run of one container.
#[derive(Debug)]
struct Run {
    lines: Mutex<Lines>,
    limit: usize,
    written: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Lines {
    lines: VecDeque<LogLine>,
    bytes: usize,
    /// Lines that were dropped at the front.
    dropped: u64,
    ended: bool,
}

impl Run {
    fn new(limit: usize) -> Self {
        Self {
            lines: Mutex::default(),
            limit,
            written: watch::channel(0).0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: LogLine) {
        let mut lines = self.lock();
        lines.bytes += line.text.len();
        lines.lines.push_back(line);
        while lines.bytes > self.limit && lines.lines.len() > 1 {
            if let Some(oldest) = lines.lines.pop_front() {
                lines.bytes -= oldest.text.len();
                lines.dropped += 1;
            }
        }
        self.written.send_modify(|n| *n += 1);
    }

    fn end(&self) {
        self.lock().ended = true;
        self.written.send_modify(|n| *n += 1);
    }
}

#[derive(Debug)]
struct RunEnd(Arc<Run>);

impl Drop for RunEnd {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Writes the log of one run of a container.
#[derive(Debug, Clone)]
pub struct LogWriter {
    end: Arc<RunEnd>,
}

impl LogWriter {
    /// Appends one line.
    pub fn line(&self, stream: LogStream, text: &str, partial: bool) {
        self.end.0.push(LogLine {
            time: Timestamp::now(),
            stream,
            text: text.into(),
            partial,
        });
    }

    /// Copies a stream to the log until it ends.
    pub async fn copy(self, stream: LogStream, mut from: impl AsyncRead + Unpin) {
        let mut splitter = Splitter::default();
        let mut buffer = vec![0; LINE_LIMIT];
        loop {
            match from.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(n) => splitter.feed(&buffer[..n], |text, partial| {
                    self.line(stream, text, partial);
                }),
            }
        }
        splitter.finish(|text| self.line(stream, text, false));
    }
}

/// Cuts bytes into lines and overlong lines into pieces.
#[derive(Debug, Default)]
struct Splitter {
    rest: Vec<u8>,
}

impl Splitter {
    fn feed(&mut self, mut bytes: &[u8], mut line: impl FnMut(&str, bool)) {
        while let Some(end) = bytes.iter().position(|b| *b == b'\n') {
            self.append(&bytes[..end], &mut line);
            line(&String::from_utf8_lossy(&self.rest), false);
            self.rest.clear();
            bytes = &bytes[end + 1..];
        }
        self.append(bytes, &mut line);
    }

    fn append(&mut self, bytes: &[u8], line: &mut impl FnMut(&str, bool)) {
        self.rest.extend_from_slice(bytes);
        while self.rest.len() > LINE_LIMIT {
            let cut = char_start(&self.rest, LINE_LIMIT);
            line(&String::from_utf8_lossy(&self.rest[..cut]), true);
            self.rest.drain(..cut);
        }
    }

    fn finish(self, mut line: impl FnMut(&str)) {
        if !self.rest.is_empty() {
            line(&String::from_utf8_lossy(&self.rest));
        }
    }
}

/// The last index at or before `at` that does not lie within a UTF-8 character.
fn char_start(bytes: &[u8], at: usize) -> usize {
    let back = (0..4).find(|n| bytes[at - n] & 0b1100_0000 != 0b1000_0000);
    at - back.unwrap_or(0)
}

/// Reads one run of a container's log.
#[derive(Debug)]
pub struct LogReader {
    run: Arc<Run>,
    written: watch::Receiver<u64>,
    /// The number of the next line, counted from the run's start.
    next: u64,
    /// Where a reader that does not follow stops.
    stop: Option<u64>,
    since: Option<Timestamp>,
    /// Lines that were dropped before they were read, and not told of yet.
    lost: u64,
}

impl LogReader {
    fn new(run: Arc<Run>, options: &LogOptions) -> Self {
        let written = run.written.subscribe();
        let (next, stop) = {
            let lines = run.lock();
            let end = lines.dropped + lines.lines.len() as u64;
            let wanted = |l: &&LogLine| options.since.is_none_or(|since| l.time >= since);
            let there = lines.lines.iter().filter(wanted).count() as u64;
            let tail = options.tail_lines.map_or(there, |n| there.min(n as u64));
            // Times never go back, so the wanted lines are the last ones.
            (end - tail, (!options.follow).then_some(end))
        };
        Self {
            run,
            written,
            next,
            stop,
            since: options.since,
            lost: 0,
        }
    }

    /// The next line if it is there already.
    pub fn ready(&mut self) -> Option<LogLine> {
        while self.stop.is_none_or(|stop| self.next < stop) {
            let line = self.look().0?;
            if self.since.is_none_or(|since| line.time >= since) {
                return Some(line);
            }
        }
        None
    }

    /// How many lines were dropped before they could be read, since this was last asked.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// The next line; `None` at the end (of what was there, or when following, of the container). Lines that were
    /// dropped before they were read are skipped. Cancel safe.
    pub async fn next(&mut self) -> Option<LogLine> {
        loop {
            self.written.mark_unchanged();
            if self.stop.is_some_and(|stop| self.next >= stop) {
                return None;
            }
            let (line, ended) = self.look();
            match line {
                Some(line) if self.since.is_some_and(|since| line.time < since) => {}
                Some(line) => return Some(line),
                None if ended => return None,
                // The sender lives as long as `self.run`.
                None => drop(self.written.changed().await),
            }
        }
    }

    fn look(&mut self) -> (Option<LogLine>, bool) {
        let lines = self.run.lock();
        self.lost += lines.dropped.saturating_sub(self.next);
        self.next = self.next.max(lines.dropped);
        let index = usize::try_from(self.next - lines.dropped).unwrap_or(usize::MAX);
        let line = lines.lines.get(index).cloned();
        self.next += u64::from(line.is_some());
        (line, lines.ended)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn follow() -> LogOptions {
        LogOptions {
            follow: true,
            ..LogOptions::default()
        }
    }

    async fn all(mut reader: LogReader) -> Vec<String> {
        let mut texts = Vec::new();
        while let Some(line) = reader.next().await {
            texts.push(line.text.to_string());
        }
        texts
    }

    #[tokio::test]
    async fn a_follower_gets_every_line_and_ends_with_the_container() {
        let logs = LogStore::new();
        let writer = logs.start("shop", "web", "app");
        writer.line(LogStream::Stdout, "one", false);
        let reader = logs.read("shop", "web", "app", &follow()).unwrap();
        let reading = tokio::spawn(all(reader));
        tokio::task::yield_now().await;
        writer.copy(LogStream::Stderr, &b"two\nthree"[..]).await;
        assert_eq!(reading.await.unwrap(), ["one", "two", "three"]);
    }

    #[tokio::test]
    async fn lines_that_are_there_are_read_without_waiting_and_lost_ones_are_counted() {
        let logs = LogStore::with_limit(8);
        let writer = logs.start("shop", "web", "app");
        let mut reader = logs.read("shop", "web", "app", &follow()).unwrap();
        assert_eq!(reader.ready(), None);
        for text in ["one", "two", "three"] {
            writer.line(LogStream::Stdout, text, false);
        }
        let first = reader.next().await.unwrap();
        assert_eq!(&*first.text, "two");
        assert_eq!((reader.take_lost(), reader.take_lost()), (1, 0));
        assert_eq!(reader.ready().as_ref().map(|l| &*l.text), Some("three"));
        assert_eq!(reader.ready(), None);
    }

    #[tokio::test]
    async fn tail_and_since_choose_among_the_lines_that_are_there() {
        let logs = LogStore::new();
        let writer = logs.start("shop", "web", "app");
        for text in ["one", "two", "three"] {
            writer.line(LogStream::Stdout, text, false);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let second = logs.lines("shop", "web", "app")[1].time;
        let read = |options: LogOptions| all(logs.read("shop", "web", "app", &options).unwrap());
        let tail = LogOptions {
            tail_lines: Some(1),
            ..LogOptions::default()
        };
        assert_eq!(read(tail).await, ["three"]);
        let since = LogOptions {
            since: Some(second),
            ..LogOptions::default()
        };
        assert_eq!(read(since).await, ["two", "three"]);
    }

    #[tokio::test]
    async fn a_restart_keeps_the_previous_run() {
        let logs = LogStore::new();
        drop(logs.read("shop", "web", "app", &LogOptions::default()));
        let writer = logs.start("shop", "web", "app");
        writer.line(LogStream::Stdout, "first run", false);
        drop(writer);
        let previous = LogOptions {
            previous: true,
            ..LogOptions::default()
        };
        assert!(logs.read("shop", "web", "app", &previous).is_none());
        let _writer = logs.start("shop", "web", "app");
        let reader = logs.read("shop", "web", "app", &previous).unwrap();
        assert_eq!(all(reader).await, ["first run"]);
    }

    #[tokio::test]
    async fn memory_is_bounded_and_the_oldest_lines_go_first() {
        let logs = LogStore::with_limit(10);
        let writer = logs.start("shop", "web", "app");
        let reader = logs.read("shop", "web", "app", &follow()).unwrap();
        for text in ["12345", "67890", "abcde"] {
            writer.line(LogStream::Stdout, text, false);
        }
        drop(writer);
        assert_eq!(all(reader).await, ["67890", "abcde"]);
    }

    #[tokio::test]
    async fn overlong_lines_come_in_marked_pieces_that_cut_no_character() {
        let logs = LogStore::new();
        let writer = logs.start("shop", "web", "app");
        let text = format!("a{}", "é".repeat(LINE_LIMIT));
        let bytes = format!("{text}\nend\n");
        writer.copy(LogStream::Stdout, bytes.as_bytes()).await;
        let lines = logs.lines("shop", "web", "app");
        let partial: Vec<bool> = lines.iter().map(|l| l.partial).collect();
        assert_eq!(partial, [true, true, false, false]);
        let joined: String = lines[..3].iter().map(|l| &*l.text).collect();
        assert_eq!(joined, text);
    }

    #[tokio::test]
    async fn bytes_that_are_not_utf8_are_replaced() {
        let logs = LogStore::new();
        let writer = logs.start("shop", "web", "app");
        writer.copy(LogStream::Stdout, &b"a\xffb\n"[..]).await;
        assert_eq!(&*logs.lines("shop", "web", "app")[0].text, "a\u{fffd}b");
    }

    #[test]
    fn timestamps_have_nine_digits() {
        let line = LogLine {
            time: "2026-11-30T11:07:04.33Z".parse().unwrap(),
            stream: LogStream::Stdout,
            text: "".into(),
            partial: false,
        };
        assert_eq!(line.timestamp(), "2026-11-30T11:07:04.330000000Z");
    }
}
