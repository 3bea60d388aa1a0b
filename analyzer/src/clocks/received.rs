//! Bounds of other clocks from what was received of them.

use std::collections::{BTreeMap, BTreeSet};

use rollscope_records::{LogSource, ObjectKind, RunOffset, WatchType};

use super::{API_SERVER, Offset, node_clock};
use crate::kube_time;
use crate::ordered::Ordered;
use crate::view::{ContainerState, EventView, PodView};

const SECOND: i64 = 1_000_000_000;

/// What is received promptly was written at most this long before, ns.
const FASTEST_DELIVERY: i64 = 500_000_000;

/// Bounds from what was received. Nothing is received before it is written: `lo = max(written - received)`. What is
/// certainly live is received promptly: `hi = min(written + resolution - received)` plus what a delivery may take. Of
/// log lines, which may come late in heaps, the fastest counts.
pub(super) fn received(wall_start: i64, ordered: &Ordered<'_>) -> BTreeMap<String, Offset> {
    let mut seen = Received {
        wall_start,
        bounds: BTreeMap::new(),
    };
    let nodes = from_watch(&mut seen, ordered);
    let listed = ordered
        .logs
        .first()
        .map_or(i64::MAX, |l| l.at.0.saturating_add(SECOND));
    for log in &ordered.logs {
        if let (LogSource::Container { pod, .. }, Some(t)) = (&log.source, &log.timestamp) {
            let clock = node_clock(nodes.get(pod.as_str()).copied());
            let delivery = if log.at.0 > listed {
                Delivery::FastestCounts
            } else {
                Delivery::Late
            };
            seen.add(clock, t, log.at, delivery);
        }
    }
    seen.close()
}

/// Pod creations, deletions and ends of containers, and events. Returns the node of each pod.
fn from_watch<'a>(seen: &mut Received, ordered: &Ordered<'a>) -> BTreeMap<&'a str, &'a str> {
    let listed = ordered
        .watch
        .first()
        .map_or(i64::MAX, |s| s.at.0.saturating_add(SECOND));
    let prompt = |at: RunOffset| {
        if at.0 > listed {
            Delivery::Prompt
        } else {
            Delivery::Late
        }
    };
    let mut nodes: BTreeMap<&str, &str> = BTreeMap::new();
    let mut told: BTreeSet<(&str, &str)> = BTreeSet::new();
    for s in &ordered.watch {
        if s.kind == ObjectKind::Event {
            let event = EventView(s.object);
            let node = event.pod().and_then(|name| nodes.get(name)).copied();
            let clock = match (event.by_kubelet(), node) {
                (false, _) => Some(API_SERVER.to_owned()),
                (true, node) => node.map(|n| node_clock(Some(n))),
            };
            if let (Some(clock), Some(t)) = (clock, event.last_seen()) {
                seen.add(clock, t, s.at, Delivery::Late);
            }
            continue;
        }
        let pod = PodView(s.object);
        let (ObjectKind::Pod, Some(name)) = (s.kind, pod.name()) else {
            continue;
        };
        if let Some(node) = pod.node() {
            nodes.insert(name, node);
        }
        if let (WatchType::Added, Some(t)) = (s.event, pod.created_at()) {
            seen.add(API_SERVER.to_owned(), t, s.at, prompt(s.at));
        }
        for (container, state, ..) in pod.containers() {
            if let ContainerState::Terminated(end) = state
                && let Some(t) = end.finished_at
                && told.insert((name, container))
            {
                seen.add(node_clock(pod.node()), t, s.at, prompt(s.at));
            }
        }
    }
    nodes
}

/// How a written time came to us.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// It may have been written long before.
    Late,
    /// It was written within [`FASTEST_DELIVERY`].
    Prompt,
    /// The fastest of its kind was.
    FastestCounts,
}

/// Bounds of one clock, while they are gathered, ns.
#[derive(Clone, Copy)]
struct Bounds {
    lo: i64,
    prompt_hi: i64,
    fastest: Option<i64>,
    samples: u64,
}

struct Received {
    wall_start: i64,
    bounds: BTreeMap<String, Bounds>,
}

impl Received {
    fn add(&mut self, clock: String, text: &str, at: RunOffset, delivery: Delivery) {
        let Some(t) = kube_time::parse(text) else {
            return;
        };
        let lead = t
            .unix_nanos
            .saturating_sub(self.wall_start)
            .saturating_sub(at.0);
        let b = self.bounds.entry(clock).or_insert(Bounds {
            lo: i64::MIN / 4,
            prompt_hi: i64::MAX / 4,
            fastest: None,
            samples: 0,
        });
        b.samples += 1;
        b.lo = b.lo.max(lead);
        let latest = lead.saturating_add(t.resolution);
        match delivery {
            Delivery::Late => {}
            Delivery::Prompt => b.prompt_hi = b.prompt_hi.min(latest),
            Delivery::FastestCounts => b.fastest = b.fastest.max(Some(latest)),
        }
    }

    /// Clocks of which nothing prompt is known are left out.
    fn close(self) -> BTreeMap<String, Offset> {
        self.bounds
            .into_iter()
            .filter_map(|(clock, b)| {
                let hi = b.prompt_hi.min(b.fastest.unwrap_or(i64::MAX / 4));
                (hi < i64::MAX / 4).then(|| {
                    let offset = Offset {
                        lo: b.lo,
                        hi: hi.max(b.lo).saturating_add(FASTEST_DELIVERY),
                        samples: b.samples,
                    };
                    (clock, offset)
                })
            })
            .collect()
    }
}
