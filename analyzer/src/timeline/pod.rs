//! One pod's life, as the watch told it.

use rollscope_records::{Interval, RunOffset};

use super::{ContainerEnd, Deletion, EndpointSpan};
use crate::signal::SignalledProcess;
use crate::view::{PreStop, Probe};

/// A deletion takes effect this much before its watch event arrives, ns.
const BEFORE_SEEN: i64 = 150_000_000;

/// Containers whose ends are nearer than this ended together, ns.
const APART: i64 = 300_000_000;

/// A pod of the [`Timeline`](super::Timeline).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PodIx(pub(crate) usize);

/// A disruption of a pod by what is not its workload's rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Disruption {
    /// Receipt of the first sign.
    pub(crate) seen: RunOffset,
    /// The reason of the condition `DisruptionTarget`, or of the event.
    pub(crate) reason: String,
}

/// A signal that the sandbox's kubelet wrote down on the pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SentSignal {
    pub(crate) name: String,
    /// From the time that was written to the receipt.
    pub(crate) at: Interval,
    pub(crate) processes: Vec<SignalledProcess>,
}

/// One pod.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pod {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) template_hash: String,
    pub(crate) node: Option<String>,
    pub(crate) ip: Option<String>,
    pub(crate) first_seen: RunOffset,
    /// Present at the first list: its start was not watched.
    pub(crate) listed: bool,
    /// Its serving container.
    pub(crate) container: Option<String>,
    /// The containers beside it through which its traffic goes.
    pub(crate) proxies: Vec<String>,
    /// The workload that owns it.
    pub(crate) owner: Option<String>,
    /// It was evicted, preempted or left by its node.
    pub(crate) disruption: Option<Disruption>,
    pub(crate) spec_grace: Option<i64>,
    pub(crate) pre_stop: Option<PreStop>,
    /// Its command leaves a shell or a package manager in front of the server.
    pub(crate) wrapped: bool,
    /// The manifest names the command.
    pub(crate) commanded: bool,
    pub(crate) readiness_probe: Option<Probe>,
    /// The port that its readiness probe asks.
    pub(crate) readiness_port: Option<i64>,
    pub(crate) deletion: Option<Deletion>,
    /// Changes of the condition Ready, as received.
    pub(crate) ready: Vec<(RunOffset, bool)>,
    /// When its serving container was first seen running.
    pub(crate) running: Option<RunOffset>,
    /// Ends of its containers while the pod itself was not being deleted, and of earlier instances.
    pub(crate) earlier_ends: Vec<ContainerEnd>,
    /// The end of its serving container for good.
    pub(crate) end: Option<ContainerEnd>,
    /// Phases `Succeeded` and `Failed` were seen, or the pod is gone.
    pub(crate) over: Option<RunOffset>,
    /// Receipt of DELETED.
    pub(crate) gone: Option<RunOffset>,
    /// Signals that were written down on it.
    pub(crate) signals: Vec<SentSignal>,
    /// Receipt of `Killing` events.
    pub(crate) killing: Vec<RunOffset>,
    /// Receipt of those that name a failed probe as the reason.
    pub(crate) probe_kills: Vec<RunOffset>,
    /// Receipt of `Unhealthy` events.
    pub(crate) unhealthy: Vec<RunOffset>,
    /// Membership in the endpoints.
    pub(crate) endpoint: Vec<EndpointSpan>,
    /// Belongs to the template that was replaced.
    pub(crate) old: bool,
}

impl Pod {
    /// The first moment at which it was known to be being deleted.
    pub(crate) fn deletion_seen(&self) -> Option<RunOffset> {
        self.deletion.as_ref().map(|d| d.seen)
    }

    /// Every end of a container, the last one included, in order.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &ContainerEnd> {
        self.earlier_ends.iter().chain(&self.end)
    }

    /// First Ready, by the condition or by the endpoints.
    pub(crate) fn first_ready(&self) -> Option<RunOffset> {
        let condition = self.ready.iter().find(|(_, r)| *r).map(|(at, _)| *at);
        let endpoint = self
            .endpoint
            .iter()
            .find(|s| s.ready == Some(true))
            .map(|s| s.from);
        match (condition, endpoint) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// First seen not Ready at or after `from` while its container still ran, and what said so.
    pub(crate) fn not_ready_after(&self, from: RunOffset) -> Option<(RunOffset, &'static str)> {
        let alive = |at: RunOffset| self.end.as_ref().is_none_or(|e| at < e.seen);
        let condition = self
            .ready
            .iter()
            .find(|(at, ready)| *at >= from && !ready && alive(*at))
            .map(|(at, _)| (*at, "its condition Ready went False"));
        let turned = |i: &usize| {
            let (s, before) = (&self.endpoint[*i], &self.endpoint[*i - 1]);
            let served = before.serving != Some(false) && before.ready != Some(false);
            s.from >= from && s.serving == Some(false) && served && alive(s.from)
        };
        let serving = (1..self.endpoint.len())
            .find(turned)
            .map(|i| (self.endpoint[i].from, "its endpoint stopped serving"));
        let probe = self
            .unhealthy
            .iter()
            .find(|at| **at >= from && alive(**at) && self.was_ready(from))
            .map(|at| (*at, "its probe failed (event Unhealthy)"));
        [condition, serving, probe].into_iter().flatten().min()
    }

    /// Whether its condition Ready was not False just before `t`.
    pub(crate) fn was_ready(&self, t: RunOffset) -> bool {
        let before = self.ready.iter().rfind(|(at, _)| *at < t);
        before.is_none_or(|(_, ready)| *ready)
    }

    /// When its endpoint stopped being ready after `from`.
    pub(crate) fn left_ready(&self, from: RunOffset) -> Option<RunOffset> {
        self.endpoint
            .iter()
            .find(|s| s.from >= from && s.ready == Some(false))
            .map(|s| s.from)
            .or_else(|| self.removed_from_endpoints(from))
    }

    /// When its endpoint stopped serving after `from`.
    pub(crate) fn left_serving(&self, from: RunOffset) -> Option<RunOffset> {
        self.endpoint
            .iter()
            .find(|s| s.from >= from && s.serving == Some(false))
            .map(|s| s.from)
    }

    /// When its entry was removed from the endpoints after `from`.
    pub(crate) fn removed_from_endpoints(&self, from: RunOffset) -> Option<RunOffset> {
        self.endpoint
            .last()
            .and_then(|s| s.to)
            .filter(|to| *to >= from)
    }

    /// The first end of a proxy container after the deletion while the serving container still ran; `None` where both
    /// ended so near each other that neither was first.
    pub(crate) fn proxy_ended_first(&self) -> Option<&ContainerEnd> {
        let deleted = self.deletion_seen()?;
        let proxy = |e: &&ContainerEnd| {
            self.proxies.contains(&e.container) && e.running_again.is_none() && e.seen >= deleted
        };
        let first = self
            .earlier_ends
            .iter()
            .filter(proxy)
            .min_by_key(|e| e.seen)?;
        let before = self.end.as_ref().is_none_or(|serving| {
            first.seen < serving.seen && serving.point().nanos_since(first.point()) >= APART
        });
        before.then_some(first)
    }

    /// The end, or the time of which nothing later is known.
    pub(crate) fn end_at(&self) -> Option<Interval> {
        self.end.as_ref().map(|e| e.at)
    }

    /// The latest kill for a failed probe at or before `t` whose container had not been replaced by then.
    pub(crate) fn killed_by_probe(&self, t: RunOffset) -> Option<RunOffset> {
        let kill = self.probe_kills.iter().copied().filter(|k| *k <= t).max()?;
        let grace = self.spec_grace.unwrap_or(30).saturating_mul(1_000_000_000);
        let replaced = self
            .earlier_ends
            .iter()
            .filter(|e| e.seen > kill)
            .filter_map(|e| e.running_again)
            .min();
        let until = replaced.unwrap_or(kill.plus_nanos(grace + 5_000_000_000));
        // A restarted container is ready again a little later than it runs; what it does once its pod is being deleted
        // has another cause.
        let ready = until.plus_nanos(2_000_000_000);
        let deleted = self
            .deletion_seen()
            .filter(|d| replaced.is_some_and(|r| r < *d));
        let last = deleted.map_or(ready, |d| ready.min(d.plus_nanos(-BEFORE_SEEN)));
        (t <= last).then_some(kill)
    }

    /// `terminationGracePeriodSeconds` of the deletion, else of the spec.
    pub(crate) fn grace_seconds(&self) -> Option<i64> {
        self.deletion.as_ref().map(|d| d.grace).or(self.spec_grace)
    }
}
