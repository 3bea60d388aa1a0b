//! Which pod a request was on, and how that is known.
//!
//! In this order: the response's header; other responses on the same connection (only where connections stay with
//! their pod: no connection of the run was answered by two); the peer's address; a balancer's log; else the pods that it can have been
//! on, by time (see `suspects`).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rollscope_records::{
    ABSENT, Fate, Field, Outcome, Phase, Recording, Request, Requests, RunOffset, in_parallel,
};

use super::answers::{Answers, Gathered};
use super::certain::{ByConnection, Certain, Signs};
use super::failure::Failure;
use super::kind::Kind;
use super::listening::Listening;
use super::pod_traffic::{Passing, PodTraffic};
use super::{quick, suspects};
use crate::balancers::Balancers;
use crate::ordered::Ordered;
use crate::timeline::{LogBook, PodIx, Timeline};

/// A balancer's word of a refusal takes no longer than this, ns: 0.35 s was seen on a busy host.
const SLOW: i64 = 500_000_000;

/// Only of connections that were idle for longer it is asked whether they survived, ns.
const LONG_IDLE: i64 = 500_000_000;

/// Failures whose suspects are looked for together.
const TOGETHER: usize = 512;

/// How a request's pod is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// The response says so.
    Header,
    /// Other responses on its connection say so.
    Connection,
    /// The peer's address is the pod's.
    Peer,
    /// A balancer's log names its address.
    BalancerLog,
    /// By time: the likeliest of those that can have had it, or the one that the verdict on the failure names.
    ByTime,
    /// It is not known.
    Unknown,
}

impl How {
    /// In a word, for reports.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Connection => "connection",
            Self::Peer => "peer",
            Self::BalancerLog => "balancer_log",
            Self::ByTime => "time",
            Self::Unknown => "unknown",
        }
    }
}

/// How long the requests of one name took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    /// The longest that came to its end, ns; `None` where none did.
    pub(crate) ended: Option<i64>,
    /// The longest of which a part of the response had come, ns.
    pub(crate) lived: i64,
}

/// The requests of a recording, attributed.
pub(crate) struct Traffic<'a> {
    /// In the order of the schedule.
    pub(crate) requests: &'a Requests,
    pub(crate) certain: Certain,
    pub(crate) pods: BTreeMap<PodIx, PodTraffic>,
    /// In order of the moment at which they failed.
    pub(crate) failures: Vec<Failure>,
    /// A connection stays with the pod that it was made to.
    pub(crate) pinned: bool,
    /// What stands before the pods, where it is known.
    pub(crate) front_end: Option<String>,
    /// The pods name themselves in their responses.
    pub(crate) pods_named: bool,
    /// Idle times above [`LONG_IDLE`] of connections that their next request survived, ns, in order.
    survived_idle: Vec<i64>,
    /// How long requests take, by name; made when first asked for.
    lengths: OnceLock<BTreeMap<String, Lengths>>,
    /// Of requests on new connections that did not fail.
    pub(super) answers: Answers,
    /// How many requests came on new connections before each block of them; made when first asked for.
    new_before: OnceLock<Vec<usize>>,
}

impl<'a> Traffic<'a> {
    pub(crate) fn of(
        recording: &Recording,
        ordered: &'a Ordered<'_>,
        timeline: &Timeline,
        balancers: &Balancers,
    ) -> Self {
        let requests = ordered.requests.as_ref();
        let signs = Signs::of(requests, timeline);
        let by_connection = (!routes_singly(recording.run.target.front_end.as_deref()))
            .then(|| ByConnection::of(requests, &signs))
            .flatten();
        let pinned = by_connection.is_some();
        let mut certain = Certain::of(requests, &signs, by_connection.as_ref());
        drop(by_connection);
        certain.fill_from(balancers, requests, &signs);
        let (pods, answers) = passage(requests, &certain, timeline, balancers, !pinned);
        let mut traffic = Self {
            pods,
            certain,
            failures: Vec::new(),
            survived_idle: survived_idle(requests, LONG_IDLE),
            lengths: OnceLock::new(),
            answers,
            new_before: OnceLock::new(),
            requests,
            front_end: recording.run.target.front_end.clone(),
            pinned,
            pods_named: requests.texts(Field::Pod).next().is_some(),
        };
        traffic.failures = traffic.find_failures(timeline, balancers);
        for (i, f) in traffic.failures.iter().enumerate() {
            if let Some(pod) = f.pod {
                traffic.pods.entry(pod).or_default().failures.push(i);
            }
        }
        traffic
    }

    /// A balancer stands before the pods that answers for what fails behind it, with a status of its own.
    pub(crate) fn is_answered_for(&self) -> bool {
        let answers = ["http", "nginx", "health_checked"];
        let front_end = self.front_end.as_deref();
        front_end.is_some_and(|name| answers.contains(&name))
    }

    /// What routes looks at its own health check alone, and at no endpoint.
    pub(crate) fn is_routed_by_health(&self) -> bool {
        self.front_end.as_deref() == Some("health_checked")
    }

    /// Failures with the pods that are certain, in order of the moment at which they failed.
    fn find_failures(&self, timeline: &Timeline, balancers: &Balancers) -> Vec<Failure> {
        let failed = self.requests.indices(|fate| fate.outcome().is_failure());
        let (mut failures, inferred): (Vec<Failure>, Vec<bool>) = failed
            .into_iter()
            .filter_map(|i| self.failure(i, timeline, balancers))
            .unzip();
        quick::cut_with_others(&mut failures, &inferred);
        failures.sort_by_key(|f| (f.at, self.request(f).seq, f.request));
        failures
    }

    /// One failure, and whether its kind is inferred from how long a balancer's status took.
    fn failure(
        &self,
        i: usize,
        timeline: &Timeline,
        balancers: &Balancers,
    ) -> Option<(Failure, bool)> {
        let r = self.requests.row(i);
        let logged = balancers.met(i).and_then(|met| met.kind(&r));
        let kind = logged.unwrap_or_else(|| Kind::of(&r, self.pods_named));
        let inferred = logged.is_none() && r.status.is_some() && !self.pinned;
        let mut f = Failure::of(i, &r, kind)?;
        if inferred && slowly_refused(&f, timeline) {
            f = Failure::of(i, &r, Kind::Refused)?;
        }
        (f.pod, f.how) = (self.certain.pod(i), self.certain.how(i));
        Some((f, inferred))
    }

    /// Finds the pods that the other failures can have been on.
    pub(crate) fn suspect(&mut self, timeline: &Timeline, logs: &LogBook) {
        let mut listening = Listening::of(self, timeline, logs);
        if let Some(lag) = suspects::longest_lag(&self.failures, self, timeline, &listening) {
            listening.refused_after(lag);
        }
        let found = std::mem::take(&mut self.failures);
        let parts: Vec<&[Failure]> = found.chunks(TOGETHER).collect();
        let resolved = in_parallel(&parts, |part| {
            let mut failures = part.to_vec();
            for f in &mut failures {
                suspects::resolve(f, self, timeline, &listening);
            }
            failures
        });
        let mut failures = resolved.concat();
        suspects::die_together(&mut failures, timeline);
        self.failures = failures;
    }

    pub(crate) fn pod(&self, pod: PodIx) -> Option<&PodTraffic> {
        self.pods.get(&pod)
    }

    /// How many requests were answered on connections that had been idle for longer than `nanos`.
    pub(crate) fn survived_longer_idle(&self, nanos: i64) -> usize {
        if nanos < LONG_IDLE {
            return survived_idle(self.requests, nanos).len();
        }
        self.survived_idle.len() - self.survived_idle.partition_point(|i| *i <= nanos)
    }

    /// The dispatch of the last request on a new connection (or one that was routed by itself) that was dispatched at or
    /// before `t` and answered.
    pub(crate) fn last_new_answer(&self, t: RunOffset) -> Option<RunOffset> {
        self.answers.last(t)
    }

    /// Whether a request on a new connection (or one that was routed by itself) that did not fail was sent within
    /// `[from, to]`.
    pub(crate) fn new_answer_within(&self, from: RunOffset, to: RunOffset) -> bool {
        self.answers.any_within(from, to)
    }

    /// How many requests on new connections (or that were routed by themselves) were due from `from` on and before `to`.
    pub(crate) fn made(&self, from: RunOffset, to: RunOffset) -> usize {
        let before = |t: RunOffset| {
            let rows = self.requests.partition_point(|r| r.scheduled < t);
            self.new_among(rows)
        };
        before(to).saturating_sub(before(from))
    }

    /// How many of the first `rows` requests came on new connections.
    fn new_among(&self, rows: usize) -> usize {
        if !self.pinned {
            return rows;
        }
        let new_before = self.new_before.get_or_init(|| new_before(self.requests));
        let block = rows / Requests::BLOCK;
        let rest = self.requests.range(block * Requests::BLOCK..rows);
        new_before[block] + rest.filter(|r| !r.reused).count()
    }

    /// How long the requests of that name took.
    pub(crate) fn lengths(&self, name: &str) -> Lengths {
        let all = self.lengths.get_or_init(|| lengths(self.requests));
        all.get(name).copied().unwrap_or_default()
    }

    /// Inlined wherever it is used, so that only the fields that are looked at are unpacked.
    #[inline(always)]
    pub(crate) fn request(&self, failure: &Failure) -> Request<'a> {
        self.requests.row(failure.request)
    }
}

/// Whether a front end of the sandbox chooses a pod for each request by itself.
fn routes_singly(front_end: Option<&str>) -> bool {
    matches!(
        front_end,
        Some("http" | "nginx" | "haproxy" | "health_checked")
    )
}

/// A balancer's error that took its time, but not long, while no container ended: a refusal on a busy host.
fn slowly_refused(f: &Failure, timeline: &Timeline) -> bool {
    f.kind == Kind::Cut
        && f.age() < SLOW
        && !timeline
            .pods
            .iter()
            .any(|p| p.ends().any(|e| e.explains_cut_at(f.at)))
}

fn lengths(requests: &Requests) -> BTreeMap<String, Lengths> {
    let names: Vec<&str> = requests.texts(Field::Name).collect();
    let fields = [
        Field::Name,
        Field::FirstByte,
        Field::Dispatched,
        Field::Ended,
        Field::Fate,
    ];
    let stretches = requests.by_stretch(|blocks| {
        let mut all = vec![None; names.len()];
        let mut unpacked = requests.unpacked(fields);
        for block in blocks {
            let [names, first_byte, dispatched, ended, fates] = unpacked.block(block);
            for (i, name) in names.iter().enumerate() {
                let fate = Fate::from_number(fates[i]);
                let outcome = fate.outcome();
                let answering = first_byte[i] != ABSENT || outcome.is_truncated();
                if outcome.is_failure() && !answering
                    || dispatched[i] == ABSENT
                    || ended[i] == ABSENT
                {
                    continue;
                }
                let took = ended[i].saturating_sub(dispatched[i]);
                let of: &mut Lengths = all[*name as usize].get_or_insert_default();
                of.lived = of.lived.max(took);
                // What was still held open when the load ended did not end by itself.
                let held = fate.lane().is_long_lived() && fate.phase() != Phase::Done;
                if outcome == Outcome::Ok && !held {
                    of.ended = of.ended.max(Some(took));
                }
            }
        }
        all
    });
    let mut all: BTreeMap<String, Lengths> = BTreeMap::new();
    for (name, of) in stretches.iter().flat_map(|part| names.iter().zip(part)) {
        let Some(of) = of else { continue };
        let known = all.entry((*name).to_owned()).or_default();
        known.lived = known.lived.max(of.lived);
        known.ended = known.ended.max(of.ended);
    }
    all
}

/// Idle times longer than `least` that did not end in a failure, in order.
fn survived_idle(requests: &Requests, least: i64) -> Vec<i64> {
    let stretches = requests.by_stretch(|blocks| {
        let mut found = Vec::new();
        let mut unpacked = requests.unpacked([Field::Idle, Field::Fate]);
        for block in blocks {
            let [idle, fates] = unpacked.block(block);
            let long = idle.iter().zip(fates).filter(|(idle, _)| **idle > least);
            let survived = long.filter(|(_, f)| !Fate::from_number(**f).outcome().is_failure());
            found.extend(survived.map(|(idle, _)| *idle));
        }
        found
    });
    let mut idle = stretches.concat();
    idle.sort_unstable();
    idle
}

/// How many requests came on new connections before each block, and before the end.
fn new_before(requests: &Requests) -> Vec<usize> {
    let mut before = vec![0];
    let mut unpacked = requests.unpacked([Field::Fate]);
    for block in requests.blocks() {
        let [fates] = unpacked.block(block);
        let new = fates.iter().filter(|f| !Fate::from_number(**f).reused());
        before.push(before[block] + new.count());
    }
    before
}

/// What went through each pod, and all that was answered.
fn passage(
    requests: &Requests,
    certain: &Certain,
    timeline: &Timeline,
    balancers: &Balancers,
    routed_singly: bool,
) -> (BTreeMap<PodIx, PodTraffic>, Answers) {
    let fields = [
        Field::Scheduled,
        Field::Dispatched,
        Field::Ended,
        Field::Status,
        Field::Fate,
    ];
    let stretches = requests.by_stretch(|blocks| {
        let mut pods = vec![Passing::default(); timeline.pods.len()];
        let mut answers = Gathered::default();
        let mut unpacked = requests.unpacked(fields);
        for block in blocks {
            let [scheduled, dispatched, ended, status, fates] = unpacked.block(block);
            for (i, due) in scheduled.iter().enumerate() {
                let after =
                    |nanos: i64| (nanos != ABSENT).then(|| RunOffset(due.wrapping_add(nanos)));
                let (began, over) = (after(dispatched[i]), after(ended[i]));
                let (fate, answered) = (Fate::from_number(fates[i]), status[i] != ABSENT);
                let routed = routed_singly || !fate.reused();
                if routed && fate.outcome().is_answered() {
                    let at = began.unwrap_or(RunOffset(*due));
                    answers.take(at, answered, began.is_some());
                }
                let index = block * Requests::BLOCK + i;
                if let Some(pod) = certain.pod(index) {
                    let of_pod = answered && !certain.is_made_for_it(index, fate, balancers);
                    let times = began.zip(over).filter(|_| of_pod);
                    pods[pod.0].take(times, fate, routed);
                }
            }
        }
        (pods, answers)
    });
    let mut pods = vec![Passing::default(); timeline.pods.len()];
    let mut answers = Gathered::default();
    for (of_pods, of_all) in stretches {
        for (pod, later) in pods.iter_mut().zip(of_pods) {
            pod.append(later);
        }
        answers.append(of_all);
    }
    let known = timeline.indices().zip(pods);
    let known = known.filter_map(|(ix, pod)| Some((ix, pod.over(routed_singly)?)));
    (known.collect(), answers.in_order())
}
