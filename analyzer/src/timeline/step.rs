//! The steps of a shutdown that an application's log tells, by the scenario's marks or by what programs usually say.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use rollscope_records::RunOffset;
use serde_json::{Map, Value};

/// A step of a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Step {
    /// The signal was caught, the shutdown began.
    Signal,
    /// Readiness answers 503.
    ReadinessOff,
    /// No new connection is accepted.
    ListenerClosed,
    /// Every request in flight has ended.
    Drained,
    /// Background jobs are finished or handed back.
    JobsReturned,
    /// A dependency (database pool, cache, queue) is closed.
    PoolClosed,
    /// The process ends.
    Exit,
}

impl Step {
    /// Its name in reports.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Signal => "signal",
            Self::ReadinessOff => "readiness_off",
            Self::ListenerClosed => "listener_closed",
            Self::Drained => "drained",
            Self::JobsReturned => "jobs_returned",
            Self::PoolClosed => "pool_closed",
            Self::Exit => "exit",
        }
    }

    /// In a sentence.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Signal => "the signal was caught",
            Self::ReadinessOff => "readiness was turned off",
            Self::ListenerClosed => "the listener was closed",
            Self::Drained => "the requests in flight were drained",
            Self::JobsReturned => "the jobs were returned",
            Self::PoolClosed => "a dependency was closed",
            Self::Exit => "the process ended",
        }
    }
}

/// A line that tells of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepLine {
    pub(crate) at: RunOffset,
    pub(crate) step: Step,
    /// The container that wrote it.
    pub(crate) container: String,
    /// The mark of the scenario that it matches.
    pub(crate) mark: Option<String>,
    /// What the named groups of that mark caught.
    pub(crate) values: BTreeMap<String, String>,
    /// The line, cut.
    pub(crate) text: String,
    /// The line without what differs each time it is written (times, counters): equal for equal lines.
    pub(crate) same: String,
    /// It reports progress or answers a probe: that it comes again means nothing.
    pub(crate) repeats: bool,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) step: Step,
    pub(super) mark: Option<String>,
    pub(super) values: BTreeMap<String, String>,
    pub(super) same: String,
    pub(super) repeats: bool,
}

/// The step that `line` tells of, if it does. `marks`: the scenario's, by name.
pub(super) fn told(line: &str, marks: &[(String, Regex)]) -> Option<Told> {
    let marked = marks
        .iter()
        .find_map(|(name, regex)| Some((name, regex, regex.captures(line)?)));
    if marked.is_none() && !HINT.is_match(line) {
        return None;
    }
    let message = Message::of(line);
    let by_name = marked.as_ref().and_then(|(name, ..)| step(&spaced(name)));
    let step = by_name.or_else(|| step(&message.text))?;
    let (mark, values) = match marked {
        Some((name, regex, found)) => (Some(name.clone()), groups(regex, &found)),
        None => (None, BTreeMap::new()),
    };
    Some(Told {
        step,
        mark,
        values,
        repeats: PROGRESS.is_match(&message.text),
        same: message.same,
    })
}

fn groups(regex: &Regex, found: &Captures<'_>) -> BTreeMap<String, String> {
    let named = regex.capture_names().flatten();
    named
        .filter_map(|name| Some((name.to_owned(), found.name(name)?.as_str().to_owned())))
        .collect()
}

/// The message of a line, structured or not.
struct Message {
    /// In lower case, words apart.
    text: String,
    same: String,
}

/// Fields of a structured line that hold its message.
const MESSAGE: [&str; 7] = ["ev", "event", "msg", "message", "body", "step", "stage"];

/// Fields that name who or what a line is about.
const IDENTITY: [&str; 8] = [
    "pid", "port", "worker", "thread", "name", "pool", "server", "logger",
];

impl Message {
    fn of(line: &str) -> Self {
        let parsed = line.trim_start().starts_with('{');
        let fields = parsed.then(|| serde_json::from_str::<Map<String, Value>>(line));
        let Some(Ok(fields)) = fields else {
            return Self {
                text: spaced(line),
                same: without_times(line),
            };
        };
        let texts = |names: &[&str]| {
            let found = names.iter().filter_map(|n| match fields.get(*n)? {
                Value::String(s) => Some(s.clone()),
                Value::Number(n) => Some(n.to_string()),
                _ => None,
            });
            found.collect::<Vec<_>>().join(" ")
        };
        let message = texts(&MESSAGE);
        Self {
            text: spaced(&message),
            same: format!("{} {}", without_times(&message), texts(&IDENTITY)),
        }
    }
}

fn spaced(text: &str) -> String {
    let apart = text.to_lowercase().replace(['_', '-'], " ");
    apart.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Without words that are times, lengths of time or counts; numbers that name a port, a process or a worker stay.
fn without_times(line: &str) -> String {
    let mut named = false;
    let mut kept: Vec<&str> = Vec::new();
    for word in line.split_whitespace() {
        let bare = word.trim_matches(|c: char| "[](){},;=\"'".contains(c));
        let number = bare.starts_with(|c: char| c.is_ascii_digit());
        if !number || named {
            kept.push(word);
        }
        let lower = bare.trim_end_matches(':').to_lowercase();
        named = matches!(
            lower.as_str(),
            "pid" | "port" | "worker" | "process" | "thread" | "on"
        );
    }
    kept.join(" ").to_lowercase()
}

/// A line without one of these tells of no step.
static HINT: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        "(?i)sig_?term|sig_?int|signal|shut|drain|read[iy]|health|clos|accept|listen|flight|connection|request|worker|\
         consumer|job|lease|pool|database|exit|bye|stop|disconnect|graceful|lame",
    )
});

/// A line that says how far a shutdown has come, or that answers a probe.
static PROGRESS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"\bwaiting\b|\bstill\b|\bremaining\b|\bretry|\bprob(e|ing)\b|health|\b503\b|\bget /")
});

/// A line that tells of something going wrong tells of no step that is done.
static WRONG: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"\b(error|failed|failure|cannot|unexpected\w*|exception|refused)\b")
});

/// What programs say of each step that is done; the first that matches counts.
static STEPS: LazyLock<[(Step, Regex); 7]> = LazyLock::new(|| {
    const DEPENDENCY: &str = r"(pool|database|db|redis|cache|postgres(ql)?|mysql|mongo(db)?|prisma|kafka|rabbitmq|amqp|nats|broker|queue connections?|dependenc(y|ies)|data ?source|hikari\S*)";
    const CLOSED: &str =
        r"(closed|ended|disconnected|drained|quit|terminated|destroyed|shut ?down( completed)?)";
    const WORK: &str = "(workers?|consumers?|jobs?|leases?|queues?)";
    const RETURNED: &str =
        "(stopped|returned|released|requeued|finished|closed|drained|paused|handed back)";
    [
        (
            Step::PoolClosed,
            compiled(&format!(
                r"\b{DEPENDENCY}( \S+){{0,3}}? {CLOSED}\b|\b{CLOSED} (\S+ ){{0,3}}?{DEPENDENCY}\b"
            )),
        ),
        (
            Step::JobsReturned,
            compiled(&format!(
                r"\b{WORK}( \S+){{0,3}}? {RETURNED}\b|\b{RETURNED} (\S+ ){{0,3}}?{WORK}\b"
            )),
        ),
        (
            Step::ReadinessOff,
            compiled(
                r"\breadiness( \S+){0,3}? (off|false|failing|503|down|disabled)\b|\b(marked|now|set)( as)? (not ready|unready)\b|\bready\s?[=:]\s?false\b|\bhealth ?checks?( now)? (failing|fails?|returns? 503)\b|\blame ?duck\b",
            ),
        ),
        (
            Step::Drained,
            compiled(
                r"\bdrained\b|\bdrain(ing)?( is)? (complete[d]?|done|finished|ended)\b|\bin ?flight( requests?)?( are| is)? (done|finished|completed?|drained)\b|\ball( \S+){0,2}? (requests|connections)( are| have been| have)? (done|finished|completed?|closed|ended)\b|\bno( more)? (requests|connections) in ?flight\b|^closed$",
            ),
        ),
        (
            Step::ListenerClosed,
            compiled(
                r"\b(listener|listening socket|acceptor)s?( \S+)?? (closed|stopped)\b|\bclosed( the)? (listener|listening socket)\b|\b(stopped|no longer|not) (accepting|listening)\b|\bserver( \S+){0,3}? (closed|stopped)\b|^server close$",
            ),
        ),
        (
            Step::Exit,
            compiled(
                r"^exit\b|\bexiting\b|\bexit(ed)?( with)? (code|status)\b|\bprocess exit|\bgood ?bye\b|\bbye\b|\bshut ?down( is)? (complete[d]?|done|finished|ended)\b|\b(stopped|terminated|exited) gracefully\b",
            ),
        ),
        (
            Step::Signal,
            compiled(
                r"\bsig ?(term|int)\b|^signal$|\b(received|caught|got)( \S+)?? signal\b|\bsignal received\b|\bshutting down\b|\bshut ?down (started|begins?|began|initiated|requested)\b|\b(starting|beginning|initiating)( \S+)?? (shut ?down|drain)\b|\bdrain(ing)? (started|start|begins?|began)\b|^(\S+ )?draining\b|\bgraceful shut ?down\b",
            ),
        ),
    ]
});

fn step(text: &str) -> Option<Step> {
    if WRONG.is_match(text) {
        return None;
    }
    let told = STEPS.iter().find(|(_, regex)| regex.is_match(text));
    told.map(|(step, _)| *step)
}

/// A pattern of this file; the tests compile them all.
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step_of(line: &str) -> Option<Step> {
        told(line, &[]).map(|t| t.step)
    }

    #[test]
    fn steps_are_told_from_what_programs_say() {
        for (line, step) in [
            (r#"{"t":1,"ev":"signal","sig":"SIGTERM"}"#, Step::Signal),
            ("SIGTERM received, shutting down", Step::Signal),
            ("[pid 7] Shutting down ...", Step::Signal),
            ("drain_started", Step::Signal),
            (r#"{"ev":"readiness-off"}"#, Step::ReadinessOff),
            ("readiness probe set to 503", Step::ReadinessOff),
            ("marked as not ready", Step::ReadinessOff),
            (r#"{"ev":"listener_closed"}"#, Step::ListenerClosed),
            (r#"{"ev":"server-close"}"#, Step::ListenerClosed),
            ("HTTP server closed", Step::ListenerClosed),
            ("no longer accepting connections", Step::ListenerClosed),
            (r#"{"ev":"drained","inflight":0,"cut":3}"#, Step::Drained),
            (r#"{"ev":"closed","conns":0}"#, Step::Drained),
            ("all in-flight requests finished", Step::Drained),
            ("all connections closed", Step::Drained),
            (
                r#"{"ev":"worker_stopped","returned":2}"#,
                Step::JobsReturned,
            ),
            ("3 jobs returned to the queue", Step::JobsReturned),
            (r#"{"ev":"pool_closed"}"#, Step::PoolClosed),
            ("database connections closed", Step::PoolClosed),
            ("disconnected from redis", Step::PoolClosed),
            ("HikariPool-1 - Shutdown completed.", Step::PoolClosed),
            (r#"{"ev":"exit","code":0}"#, Step::Exit),
            ("graceful shutdown complete", Step::Exit),
        ] {
            assert_eq!(step_of(line), Some(step), "{line}");
        }
    }

    #[test]
    fn what_is_about_to_be_done_or_went_wrong_is_no_step() {
        for line in [
            r#"{"ev":"request","inflight":2}"#,
            r#"{"ev":"probe-ready","inflight":2,"status":503}"#,
            "closing the database pool",
            "error: database connection closed",
            "cannot use a pool after calling end on the pool",
            "GET /orders 200 3 ms",
            "connection from 10.0.0.7 accepted",
        ] {
            assert_eq!(step_of(line), None, "{line}");
        }
    }

    #[test]
    fn a_mark_of_the_scenario_names_its_step_and_gives_its_values() {
        let mark = |name: &str, pattern: &str| {
            vec![(
                name.to_owned(),
                Regex::new(pattern).unwrap_or_else(|_| compiled("^$")),
            )]
        };
        let t = told("bye: 3 cut", &mark("drained", r"(?P<cut>\d+) cut"));
        let t = t.as_ref();
        assert_eq!(t.map(|t| t.step), Some(Step::Drained));
        assert_eq!(
            t.and_then(|t| t.values.get("cut")).map(String::as_str),
            Some("3")
        );
        let other = told("request 17 done", &mark("request_done", "request"));
        assert_eq!(other, None);
    }

    #[test]
    fn a_line_is_the_same_line_at_another_time_and_not_of_another_port_or_process() {
        let same = |line: &str| told(line, &[]).map(|t| t.same);
        assert_eq!(
            same("12:00:01.250 SIGTERM received (3 in flight)"),
            same("12:00:01.260 SIGTERM received (0 in flight)")
        );
        assert_eq!(
            same(r#"{"t":1,"ev":"pool_closed","inflight":1}"#),
            same(r#"{"t":2,"ev":"pool_closed","inflight":0}"#)
        );
        assert_ne!(
            same("server on port 8080 closed"),
            same("server on port 9090 closed")
        );
        assert_ne!(
            same(r#"{"pid":7,"msg":"shutting down"}"#),
            same(r#"{"pid":8,"msg":"shutting down"}"#)
        );
    }
}
