//! From watch events to a timeline, in one pass.

use std::collections::BTreeMap;

use rollscope_records::{Interval, ObjectKind, Recording, RunOffset, WatchType};
use serde_json::Value;

use super::endpoints::EndpointBook;
use super::rollout::rollout;
use super::{
    ContainerEnd, Deletion, Disruption, LogBook, Pod, PodIx, SentSignal, Sighting, Timeline, Voice,
};
use crate::clocks::{Clocks, node_clock};
use crate::gaps::Gaps;
use crate::ordered::{Ordered, Seen};
use crate::view::{ContainerState, EventView, PodView, at, str_at};

/// Objects received within this time of the first one were there before the watch began, ns.
const FIRST_LIST: i64 = 1_000_000_000;

/// Builds the timeline of a recording.
pub(crate) fn timeline(
    recording: &Recording,
    ordered: &Ordered<'_>,
    clocks: &Clocks,
    gaps: &Gaps,
) -> Timeline {
    let mut book = PodBook {
        listed_until: ordered
            .watch
            .first()
            .map_or(i64::MIN, |s| s.at.0.saturating_add(FIRST_LIST)),
        ..PodBook::default()
    };
    let mut endpoints = EndpointBook::of(&recording.run.target.services);
    let mut events = Vec::new();
    let mut cordoned = BTreeMap::new();
    for seen in &ordered.watch {
        match seen.kind {
            ObjectKind::Pod => book.see(seen, clocks, gaps),
            ObjectKind::EndpointSlice => endpoints.see(seen),
            ObjectKind::Event => events.push(seen),
            ObjectKind::Node => note_cordon(seen, &mut cordoned),
            _ => {}
        }
    }
    let readiness_recorded = book.readiness_recorded;
    let mut pods = book.pods;
    pods.sort_by(|a, b| (a.first_seen, &a.name, &a.uid).cmp(&(b.first_seen, &b.name, &b.uid)));
    let by_name: BTreeMap<String, PodIx> = pods
        .iter()
        .enumerate()
        .map(|(i, p)| (p.name.clone(), PodIx(i)))
        .collect();
    let endpoints = endpoints.close();
    let spans = &endpoints.spans;
    for pod in &mut pods {
        let by_ip = || pod.ip.as_ref().and_then(|ip| spans.get(ip));
        pod.endpoint = spans
            .get(&pod.name)
            .or_else(by_ip)
            .cloned()
            .unwrap_or_default();
    }
    for event in &events {
        note_event(event, &by_name, &mut pods, clocks);
    }
    let rollout = rollout(ordered, &pods);
    for pod in &mut pods {
        pod.old =
            rollout.several_templates && Some(&pod.template_hash) != rollout.new_hash.as_ref();
    }
    Timeline {
        pods,
        by_name,
        ready: endpoints.ready,
        traffic_ports: endpoints.ports,
        rollout,
        cordoned,
        readiness_recorded,
        until: recording.run.end.as_ref().map(|e| e.at),
        events_recorded: !events.is_empty(),
    }
}

fn note_cordon(seen: &Seen<'_>, cordoned: &mut BTreeMap<String, RunOffset>) {
    let unschedulable = at(seen.object, &["spec", "unschedulable"]) == Some(&Value::Bool(true));
    if let (true, Some(name)) = (unschedulable, str_at(seen.object, &["metadata", "name"])) {
        cordoned.entry(name.to_owned()).or_insert(seen.at);
    }
}

/// Reasons of events that tell of a disruption.
const EVICTIONS: [&str; 4] = [
    "Evicted",
    "TaintManagerEviction",
    "Preempted",
    "EvictedByVPA",
];

fn note_event(
    seen: &Seen<'_>,
    by_name: &BTreeMap<String, PodIx>,
    pods: &mut [Pod],
    clocks: &Clocks,
) {
    let event = EventView(seen.object);
    let Some(pod) = event.pod().and_then(|name| by_name.get(name)) else {
        return;
    };
    let pod = &mut pods[pod.0];
    // A list after a gap shows what happened long before: then the kubelet's own time tells.
    let clock = node_clock(pod.node.as_deref());
    let written = event
        .last_seen()
        .filter(|_| event.by_kubelet() && clocks.bounded(&clock))
        .and_then(|t| clocks.read(&clock, t));
    let at = written.map_or(seen.at, |w| w.hi.min(seen.at));
    match event.reason() {
        _ if seen.event == WatchType::Deleted => {}
        Some("Killing") => {
            pod.killing.push(at);
            if event.message().is_some_and(|m| m.contains("probe")) {
                pod.probe_kills.push(at);
            }
        }
        Some("Unhealthy") => pod.unhealthy.push(at),
        Some(reason) if EVICTIONS.contains(&reason) && pod.disruption.is_none() => {
            pod.disruption = Some(Disruption {
                seen: seen.at,
                reason: reason.to_owned(),
            });
        }
        _ => {}
    }
}

/// A deletion may show in the pod's endpoint, in the event of its kubelet and in its log before its own watch event
/// comes; and an end that is told of after it was not before it.
pub(crate) fn settle(timeline: &mut Timeline, logs: &LogBook) {
    for (i, pod) in timeline.pods.iter_mut().enumerate() {
        let Some(deletion) = &mut pod.deletion else {
            continue;
        };
        let stopped = pod.killing.iter().filter(|k| !pod.probe_kills.contains(k));
        let terminating = pod.endpoint.iter().filter(|s| s.terminating == Some(true));
        let said = logs.pod(PodIx(i)).into_iter().flat_map(|log| &log.said);
        let said = said.filter(|l| l.voice == Voice::Shutdown).map(|l| l.at);
        let shown = stopped.copied().chain(terminating.map(|s| s.from));
        for at in shown.chain(said) {
            deletion.shown(at);
        }
        let seen = deletion.seen;
        for end in pod.earlier_ends.iter_mut().chain(&mut pod.end) {
            end.not_before_deletion(seen);
        }
    }
}

#[derive(Default)]
struct PodBook {
    pods: Vec<Pod>,
    by_uid: BTreeMap<String, usize>,
    /// Receipt of each pod's latest object.
    latest: Vec<RunOffset>,
    listed_until: i64,
    readiness_recorded: bool,
}

impl PodBook {
    fn see(&mut self, seen: &Seen<'_>, clocks: &Clocks, gaps: &Gaps) {
        let view = PodView(seen.object);
        let Some(name) = view.name() else {
            return;
        };
        let uid = view.uid().unwrap_or(name).to_owned();
        let listed = seen.at.0 <= self.listed_until;
        let ix = *self.by_uid.entry(uid.clone()).or_insert_with(|| {
            self.pods.push(Pod {
                name: name.to_owned(),
                uid,
                first_seen: seen.at,
                listed,
                ..Pod::default()
            });
            self.latest.push(seen.at);
            self.pods.len() - 1
        });
        let pod = &mut self.pods[ix];
        describe(pod, view);
        if let (Some(reason), None) = (view.disrupted(), &pod.disruption) {
            pod.disruption = Some(Disruption {
                seen: seen.at,
                reason: reason.to_owned(),
            });
        }
        if pod.deletion.is_none() {
            let before = Some(self.latest[ix]).filter(|b| *b < seen.at);
            let sighting = Sighting {
                at: seen.at,
                before,
                after_gap: before.is_some_and(|b| gaps.hides("watch/Pod", b, seen.at)),
            };
            pod.deletion = Deletion::first(view, sighting, clocks);
        }
        self.latest[ix] = seen.at;
        if let Some(ready) = view.ready() {
            self.readiness_recorded |= !ready;
            if pod.ready.last().map(|(_, r)| *r) != Some(ready) {
                pod.ready.push((seen.at, ready));
            }
        }
        signals(pod, view, seen, clocks);
        containers(pod, view, seen, clocks);
        let phase_over = matches!(view.phase(), Some("Succeeded" | "Failed"));
        if pod.over.is_none() && (phase_over || seen.event == WatchType::Deleted) {
            pod.over = Some(seen.at);
        }
        if seen.event == WatchType::Deleted && pod.gone.is_none() {
            pod.gone = Some(seen.at);
        }
    }
}

fn describe(pod: &mut Pod, view: PodView<'_>) {
    if let Some(hash) = view.template_hash() {
        pod.template_hash = hash.to_owned();
    }
    if let Some(node) = view.node() {
        pod.node = Some(node.to_owned());
    }
    if let Some(ip) = view.ip() {
        pod.ip = Some(ip.to_owned());
    }
    if let Some(owner) = view.workload() {
        pod.owner = Some(owner.to_owned());
    }
    if let Some(container) = view.main_container_name() {
        pod.container = Some(container.to_owned());
        pod.proxies = view.proxies().map(str::to_owned).collect();
    }
    pod.spec_grace = view.spec_grace().or(pod.spec_grace);
    pod.wrapped |= view.wrapped();
    pod.commanded |= view.commanded();
    pod.pre_stop = view.pre_stop().or(pod.pre_stop.take());
    pod.readiness_probe = view.readiness_probe().or(pod.readiness_probe);
    pod.readiness_port = view.readiness_port().or(pod.readiness_port);
}

/// Signals that were written down since the object before.
fn signals(pod: &mut Pod, view: PodView<'_>, seen: &Seen<'_>, clocks: &Clocks) {
    let written = view.signals();
    for s in written.into_iter().skip(pod.signals.len()) {
        // The sandbox writes them down, whose clock is the run's.
        let at = clocks.read_own(&s.at).unwrap_or(Interval::at(seen.at));
        let hi = at.hi.min(seen.at);
        pod.signals.push(SentSignal {
            name: s.name,
            at: Interval::new(at.lo.min(hi), hi),
            processes: s.processes,
        });
    }
}

fn containers(pod: &mut Pod, view: PodView<'_>, seen: &Seen<'_>, clocks: &Clocks) {
    let clock = node_clock(pod.node.as_deref());
    let main = view.main_container_name();
    for (name, state, last, _) in view.containers() {
        let is_main = main.is_none_or(|m| m == name);
        if let Some(t) = last {
            let end = ContainerEnd::read(name, t, seen.at, &clock, clocks);
            note_end(pod, end, false);
        }
        match state {
            ContainerState::Terminated(t) => {
                let end = ContainerEnd::read(name, t, seen.at, &clock, clocks);
                note_end(pod, end, is_main);
            }
            ContainerState::Running { .. } => {
                if is_main {
                    pod.running.get_or_insert(seen.at);
                    pod.earlier_ends.extend(pod.end.take());
                }
                running_again(pod, name, seen.at);
            }
            ContainerState::Waiting | ContainerState::Unknown => {}
        }
    }
}

/// Keeps an end once, with the first receipt. `last`: it is the serving container's present state.
fn note_end(pod: &mut Pod, end: ContainerEnd, last: bool) {
    if pod.end.as_ref().is_some_and(|e| e.key == end.key)
        || pod.earlier_ends.iter().any(|e| e.key == end.key)
    {
        return;
    }
    if last {
        pod.earlier_ends.extend(pod.end.take());
        pod.end = Some(end);
    } else {
        pod.earlier_ends.push(end);
    }
}

fn running_again(pod: &mut Pod, container: &str, at: RunOffset) {
    for end in &mut pod.earlier_ends {
        if end.container == container && end.running_again.is_none() && end.seen <= at {
            end.running_again = Some(at);
        }
    }
}
