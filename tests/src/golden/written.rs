//! `recording.txt`: a run written by hand. `golden/README.md` says what its lines mean.

use std::collections::BTreeMap;

use rollscope_records::{
    ClockSample, EndKind, Gap, JobPlan, JobRecord, Lane, LogRecord, LogSource, Outcome, Phase,
    Recording, RequestRecord, RunEnd, RunOffset, RunRecord, StageEvent, StageRecord, TargetFacts,
    WatchRecord,
};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::parse::{self, Options};
use super::pods::{Pod, Seen, cordoned};
use crate::noise;

const SECOND: i64 = 1_000_000_000;

/// The wall clock at the start of every run: on a whole second.
const WALL: i64 = 1_796_036_900 * SECOND;

/// The recording that the text of the case `name` describes.
pub(super) fn recording(name: &str, text: &str) -> Recording {
    let mut book = Book::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let understood = book.line(line);
        assert!(
            understood.is_some(),
            "{name}/recording.txt:{number}: not understood: {line}"
        );
    }
    book.close()
}

struct Book {
    /// Everything but the requests.
    recording: Recording,
    requests: Vec<RequestRecord>,
    pods: Vec<Pod>,
    /// What each clock is ahead of the run's, ns.
    ahead: BTreeMap<String, i64>,
    stage: Option<(usize, String)>,
    /// Of each connection: requests on it, and the end of the last.
    connections: BTreeMap<u64, (u32, i64)>,
    gaps: Vec<Gap>,
    /// What happened to the jobs: when, to which of them (from 1), what, and by whom.
    jobs: Vec<(i64, usize, String, String)>,
}

impl Book {
    fn new() -> Self {
        Self {
            recording: Recording::new(run()),
            requests: Vec::new(),
            pods: Vec::new(),
            ahead: BTreeMap::new(),
            stage: None,
            connections: BTreeMap::new(),
            gaps: Vec::new(),
            jobs: Vec::new(),
        }
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let (first, rest) = word(line);
        match first {
            "run" => self.about(Options::of(rest.split_whitespace())?),
            "jobs" => self.jobs(Options::of(rest.split_whitespace())?),
            "pod" => {
                let (name, rest) = word(rest);
                let mut options = Options::of(rest.split_whitespace())?;
                let pod = Pod::declared(name, &mut options, self.pods.len())?;
                self.pods.push(pod);
                options.left().is_empty().then_some(())
            }
            when => {
                let (what, rest) = word(rest);
                match what {
                    "gap" => self.gap(parse::between(when)?, rest),
                    _ => parse::moments(when)?
                        .into_iter()
                        .try_for_each(|at| self.at(at, what, rest)),
                }
            }
        }
    }

    fn at(&mut self, at: i64, what: &str, rest: &str) -> Option<()> {
        match what {
            "request" => self.request(at, rest),
            "job" => self.job(at, rest),
            "log" => self.log(at, rest),
            "stage" => self.stage(at, rest),
            "clock" => self.clock(at, rest),
            "cordon" => {
                self.see(vec![cordoned(rest, at)]);
                Some(())
            }
            "event" => {
                let (pod, rest) = word(rest);
                let (reason, message) = word(rest);
                let pod = self.pods.iter().find(|p| p.name == pod)?;
                let seen = pod.event(at, reason, message);
                self.see(vec![seen]);
                Some(())
            }
            "end" => {
                self.recording.run.end.as_mut()?.at = RunOffset(at);
                Some(())
            }
            pod => {
                let write =
                    |clock: &str, at: i64, whole: bool| written(&self.ahead, clock, at, whole);
                let pod = self.pods.iter_mut().find(|p| p.name == pod)?;
                let seen = pod.happened(at, rest, &write)?;
                self.see(seen);
                Some(())
            }
        }
    }

    /// `run rate=20/s front_end=http target=none api-server=+12s node/node1=-3s`
    fn about(&mut self, mut options: Options<'_>) -> Option<()> {
        let run = &mut self.recording.run;
        if let Some(rate) = options.take("rate") {
            run.rate_per_second = rate.strip_suffix("/s")?.parse().ok()?;
        }
        if let Some(target) = options.take("target") {
            target.clone_into(&mut run.target.kind);
        }
        run.target.front_end = options.take("front_end").map(str::to_owned);
        for clock in options.left() {
            self.ahead
                .insert(clock.to_owned(), parse::length(options.take(clock)?)?);
        }
        Some(())
    }

    fn see(&mut self, seen: Vec<Seen>) {
        for s in seen {
            let known = &self.recording.watch;
            let version = (known.len() + 1).to_string();
            let mut object = s.object;
            object["metadata"]["resourceVersion"] = version.into();
            self.recording.watch.push(WatchRecord::Event {
                at: RunOffset(s.at),
                kind: s.kind,
                event: s.event,
                object,
            });
        }
    }

    /// `request new ok pod=stays took=3ms`, `request reused#1 eof_before_headers took=382ms`
    fn request(&mut self, at: i64, rest: &str) -> Option<()> {
        let (lane, rest) = word(rest);
        let (outcome, rest) = word(rest);
        let mut options = Options::of(rest.split_whitespace())?;
        let outcome = Outcome::from_name(outcome)?;
        let (lane, connection) = match lane.split_once('#') {
            Some(("reused", id)) => (Lane::Reused, Some(id.parse().ok()?)),
            None if lane == "new" => (Lane::New, None),
            _ => return None,
        };
        let took = parse::length(options.take("took").unwrap_or("3ms"))?;
        let seq = self.requests.len() as u64;
        let name = options.take("name").unwrap_or("list");
        let mut r = RequestRecord::scheduled(seq, lane, name, RunOffset(at));
        (r.outcome, r.phase) = (outcome, phase(outcome));
        r.status = match options.take("status") {
            Some(status) => Some(status.parse().ok()?),
            None => (outcome == Outcome::Ok).then_some(200),
        };
        r.pod = options.take("pod").map(str::to_owned);
        r.emitted_by = options.take("by").map(|by| format!("server={by}"));
        r.close_received = options.take("close") == Some("said");
        r.connection = connection;
        if outcome != Outcome::Dropped {
            r.dispatched = Some(r.scheduled);
            r.ended = Some(RunOffset(at + took));
        }
        if r.phase >= Phase::Head {
            self.connect(&mut r, at, took);
        }
        self.requests.push(r);
        options.left().is_empty().then_some(())
    }

    /// Gives a request that was written its connection.
    fn connect(&mut self, r: &mut RequestRecord, at: i64, took: i64) {
        let id = r.connection.unwrap_or(1_000_000 + r.seq);
        let (carried, last_end) = self.connections.get(&id).copied().unwrap_or((0, at));
        r.written = r.dispatched;
        r.connection = Some(id);
        r.ordinal = Some(carried);
        r.reused = carried > 0;
        r.idle = r.reused.then_some(at - last_end);
        if r.phase == Phase::Done {
            r.first_byte = r.ended;
        }
        self.connections.insert(id, (carried + 1, at + took));
    }

    /// `log old SIGTERM, shutting down`
    fn log(&mut self, at: i64, rest: &str) -> Option<()> {
        let (name, line) = word(rest);
        let pod = self.pods.iter().find(|p| p.name == name)?;
        self.recording.logs.push(LogRecord {
            at: RunOffset(at + SECOND / 500),
            source: LogSource::Container {
                pod: name.to_owned(),
                container: "web".to_owned(),
            },
            timestamp: Some(written(&self.ahead, &pod.clock(), at, false)),
            line: line.to_owned(),
        });
        Some(())
    }

    /// `stage restart begins`, `stage restart ends`, `stage restart fails not complete within 2m`
    fn stage(&mut self, at: i64, rest: &str) -> Option<()> {
        let (kind, rest) = word(rest);
        let (verb, detail) = word(rest);
        let event = match verb {
            "begins" => {
                let index = self.stage.as_ref().map_or(0, |(index, _)| index + 1);
                self.stage = Some((index, kind.to_owned()));
                StageEvent::Started
            }
            "ends" => StageEvent::Completed,
            "fails" => StageEvent::Failed,
            _ => return None,
        };
        let (index, kind) = self.stage.clone().filter(|(_, k)| k == kind)?;
        self.recording.stages.push(StageRecord {
            at: RunOffset(at),
            stage: index,
            kind,
            event,
            detail: detail.to_owned(),
        });
        Some(())
    }

    /// `clock api-server took=80ms`: an HTTP `Date`.
    fn clock(&mut self, at: i64, rest: &str) -> Option<()> {
        let (clock, rest) = word(rest);
        let mut options = Options::of(rest.split_whitespace())?;
        let took = parse::length(options.take("took").unwrap_or("2ms"))?;
        let answered = WALL + at + took / 2 + self.ahead.get(clock).copied().unwrap_or(0);
        self.recording.clocks.push(ClockSample {
            clock: clock.to_owned(),
            before: RunOffset(at),
            after: RunOffset(at + took),
            reading_unix_nanos: answered.div_euclid(SECOND) * SECOND,
            resolution_nanos: SECOND,
        });
        options.left().is_empty().then_some(())
    }

    /// `gap watch/Pod 410 Gone`
    fn gap(&mut self, (from, to): (i64, i64), rest: &str) -> Option<()> {
        let (source, reason) = word(rest);
        self.gaps.push(Gap {
            source: source.to_owned(),
            from: RunOffset(from),
            to: Some(RunOffset(to)),
            reason: reason.to_owned(),
        });
        Some(())
    }

    /// `jobs within=10s lease=3s repeats=0`: requests of the name `enqueue` submit jobs.
    fn jobs(&mut self, mut options: Options<'_>) -> Option<()> {
        let lease = options.take("lease").map(parse::length);
        let plan = JobPlan {
            submit: "enqueue".to_owned(),
            key_prefix: "run-".to_owned(),
            source: "redis".to_owned(),
            log_pattern: None,
            complete_within_nanos: parse::length(options.take("within")?)?,
            max_repeats: options.take("repeats").unwrap_or("0").parse().ok()?,
            lease_nanos: match lease {
                Some(lease) => Some(lease?),
                None => None,
            },
        };
        self.recording.jobs.push(JobRecord::Plan(plan));
        options.left().is_empty().then_some(())
    }

    /// `job 3 reserved old`
    fn job(&mut self, at: i64, rest: &str) -> Option<()> {
        let (number, rest) = word(rest);
        let (event, pod) = word(rest);
        let number = number.parse().ok().filter(|n| *n > 0)?;
        self.jobs
            .push((at, number, event.to_owned(), pod.to_owned()));
        Some(())
    }

    /// The events of jobs, once their requests have their numbers, and that all of them were read at the end.
    fn read_jobs(&self, recording: &mut Recording) {
        let submitted: Vec<u64> = self
            .requests
            .iter()
            .filter(|r| r.name == "enqueue")
            .map(|r| r.seq)
            .collect();
        for (at, number, event, pod) in &self.jobs {
            let seq = submitted[number - 1];
            let line = format!(r#"{{"job":"run-{seq}","event":"{event}","pod":"{pod}"}}"#);
            let at = RunOffset(*at);
            recording.jobs.push(JobRecord::Event { at, line });
        }
        if let Some(end) = recording
            .run
            .end
            .as_ref()
            .filter(|_| !recording.jobs.is_empty())
        {
            let at = end.at;
            recording.jobs.push(JobRecord::Read { at });
        }
    }

    fn close(mut self) -> Recording {
        let mut recording = std::mem::replace(&mut self.recording, Recording::new(run()));
        for gap in std::mem::take(&mut self.gaps) {
            noise::lose_watch(&mut recording, gap);
        }
        self.requests.sort_by_key(|r| r.scheduled);
        for (seq, r) in (0..).zip(&mut self.requests) {
            r.seq = seq;
        }
        self.read_jobs(&mut recording);
        recording.requests = self.requests.into();
        recording.watch.sort_by_key(|w| match w {
            WatchRecord::Event { at, .. } => *at,
            WatchRecord::Gap(gap) => gap.from,
        });
        recording.logs.sort_by_key(|l| l.at);
        recording.stages.sort_by_key(|s| s.at);
        recording
    }
}

/// What a clock writes at a moment of the run: whole seconds as `metav1.Time`, or ns.
fn written(ahead: &BTreeMap<String, i64>, clock: &str, at: i64, whole_seconds: bool) -> String {
    let shown = WALL + at + ahead.get(clock).copied().unwrap_or(0);
    let shown = if whole_seconds {
        shown.div_euclid(SECOND) * SECOND
    } else {
        shown
    };
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(shown)).unwrap();
    time.format(&Rfc3339).unwrap()
}

/// The first word and the rest.
fn word(line: &str) -> (&str, &str) {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (word, rest.trim())
}

const fn phase(outcome: Outcome) -> Phase {
    match outcome {
        Outcome::Ok | Outcome::Status => Phase::Done,
        Outcome::Dropped | Outcome::Aborted => Phase::Queue,
        Outcome::TruncatedBody | Outcome::ResetInBody => Phase::Body,
        Outcome::Dns => Phase::Resolve,
        Outcome::Tls => Phase::Tls,
        Outcome::ClosedBeforeSend | Outcome::WriteFailed => Phase::Send,
        other if other.is_connect_failure() => Phase::Connect,
        _ => Phase::Head,
    }
}

fn run() -> RunRecord {
    RunRecord {
        rate_per_second: 10.0,
        end: Some(RunEnd {
            at: RunOffset::ZERO,
            how: EndKind::Completed,
            reason: None,
        }),
        ..RunRecord::new(
            "run",
            "web",
            "by hand",
            WALL,
            TargetFacts {
                namespace: Some("shop".to_owned()),
                workload: Some("deployment/web".to_owned()),
                services: vec!["web".to_owned()],
                ..TargetFacts::of("kubernetes")
            },
        )
    }
}
