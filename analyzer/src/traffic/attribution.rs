//! Which pod a request was on, and how that is known.
//!
//! In this order: the response's header; other responses on the same connection (only where connections stay with
//! their pod: no connection of the run was answered by two); the peer's address; a balancer's log; else the pods that it can have been
//! on, by time (see `suspects`).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rollscope_records::{Outcome, Phase, Recording, Request, Requests, RunOffset};

use super::certain::{ByConnection, Certain};
use super::failure::Failure;
use super::kind::Kind;
use super::listening::Listening;
use super::pod_traffic::PodTraffic;
use super::suspects;
use crate::balancers::Balancers;
use crate::ordered::Ordered;
use crate::timeline::{LogBook, PodIx, Timeline};

/// A balancer's word of a refusal takes no longer than this, ns: 0.35 s was seen on a busy host.
const SLOW: i64 = 500_000_000;

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
    /// Idle times of connections that their next request survived, ns, in order.
    survived_idle: Vec<i64>,
    /// How long requests take, by name; made when first asked for.
    lengths: OnceLock<BTreeMap<String, Lengths>>,
    /// Dispatch times of all answered requests on new connections, in order; made when first asked for.
    answered_new: OnceLock<Vec<RunOffset>>,
}

impl<'a> Traffic<'a> {
    pub(crate) fn of(
        recording: &Recording,
        ordered: &'a Ordered<'_>,
        timeline: &Timeline,
        balancers: &Balancers,
    ) -> Self {
        let requests = ordered.requests.as_ref();
        let mut certain = Certain::named(requests, timeline);
        let by_connection = ByConnection::of(requests, &certain)
            .filter(|_| !routes_singly(recording.run.target.front_end.as_deref()));
        let pinned = by_connection.is_some();
        let pods_named = requests.iter().any(|r| r.pod.is_some());
        let by_ip = by_ip(timeline);
        certain.fill(|i| {
            let r = requests.row(i);
            let of_connection = by_connection.as_ref().zip(r.connection);
            let pod = of_connection.and_then(|(pods, id)| pods.pod(id));
            pod.map(|pod| (pod, How::Connection))
                .or_else(|| Some((peer_pod(&r, &by_ip, timeline)?, How::Peer)))
                .or_else(|| {
                    let ip = balancers.met(i).filter(|_| r.pod.is_none())?.ip()?;
                    Some((pod_at(ip, &r, &by_ip, timeline)?, How::BalancerLog))
                })
        });
        let mut traffic = Self {
            pods: pod_traffic(requests, &certain, timeline, !pinned),
            certain,
            failures: Vec::new(),
            survived_idle: survived_idle(requests),
            lengths: OnceLock::new(),
            answered_new: OnceLock::new(),
            requests,
            front_end: recording.run.target.front_end.clone(),
            pinned,
            pods_named,
        };
        traffic.failures = traffic.find_failures(timeline, balancers);
        for (i, f) in traffic.failures.iter().enumerate() {
            if let Some(pod) = f.pod {
                traffic.pods.entry(pod).or_default().failures.push(i);
            }
        }
        traffic
    }

    /// Failures with the pods that are certain, in order of the moment at which they failed.
    fn find_failures(&self, timeline: &Timeline, balancers: &Balancers) -> Vec<Failure> {
        let mut failures: Vec<Failure> = self
            .requests
            .iter()
            .enumerate()
            .filter(|(_, r)| r.outcome.is_failure())
            .filter_map(|(i, r)| {
                let logged = balancers.met(i).and_then(|met| met.kind(&r));
                let kind = logged.unwrap_or_else(|| Kind::of(&r, self.pods_named));
                let mut f = Failure::of(i, &r, kind)?;
                (f.pod, f.how) = (self.certain.pod(i), self.certain.how(i));
                if logged.is_none()
                    && r.status.is_some()
                    && !self.pinned
                    && slowly_refused(&f, timeline)
                {
                    f = Failure {
                        pod: f.pod,
                        how: f.how,
                        ..Failure::of(i, &r, Kind::Refused)?
                    };
                }
                Some(f)
            })
            .collect();
        failures.sort_by_key(|f| (f.at, self.request(f).seq, f.request));
        failures
    }

    /// Finds the pods that the other failures can have been on.
    pub(crate) fn suspect(&mut self, timeline: &Timeline, logs: &LogBook) {
        let mut listening = Listening::of(self, timeline, logs);
        if let Some(lag) = suspects::longest_lag(&self.failures, self, timeline, &listening) {
            listening.refused_after(lag);
        }
        let mut failures = std::mem::take(&mut self.failures);
        for f in &mut failures {
            suspects::resolve(f, self, timeline, &listening);
        }
        suspects::die_together(&mut failures, timeline);
        self.failures = failures;
    }

    pub(crate) fn pod(&self, pod: PodIx) -> Option<&PodTraffic> {
        self.pods.get(&pod)
    }

    /// How many requests were answered on connections that had been idle for longer than `nanos`.
    pub(crate) fn survived_longer_idle(&self, nanos: i64) -> usize {
        self.survived_idle.len() - self.survived_idle.partition_point(|i| *i <= nanos)
    }

    /// The dispatch of the last request on a new connection (or one that was routed by itself) that was dispatched at or
    /// before `t` and answered.
    pub(crate) fn last_new_answer(&self, t: RunOffset) -> Option<RunOffset> {
        let times = self.answered_new.get_or_init(|| {
            let routed = |r: &Request<'_>| !r.reused || !self.pinned;
            let answered = self
                .requests
                .iter()
                .filter(|r| r.outcome.is_answered() && routed(r));
            let mut times: Vec<_> = answered.filter_map(|r| r.dispatched).collect();
            times.sort_unstable();
            times
        });
        let i = times.partition_point(|a| *a <= t).checked_sub(1)?;
        Some(times[i])
    }

    /// How long the requests of that name took.
    pub(crate) fn lengths(&self, name: &str) -> Lengths {
        let all = self.lengths.get_or_init(|| lengths(self.requests));
        all.get(name).copied().unwrap_or_default()
    }

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
    let mut all: BTreeMap<&str, Lengths> = BTreeMap::new();
    for r in requests.iter() {
        let answering = r.first_byte.is_some() || r.outcome.is_truncated();
        if r.outcome.is_failure() && !answering {
            continue;
        }
        let (Some(began), Some(ended)) = (r.dispatched, r.ended) else {
            continue;
        };
        let took = ended.nanos_since(began);
        let of = all.entry(r.name).or_default();
        of.lived = of.lived.max(took);
        // What was still held open when the load ended did not end by itself.
        let held = r.lane.is_long_lived() && r.phase != Phase::Done;
        if r.outcome == Outcome::Ok && !held {
            of.ended = of.ended.max(Some(took));
        }
    }
    let named = all.into_iter().map(|(name, of)| (name.to_owned(), of));
    named.collect()
}

fn survived_idle(requests: &Requests) -> Vec<i64> {
    let mut idle: Vec<i64> = requests
        .iter()
        .filter(|r| !r.outcome.is_failure())
        .filter_map(|r| r.idle)
        .collect();
    idle.sort_unstable();
    idle
}

/// Pods by address; an address that several pods had is known by time only.
fn by_ip(timeline: &Timeline) -> BTreeMap<&str, Vec<PodIx>> {
    let mut map: BTreeMap<&str, Vec<PodIx>> = BTreeMap::new();
    for ix in timeline.indices() {
        if let Some(ip) = timeline.pod(ix).ip.as_deref() {
            map.entry(ip).or_default().push(ix);
        }
    }
    map
}

fn peer_pod(
    r: &Request<'_>,
    by_ip: &BTreeMap<&str, Vec<PodIx>>,
    timeline: &Timeline,
) -> Option<PodIx> {
    let (ip, _) = r.peer?.rsplit_once(':')?;
    pod_at(ip.trim_matches(['[', ']']), r, by_ip, timeline)
}

/// The pod that had an address when the request was dispatched, if it was the only one.
fn pod_at(
    ip: &str,
    r: &Request<'_>,
    by_ip: &BTreeMap<&str, Vec<PodIx>>,
    timeline: &Timeline,
) -> Option<PodIx> {
    let pods = by_ip.get(ip)?;
    let at = r.dispatched.unwrap_or(r.scheduled);
    let last = pods
        .iter()
        .filter(|p| timeline.pod(**p).first_seen <= at)
        .max_by_key(|p| timeline.pod(**p).first_seen)?;
    let others_alive = pods
        .iter()
        .filter(|p| *p != last && timeline.pod(**p).gone.is_none_or(|g| g > at))
        .count();
    (others_alive == 0).then_some(*last)
}

fn pod_traffic(
    requests: &Requests,
    certain: &Certain,
    timeline: &Timeline,
    routed_singly: bool,
) -> BTreeMap<PodIx, PodTraffic> {
    let mut pods = vec![PodTraffic::default(); timeline.pods.len()];
    for (i, r) in requests.iter().enumerate() {
        if let Some(pod) = certain.pod(i) {
            pods[pod.0].take(i, &r, routed_singly);
        }
    }
    let known = timeline.indices().zip(pods);
    let mut known: BTreeMap<_, _> = known.filter(|(_, p)| !p.requests.is_empty()).collect();
    known.values_mut().for_each(PodTraffic::close);
    known
}
