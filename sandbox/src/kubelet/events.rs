//! Events about pods, recorded and folded as client-go's recorder does.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::status::seconds;
use crate::{Kind, Store};

/// Events about one object that may come in a burst; after that one in five minutes.
const BURST: f64 = 25.0;
const REFILL: Duration = Duration::from_secs(300);

/// The event's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum EventType {
    Normal,
    Warning,
}

impl EventType {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// The pod that an event is about.
#[derive(Debug, Clone)]
pub(super) struct PodReference {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    /// As the kubelet first saw the pod.
    pub(super) resource_version: String,
}

/// Writes events to the store.
#[derive(Debug)]
pub(super) struct EventRecorder {
    store: Store,
    host: String,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// What makes two events the same, and the name of the event that they are.
    names: HashMap<Same, String>,
    budgets: HashMap<String, (f64, Instant)>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Same {
    uid: String,
    field_path: String,
    kind: EventType,
    reason: &'static str,
    message: String,
}

impl EventRecorder {
    pub(super) fn new(store: Store, host: &str) -> Self {
        Self {
            store,
            host: host.to_owned(),
            known: Mutex::default(),
        }
    }

    /// Records an event about a container (`field_path`, e.g. `spec.containers{web}`) of a pod. The same event again
    /// raises the count of the first and keeps its firstTimestamp.
    pub(super) fn record(
        &self,
        pod: &PodReference,
        field_path: &str,
        kind: EventType,
        reason: &'static str,
        message: &str,
    ) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.take(&pod.uid, Instant::now()) {
            return;
        }
        let same = Same {
            uid: pod.uid.clone(),
            field_path: field_path.to_owned(),
            kind,
            reason,
            message: message.to_owned(),
        };
        let now = Timestamp::now();
        if let Some(name) = known.names.get(&same) {
            let again = self.store.update(Kind::Event, &pod.namespace, name, |e| {
                e["count"] = json!(e["count"].as_i64().unwrap_or(1) + 1);
                e["lastTimestamp"] = json!(seconds(now));
            });
            if again.is_ok() {
                return;
            }
        }
        let name = format!("{}.{:x}", pod.name, now.as_nanosecond());
        let event = self.event(pod, &same, &name, now);
        // Two events about one pod within a nanosecond do not happen: the lock is held.
        if self.store.create(Kind::Event, event).is_ok() {
            known.names.insert(same, name);
        }
    }

    fn event(&self, pod: &PodReference, same: &Same, name: &str, now: Timestamp) -> Value {
        let mut involved = json!({
            "kind": "Pod",
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
            "apiVersion": "v1",
            "resourceVersion": pod.resource_version,
        });
        if !same.field_path.is_empty() {
            involved["fieldPath"] = json!(same.field_path);
        }
        json!({
            "metadata": {"name": name, "namespace": pod.namespace},
            "involvedObject": involved,
            "reason": same.reason,
            "message": same.message,
            "source": {"component": "kubelet", "host": self.host},
            "firstTimestamp": seconds(now),
            "lastTimestamp": seconds(now),
            "count": 1,
            "type": same.kind.as_str(),
            "eventTime": null,
            "reportingComponent": "kubelet",
            "reportingInstance": self.host,
        })
    }

    /// Forgets what folding needs to know of a pod.
    pub(super) fn forget(&self, uid: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.names.retain(|same, _| same.uid != uid);
        known.budgets.remove(uid);
    }
}

impl Known {
    fn take(&mut self, uid: &str, now: Instant) -> bool {
        let (left, since) = self.budgets.entry(uid.to_owned()).or_insert((BURST, now));
        let gained = now
            .saturating_duration_since(*since)
            .div_duration_f64(REFILL);
        *left = (*left + gained).min(BURST);
        *since = now;
        let enough = *left >= 1.0;
        if enough {
            *left -= 1.0;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> PodReference {
        PodReference {
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            uid: "u".to_owned(),
            resource_version: "7".to_owned(),
        }
    }

    fn counts(store: &Store) -> Vec<i64> {
        let (events, _) = store.list(Kind::Event, Some("shop"));
        events.iter().filter_map(|e| e["count"].as_i64()).collect()
    }

    #[test]
    fn the_same_event_again_raises_the_count_and_keeps_the_first_timestamp() {
        let store = Store::new();
        let recorder = EventRecorder::new(store.clone(), "node1");
        let path = "spec.containers{web}";
        recorder.record(&pod(), path, EventType::Warning, "Unhealthy", "refused");
        let first = store.list(Kind::Event, None).0[0]["firstTimestamp"].clone();
        recorder.record(&pod(), path, EventType::Warning, "Unhealthy", "refused");
        recorder.record(&pod(), path, EventType::Warning, "Unhealthy", "503");
        assert_eq!(counts(&store), [2, 1]);
        assert_eq!(store.list(Kind::Event, None).0[0]["firstTimestamp"], first);
    }

    #[test]
    fn a_flood_of_events_about_one_pod_is_cut() {
        let store = Store::new();
        let recorder = EventRecorder::new(store.clone(), "node1");
        for _ in 0..40 {
            recorder.record(&pod(), "", EventType::Warning, "Unhealthy", "refused");
        }
        assert_eq!(counts(&store), [25]);
    }
}
