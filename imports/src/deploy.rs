//! The recording of one deploy: the time before it, the deploy, and a little after it.

use rollscope_records::{
    BalancerLog, BalancerRecord, EndKind, Gap, GateLimits, GeneratorRecord, Lane, LogRecord,
    Outcome, Phase, Recording, RequestFacts, RequestRecord, RunEnd, RunOffset, RunRecord,
    StageEvent, StageRecord, TargetFacts, WatchRecord,
};

use crate::cluster::Cluster;
use crate::rows::{End, Minutes, Row, Texts};
use crate::{Deploy, Sources, Window, windows};

/// The time before a deploy is its baseline: as long as itself, and this at least, ns.
const BASELINE: i64 = 600_000_000_000;

/// What is still its doing may come this much later, ns.
const SETTLE: i64 = 120_000_000_000;

/// How long a client waits at most that is not known, ns.
const DEADLINE: i64 = 60_000_000_000;

/// Of so many lines (in thousands) that could not be read, it is not known what they hide.
const UNREADABLE_PERMILLE: u64 = 10;

/// From where to where each deploy's recording goes, ns since the epoch: in order, and apart.
pub(crate) fn spans(windows: &[Window]) -> Vec<(i64, i64)> {
    let mut spans: Vec<(i64, i64)> = Vec::new();
    for (i, window) in windows.iter().enumerate() {
        let lead = BASELINE.max(window.to - window.from);
        let over = spans.last().map_or(i64::MIN, |(_, to)| *to);
        let from = window.from.saturating_sub(lead).max(over);
        let next = windows.get(i + 1).map_or(i64::MAX, |w| w.from);
        let to = window.to.saturating_add(SETTLE).min(next).max(from);
        spans.push((from, to));
    }
    spans
}

/// What the recordings are made of.
pub(crate) struct Deploys<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) cluster: &'a Cluster,
    pub(crate) windows: &'a [Window],
    pub(crate) spans: &'a [(i64, i64)],
    pub(crate) minutes: &'a Minutes,
    pub(crate) texts: &'a Texts,
    pub(crate) malformed: u64,
    pub(crate) lines: u64,
}

impl Deploys<'_> {
    /// Each with its recording. `rows`: in order of time.
    pub(crate) fn all(&self, rows: Vec<Row>) -> Vec<Deploy> {
        let deploys = self.windows.iter().zip(self.spans);
        deploys
            .map(|(window, (from, to))| {
                let (first, last) = (
                    rows.partition_point(|r| r.began < *from),
                    rows.partition_point(|r| r.began < *to),
                );
                self.deploy(window, (*from, *to), &rows[first..last])
            })
            .collect()
    }

    fn deploy(&self, window: &Window, span: (i64, i64), rows: &[Row]) -> Deploy {
        let within = rows
            .iter()
            .filter(|r| window.from <= r.began && r.began < window.to);
        Deploy {
            window: window.clone(),
            requests: within.clone().count() as u64,
            failed: within.filter(|r| r.end.failed()).count() as u64,
            recording: self.recording(window, span, rows),
        }
    }

    fn recording(&self, window: &Window, span: (i64, i64), rows: &[Row]) -> Recording {
        let (from, to) = span;
        let at = |nanos: i64| RunOffset(nanos - from);
        let mut recording = Recording::new(self.run(window, span, rows));
        let requests: Vec<RequestRecord> = (0..)
            .zip(rows)
            .map(|(seq, row)| request(seq, row, self.texts, from))
            .collect();
        recording.balancers = self.balancer(rows, &requests);
        recording.generator = Some(GeneratorRecord {
            planned: requests.len() as u64,
            sent: requests.len() as u64,
            to: at(to),
            ..GeneratorRecord::default()
        });
        recording.requests = requests.into();
        recording.stages = stages(at(window.from), at(window.to), at(to));
        let seen = self.cluster.between(from, to).into_iter();
        let seen = seen.map(|s| WatchRecord::Event {
            at: at(s.at),
            kind: s.kind,
            event: s.event,
            object: s.object,
        });
        recording.watch = self.gaps(window, span).into_iter().chain(seen).collect();
        let logs = self.cluster.logs.iter();
        let logs = logs.filter(|(t, _)| from <= *t && *t <= to);
        recording.logs = logs
            .map(|(t, line)| LogRecord {
                at: at(*t),
                ..line.clone()
            })
            .collect();
        recording
    }

    /// What the logs do not show of the deploy.
    fn gaps(&self, window: &Window, (from, to): (i64, i64)) -> Vec<WatchRecord> {
        let gap = |(lo, hi): (i64, i64), reason: String| {
            WatchRecord::Gap(Gap {
                source: "requests".to_owned(),
                from: RunOffset(lo - from),
                to: Some(RunOffset(hi - from)),
                reason,
            })
        };
        let hole = self.minutes.hole(window.from, window.to);
        let hole =
            hole.map(|(lo, hi)| gap((lo, hi), "the logs have no line of that time".to_owned()));
        let unreadable = self.malformed * 1000 > self.lines * UNREADABLE_PERMILLE;
        let unreadable = unreadable.then(|| {
            let reason = format!(
                "{} of {} lines of the logs could not be read",
                self.malformed, self.lines
            );
            gap((from, to), reason)
        });
        hole.into_iter().chain(unreadable).collect()
    }

    /// The lines of failed requests and of those that were retried.
    fn balancer(&self, rows: &[Row], requests: &[RequestRecord]) -> Vec<BalancerRecord> {
        let log = BalancerRecord::Log(BalancerLog {
            log: 0,
            balancer: self.balancer_name().to_owned(),
            format: Some(self.sources.format.as_str().to_owned()),
            clock: None,
        });
        let lines = rows.iter().zip(requests).filter_map(|(row, request)| {
            let line = self.texts.lines.get(row.line as usize)?;
            Some(BalancerRecord::Line {
                log: 0,
                at: request.ended?,
                line: line.clone(),
                request: Some(request.seq),
            })
        });
        std::iter::once(log).chain(lines).collect()
    }

    fn balancer_name(&self) -> &str {
        let format = self.sources.format.as_str();
        let name = format.split_once(':').map_or(format, |(name, _)| name);
        match name {
            "ingress-nginx" => "nginx",
            "regex" | "json" => "balancer",
            name => name,
        }
    }

    fn run(&self, window: &Window, (from, to): (i64, i64), rows: &[Row]) -> RunRecord {
        let known = self.cluster.target.clone();
        let front_end = match self.balancer_name() {
            name @ ("nginx" | "haproxy") => name,
            _ => "http",
        };
        let target = TargetFacts {
            kind: "import".to_owned(),
            front_end: Some(front_end.to_owned()),
            ..known.unwrap_or_else(|| TargetFacts::of("import"))
        };
        let seconds = ((to - from) as f64 / 1e9).max(1.0);
        let tool = format!("rollscope {} import", env!("CARGO_PKG_VERSION"));
        let id = format!("imported-{}", windows::written(window.from));
        RunRecord {
            gate: GateLimits {
                max_failed: self.sources.max_failed,
                ..GateLimits::default()
            },
            log_marks: self.sources.marks.iter().cloned().collect(),
            requests: self.facts(rows),
            rate_per_second: (rows.len() as f64 / seconds * 10.0).round() / 10.0,
            warnings: self.cluster.notes.clone(),
            end: Some(RunEnd {
                at: RunOffset(to - from),
                how: EndKind::Completed,
                reason: None,
            }),
            ..RunRecord::new(id, &window.name, tool, from, target)
        }
    }

    fn facts(&self, rows: &[Row]) -> Vec<RequestFacts> {
        let mut numbers: Vec<u32> = rows.iter().map(|r| r.name).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let names = numbers.into_iter().filter_map(|n| self.texts.names.text(n));
        names
            .map(|name| {
                let (method, path) = name.split_once(' ').unwrap_or(("", name));
                RequestFacts {
                    name: name.to_owned(),
                    method: method.to_owned(),
                    path: path.to_owned(),
                    deadline_nanos: DEADLINE,
                }
            })
            .collect()
    }
}

/// A request as a client would have recorded it; of its connection nothing is known.
fn request(seq: u64, row: &Row, texts: &Texts, zero: i64) -> RequestRecord {
    let began = RunOffset(row.began - zero);
    let name = texts.names.text(row.name).unwrap_or("?");
    let mut r = RequestRecord::scheduled(seq, Lane::New, name, began);
    r.dispatched = Some(began);
    r.ended = Some(began.plus_nanos(row.took));
    r.status = Some(row.status).filter(|status| *status > 0);
    r.peer = texts.upstreams.text(row.upstream).map(str::to_owned);
    (r.outcome, r.phase) = match row.end {
        End::Well => (Outcome::Ok, Phase::Done),
        End::Status => (Outcome::Status, Phase::Done),
        End::Cut if r.status.is_some() => (Outcome::TruncatedBody, Phase::Body),
        End::Cut => (Outcome::EofBeforeHeaders, Phase::Head),
        End::GaveUp => (Outcome::GaveUp, Phase::Done),
    };
    r
}

fn stages(from: RunOffset, to: RunOffset, end: RunOffset) -> Vec<StageRecord> {
    let all = [
        ("warmup", RunOffset::ZERO, from),
        ("deploy", from, to),
        ("settle", to, end),
    ];
    let mut records = Vec::new();
    for (stage, (kind, begin, over)) in all.into_iter().enumerate() {
        for (at, event) in [
            (begin, StageEvent::Started),
            (over.max(begin), StageEvent::Completed),
        ] {
            records.push(StageRecord {
                at,
                stage,
                kind: kind.to_owned(),
                event,
                detail: String::new(),
            });
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000_000;

    #[test]
    fn each_deploy_has_a_baseline_and_no_two_share_a_moment() {
        let window = |from: i64, to: i64| Window {
            name: String::new(),
            from: from * MINUTE,
            to: to * MINUTE,
        };
        let spans = spans(&[window(100, 105), window(110, 140), window(300, 301)]);
        let minutes: Vec<_> = spans
            .iter()
            .map(|(a, b)| (a / MINUTE, b / MINUTE))
            .collect();
        assert_eq!(minutes, [(90, 107), (107, 142), (290, 303)]);
    }
}
