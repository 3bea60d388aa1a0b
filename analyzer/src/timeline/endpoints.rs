//! Membership of pods in the endpoints of the services.

use std::collections::{BTreeMap, BTreeSet};

use rollscope_records::{RunOffset, WatchType};

use crate::ordered::Seen;
use crate::view::SliceView;

/// A state of a pod's endpoint; a condition that was not recorded is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndpointSpan {
    pub(crate) from: RunOffset,
    pub(crate) to: Option<RunOffset>,
    pub(crate) ready: Option<bool>,
    pub(crate) serving: Option<bool>,
    pub(crate) terminating: Option<bool>,
}

/// Number of ready endpoints from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadyCount {
    pub(crate) at: RunOffset,
    pub(crate) ready: usize,
}

type Conditions = (Option<bool>, Option<bool>, Option<bool>);

/// Everything that the slices said.
pub(crate) struct Endpoints {
    /// By the name of the pod, else its address.
    pub(crate) spans: BTreeMap<String, Vec<EndpointSpan>>,
    pub(crate) ready: Vec<ReadyCount>,
    /// The ports that the traffic goes to.
    pub(crate) ports: BTreeSet<i64>,
}

/// Endpoint changes, while they are gathered.
#[derive(Default)]
pub(crate) struct EndpointBook {
    services: BTreeSet<String>,
    slices: BTreeMap<String, BTreeMap<String, Conditions>>,
    now: BTreeMap<String, Conditions>,
    spans: BTreeMap<String, Vec<EndpointSpan>>,
    ready: Vec<ReadyCount>,
    ports: BTreeSet<i64>,
}

impl EndpointBook {
    /// A book of the endpoints of `services`; of all of them when it is empty.
    pub(crate) fn of(services: &[String]) -> Self {
        Self {
            services: services.iter().cloned().collect(),
            ..Self::default()
        }
    }

    pub(crate) fn see(&mut self, seen: &Seen<'_>) {
        let slice = SliceView(seen.object);
        if let Some(service) = slice.service()
            && !self.services.is_empty()
            && !self.services.contains(service)
        {
            return;
        }
        self.ports.extend(slice.ports());
        let entries = self.slices.entry(slice.key().to_owned()).or_default();
        entries.clear();
        if seen.event != WatchType::Deleted {
            for e in slice.endpoints() {
                if let Some(pod) = e.pod.or(e.address) {
                    entries.insert(pod.to_owned(), (e.ready, e.serving, e.terminating));
                }
            }
        }
        let merged = self.merged();
        self.transition(seen.at, merged);
    }

    fn merged(&self) -> BTreeMap<String, Conditions> {
        self.slices
            .values()
            .flatten()
            .map(|(pod, c)| (pod.clone(), *c))
            .collect()
    }

    fn transition(&mut self, at: RunOffset, next: BTreeMap<String, Conditions>) {
        for (pod, conditions) in &self.now {
            if next.get(pod) != Some(conditions)
                && let Some(last) = self.spans.get_mut(pod).and_then(|s| s.last_mut())
            {
                last.to = Some(at);
            }
        }
        for (pod, c) in &next {
            if self.now.get(pod) != Some(c) {
                self.spans
                    .entry(pod.clone())
                    .or_default()
                    .push(EndpointSpan {
                        from: at,
                        to: None,
                        ready: c.0,
                        serving: c.1,
                        terminating: c.2,
                    });
            }
        }
        // A condition that is absent means ready, as consumers of the API are told to read it.
        let ready = next.values().filter(|c| c.0.unwrap_or(true)).count();
        if self.ready.last().is_none_or(|r| r.ready != ready) {
            self.ready.push(ReadyCount { at, ready });
        }
        self.now = next;
    }

    pub(crate) fn close(self) -> Endpoints {
        Endpoints {
            spans: self.spans,
            ready: self.ready,
            ports: self.ports,
        }
    }
}
