//! What the containers' logs say of starting and stopping.

use std::collections::BTreeMap;

use regex::Regex;
use rollscope_records::{LogRecord, LogSource, Recording, RunOffset, in_parallel};

use super::step::told;
use super::{PodIx, StepLine, Timeline};
use crate::clocks::{Clocks, node_clock};
use crate::ordered::Ordered;

/// A line that is longer is cut for the report, characters.
const LINE_LENGTH: usize = 200;

/// Lines that are read together.
const TOGETHER: usize = 4096;

/// Who speaks in a line, and of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Voice {
    /// A mark of the scenario, by its name.
    Mark(String),
    /// The application, of its shutdown.
    Shutdown,
    /// The application, of a shutdown that it cut short.
    Forced,
    /// The application, or its runtime, of an error that ends it.
    Crashed,
    /// The application: its listener is up.
    Listening,
    /// npm, yarn or pnpm, of its child's end.
    PackageManager,
}

/// A line with a meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogLine {
    pub(crate) at: RunOffset,
    pub(crate) voice: Voice,
    /// The line, cut.
    pub(crate) text: String,
}

/// One pod's log.
#[derive(Debug, Clone, Default)]
pub(crate) struct PodLog {
    /// Lines received from it.
    pub(crate) lines: u64,
    /// Lines with a meaning, in order of their time.
    pub(crate) said: Vec<LogLine>,
    /// Lines from the deletion on that tell of a step of the shutdown, in order of their time.
    pub(crate) steps: Vec<StepLine>,
    /// The first line from the deletion on that says that the graceful path was left.
    pub(crate) ungraceful: Option<UngracefulLine>,
}

/// A line that says that the graceful path was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UngracefulLine {
    pub(crate) at: RunOffset,
    /// The line, cut.
    pub(crate) text: String,
}

/// Every pod's log.
pub(crate) struct LogBook {
    pods: BTreeMap<PodIx, PodLog>,
    /// Names of the scenario's marks.
    pub(crate) marks: Vec<String>,
    /// Marks of the scenario that are no regular expression.
    pub(crate) bad_marks: Vec<String>,
}

impl LogBook {
    pub(crate) fn of(
        recording: &Recording,
        ordered: &Ordered<'_>,
        clocks: &Clocks,
        timeline: &Timeline,
    ) -> Self {
        let (marks, bad_marks) = marks(recording);
        let own_names = own_names(recording);
        let mut pods: BTreeMap<PodIx, PodLog> = BTreeMap::new();
        let parts: Vec<&[&LogRecord]> = ordered.logs.chunks(TOGETHER).collect();
        let read = in_parallel(&parts, |part| {
            let lines = part
                .iter()
                .filter_map(|log| Heard::of(log, timeline, clocks, &marks, &own_names));
            lines.collect::<Vec<_>>()
        });
        for heard in read.into_iter().flatten() {
            let book = pods.entry(heard.pod).or_default();
            book.lines += 1;
            book.said.extend(heard.said);
            book.steps.extend(heard.step);
            if book.ungraceful.is_none() {
                book.ungraceful = heard.ungraceful;
            }
        }
        for book in pods.values_mut() {
            book.said.sort_by_key(|l| l.at);
            book.steps.sort_by_key(|l| l.at);
        }
        Self {
            pods,
            marks: marks.into_iter().map(|(name, _)| name).collect(),
            bad_marks,
        }
    }

    /// A pod's log; `None` when no line of it was received.
    pub(crate) fn pod(&self, pod: PodIx) -> Option<&PodLog> {
        self.pods.get(&pod)
    }
}

/// What one line says.
struct Heard {
    pod: PodIx,
    said: Option<LogLine>,
    step: Option<StepLine>,
    ungraceful: Option<UngracefulLine>,
}

impl Heard {
    /// `None` for a line that no pod of the timeline wrote.
    fn of(
        log: &LogRecord,
        timeline: &Timeline,
        clocks: &Clocks,
        marks: &[(String, Regex)],
        own_names: &[String],
    ) -> Option<Self> {
        let LogSource::Container { pod, container } = &log.source else {
            return None;
        };
        let ix = *timeline.by_name.get(pod)?;
        let at = written_at(log, timeline.pod(ix).node.as_deref(), clocks);
        let voice = voice(&log.line, marks, pod, own_names);
        let said = voice.map(|voice| LogLine {
            at,
            voice,
            text: cut(&log.line),
        });
        let leaving = timeline.pod(ix).deletion;
        let leaves = leaving.is_some_and(|d| at >= d.logged_from());
        let ungraceful = leaves && leaves_graceful_path(&log.line);
        Some(Self {
            pod: ix,
            said,
            step: leaves
                .then(|| step_line(&log.line, marks, at, container))
                .flatten(),
            ungraceful: ungraceful.then(|| UngracefulLine {
                at,
                text: cut(&log.line),
            }),
        })
    }
}

impl LogLine {
    /// Says that the listener takes no new connection from then on.
    fn closes_listener(&self) -> bool {
        let of = |text: &str| {
            let text = text.to_lowercase();
            LISTENER_CLOSED.iter().any(|w| text.contains(w))
        };
        match &self.voice {
            Voice::Mark(name) => of(name) || of(&self.text),
            Voice::Shutdown => of(&self.text),
            _ => false,
        }
    }
}

impl PodLog {
    /// When the log says, from `from` on, that the listener was closed.
    pub(crate) fn listener_closed(&self, from: RunOffset) -> Option<RunOffset> {
        self.since(from).find(|l| l.closes_listener()).map(|l| l.at)
    }

    /// Lines with a meaning from `from` on.
    pub(crate) fn since(&self, from: RunOffset) -> impl Iterator<Item = &LogLine> {
        self.said.iter().filter(move |l| l.at >= from)
    }
}

fn cut(line: &str) -> String {
    line.chars().take(LINE_LENGTH).collect()
}

fn step_line(
    line: &str,
    marks: &[(String, Regex)],
    at: RunOffset,
    container: &str,
) -> Option<StepLine> {
    if of_package_manager(&line.to_lowercase()) || of_shell(&line.to_lowercase()) {
        return None;
    }
    let told = told(line, marks)?;
    Some(StepLine {
        at,
        step: told.step,
        container: container.to_owned(),
        mark: told.mark,
        values: told.values,
        text: cut(line),
        same: told.same,
        repeats: told.repeats,
    })
}

/// When a line was written: by the runtime's timestamp where there is one, never after its receipt.
fn written_at(log: &LogRecord, node: Option<&str>, clocks: &Clocks) -> RunOffset {
    log.timestamp
        .as_deref()
        .and_then(|t| clocks.read(&node_clock(node), t))
        .map_or(log.at, |i| i.hi.min(log.at).max(i.lo))
}

fn marks(recording: &Recording) -> (Vec<(String, Regex)>, Vec<String>) {
    let mut good = Vec::new();
    let mut bad = Vec::new();
    for (name, pattern) in &recording.run.log_marks {
        match Regex::new(pattern) {
            Ok(regex) => good.push((name.clone(), regex)),
            Err(_) => bad.push(name.clone()),
        }
    }
    (good, bad)
}

/// Names that stand in lines without meaning anything: a workload may be called `graceful`.
fn own_names(recording: &Recording) -> Vec<String> {
    let target = &recording.run.target;
    let workload = target
        .workload
        .iter()
        .map(|w| w.rsplit('/').next().unwrap_or(w).to_owned());
    workload
        .chain(target.namespace.clone())
        .chain(target.services.iter().cloned())
        .chain([recording.run.name.clone()])
        .filter(|n| n.len() > 2)
        .map(|n| n.to_lowercase())
        .collect()
}

fn voice(line: &str, marks: &[(String, Regex)], pod: &str, own_names: &[String]) -> Option<Voice> {
    if let Some((name, _)) = marks.iter().find(|(_, regex)| regex.is_match(line)) {
        return Some(Voice::Mark(name.clone()));
    }
    let mut text = line.to_lowercase();
    if of_package_manager(&text) {
        return Some(Voice::PackageManager);
    }
    if of_shell(&text) {
        return None;
    }
    text = text.replace(&pod.to_lowercase(), "");
    for name in own_names {
        text = text.replace(name, "");
    }
    let has = |words: &[&str]| words.iter().any(|w| text.contains(w));
    if has(&CRASHED) {
        Some(Voice::Crashed)
    } else if has(&FORCED) {
        Some(Voice::Forced)
    } else if has(&SHUTDOWN) {
        Some(Voice::Shutdown)
    } else if has(&LISTENING) {
        Some(Voice::Listening)
    } else {
        None
    }
}

/// Graceful shutdown that is skipped, as some libraries do in development mode.
fn leaves_graceful_path(line: &str) -> bool {
    let text = line.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| text.contains(w));
    has(&["graceful"]) && has(&["skip", "bypass", "disabled", "not enabled"])
        || has(&["development", "dev mode", "dev_mode", "dev-mode"])
            && has(&[
                "exit",
                "immediate",
                "skip",
                "bypass",
                "shutdown",
                "shutting",
            ])
}

fn of_package_manager(text: &str) -> bool {
    let text = text.trim_start();
    [
        "npm ",
        "npm:",
        "yarn ",
        "pnpm ",
        "error command failed",
        "lifecycle",
    ]
    .iter()
    .any(|p| text.starts_with(p))
        || text.contains("elifecycle")
}

fn of_shell(text: &str) -> bool {
    let text = text.trim();
    ["sh:", "/bin/sh:", "bash:", "/bin/bash:", "ash:", "dash:"]
        .iter()
        .any(|p| text.starts_with(p))
        || matches!(text, "terminated" | "killed")
}

const CRASHED: [&str; 12] = [
    "uncaught",
    "unhandled rejection",
    "unhandled_rejection",
    "unhandled exception",
    "unhandled_exception",
    "unhandledrejection",
    "panicked at",
    "panic:",
    "fatal error",
    "segmentation fault",
    "traceback (most recent",
    "outofmemoryerror",
];

const LISTENER_CLOSED: [&str; 9] = [
    "listener clos",
    "listener_clos",
    "listener-clos",
    "listening socket closed",
    "server closed",
    "server_closed",
    "server-closed",
    "stopped accepting",
    "stopped listening",
];

const FORCED: [&str; 10] = [
    "forced",
    "forcing",
    "force exit",
    "force-exit",
    "timeout exceeded",
    "deadline exceeded",
    "safety timer",
    "safety-timer",
    "shutdown timed out",
    "\"shutdown_timeout\"",
];

const SHUTDOWN: [&str; 26] = [
    "sigterm",
    "sigint",
    "shutdown",
    "shutting down",
    "shutting_down",
    "shut down",
    "draining",
    "drain start",
    "drain_start",
    "drain-start",
    "drain begin",
    "\"drain\"",
    "graceful",
    "received signal",
    "caught signal",
    "\"signal\"",
    "stopping server",
    "server clos",
    "server-clos",
    "server_clos",
    "listener clos",
    "listener_clos",
    "listener-clos",
    "readiness-off",
    "readiness_off",
    "readiness off",
];

const LISTENING: [&str; 4] = [
    "listening",
    "listen on",
    "server started",
    "accepting connections",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(line: &str) -> Option<Voice> {
        voice(line, &[], "graceful-7d9f-abcde", &["graceful".to_owned()])
    }

    #[test]
    fn a_signal_line_is_the_shutdown() {
        assert_eq!(
            heard(r#"{"t":1,"ev":"signal","sig":"SIGTERM"}"#),
            Some(Voice::Shutdown)
        );
        assert_eq!(heard("Shutting down ..."), Some(Voice::Shutdown));
    }

    #[test]
    fn names_of_the_pod_and_the_workload_mean_nothing() {
        assert_eq!(
            heard(r#"{"ev":"request","pod":"graceful-7d9f-abcde"}"#),
            None
        );
        assert_eq!(heard("request for graceful"), None);
    }

    #[test]
    fn lines_of_npm_and_of_shells_are_not_the_applications() {
        assert_eq!(
            heard("npm error signal SIGTERM"),
            Some(Voice::PackageManager)
        );
        assert_eq!(
            heard("npm ERR! command sh -c node server.js"),
            Some(Voice::PackageManager)
        );
        assert_eq!(
            heard("sh: line 1: 7 Terminated  node server.js (SIGTERM)"),
            None
        );
    }

    #[test]
    fn a_forced_exit_is_told_from_a_shutdown() {
        for line in [
            "shutdown timeout exceeded, exiting",
            r#"{"t":1,"ev":"shutdown_timeout","inflight":2}"#,
        ] {
            assert_eq!(heard(line), Some(Voice::Forced), "{line}");
        }
        let announced = "shutting down, shutdown timeout 30s";
        assert_eq!(heard(announced), Some(Voice::Shutdown));
    }

    #[test]
    fn an_error_that_ends_the_process_is_told_from_a_shutdown() {
        for line in [
            r#"{"ev":"uncaught_exception","inflight":3}"#,
            "thread 'main' panicked at src/main.rs:3:5",
            "Unhandled Rejection at: Promise, shutting down",
        ] {
            assert_eq!(heard(line), Some(Voice::Crashed), "{line}");
        }
    }

    #[test]
    fn a_log_says_when_the_listener_was_closed() {
        let said = |text: &str| LogLine {
            at: RunOffset::from_millis(7),
            voice: heard(text).expect("a line with a meaning"),
            text: text.to_owned(),
        };
        let log = PodLog {
            lines: 2,
            said: vec![said("received SIGTERM"), said("listener closed")],
            ..PodLog::default()
        };
        let start = RunOffset::ZERO;
        assert_eq!(log.listener_closed(start), Some(RunOffset::from_millis(7)));
        let silent = PodLog {
            lines: 1,
            said: vec![said("closing the server: shutting down")],
            ..PodLog::default()
        };
        assert_eq!(silent.listener_closed(start), None);
    }

    #[test]
    fn ordinary_lines_mean_nothing() {
        assert_eq!(heard(r#"{"ev":"start","inflight":0}"#), None);
    }
}
