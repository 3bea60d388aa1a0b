//! The ReplicaSet controller: as many pods as asked for.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::deletion::delete_pod;
use super::events::EventRecorder;
use super::object::{
    is_active, is_controlled_by, is_ready, is_terminal, is_terminating, meta, ready_since,
};
use super::pace::{Pace, Rests};
use super::pod_template::pod_of;
use super::ranking::sort_for_deletion;
use crate::{Kind, Store};

/// The ReplicaSet controller.
#[derive(Debug)]
pub(super) struct ReplicaSetController {
    store: Store,
    events: EventRecorder,
    pace: Pace,
    rests: Rests,
}

impl ReplicaSetController {
    pub(super) fn new(store: Store, pace: Pace) -> Self {
        let events = EventRecorder::new(store.clone(), "replicaset-controller");
        Self {
            store,
            events,
            pace,
            rests: Rests::default(),
        }
    }

    /// One step for every ReplicaSet that does not rest. Gives the time after which to look again though nothing
    /// changes: a rest is over, or a pod may have become available.
    pub(super) fn sync(&mut self) -> Option<Duration> {
        let (sets, _) = self.store.list(Kind::ReplicaSet, None);
        let looks: Vec<Option<Duration>> = sets.iter().map(|set| self.sync_rested(set)).collect();
        looks.into_iter().flatten().min()
    }

    fn sync_rested(&mut self, set: &Value) -> Option<Duration> {
        let uid = meta(set, "uid");
        if let Some(left) = self.rests.left(uid) {
            return Some(left);
        }
        let before = self.store.version();
        let again = self.sync_one(set);
        if self.store.version() == before {
            return again;
        }
        self.rests.begin(uid, self.pace.replica_set);
        Some(self.pace.replica_set)
    }

    fn sync_one(&self, set: &Value) -> Option<Duration> {
        let uid = meta(set, "uid");
        let (mut pods, _) = self.store.list(Kind::Pod, Some(meta(set, "namespace")));
        pods.retain(|pod| is_controlled_by(pod, uid));
        let terminating = pods
            .iter()
            .filter(|p| is_terminating(p) && !is_terminal(p))
            .count();
        pods.retain(|pod| is_active(pod));
        self.manage(set, &pods);
        // Like the real one, the status tells of the pods as they were before this step.
        let now = Timestamp::now();
        let status = status_of(set, &pods, terminating, now);
        let (namespace, name) = (meta(set, "namespace"), meta(set, "name"));
        let _ = self.store.update(Kind::ReplicaSet, namespace, name, |rs| {
            rs["status"] = status
        });
        let waits = pods.iter().filter_map(|pod| until_available(set, pod, now));
        waits.filter(|left| !left.is_zero()).min()
    }

    fn manage(&self, set: &Value, active: &[Arc<Value>]) {
        let wanted = set["spec"]["replicas"].as_u64().unwrap_or(1);
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        for _ in active.len()..wanted {
            if let Ok(pod) = self.store.create(Kind::Pod, pod_of(set)) {
                let message = format!("Created pod: {}", meta(&pod, "name"));
                self.events.normal(set, "SuccessfulCreate", &message);
            }
        }
        let surplus = active.len().saturating_sub(wanted);
        if surplus == 0 {
            return;
        }
        let mut ranked = active.to_vec();
        sort_for_deletion(&mut ranked, Timestamp::now());
        for pod in &ranked[..surplus] {
            let name = meta(pod, "name");
            if delete_pod(&self.store, meta(pod, "namespace"), name, None).is_ok() {
                let message = format!("Deleted pod: {name}");
                self.events.normal(set, "SuccessfulDelete", &message);
            }
        }
    }
}

fn status_of(set: &Value, active: &[Arc<Value>], terminating: usize, now: Timestamp) -> Value {
    let labels = set["spec"]["template"]["metadata"]["labels"].as_object();
    let fully_labeled = |pod: &Value| {
        labels
            .into_iter()
            .flatten()
            .all(|(key, value)| pod["metadata"]["labels"].get(key) == Some(value))
    };
    let available = |pod: &Value| until_available(set, pod, now).is_some_and(|left| left.is_zero());
    let mut status = json!({
        "replicas": active.len(),
        "terminatingReplicas": terminating,
        "observedGeneration": set["metadata"]["generation"],
    });
    let counts = [
        (
            "fullyLabeledReplicas",
            active.iter().filter(|p| fully_labeled(p)).count(),
        ),
        (
            "readyReplicas",
            active.iter().filter(|p| is_ready(p)).count(),
        ),
        (
            "availableReplicas",
            active.iter().filter(|p| available(p)).count(),
        ),
    ];
    for (field, count) in counts {
        if count > 0 {
            status[field] = json!(count);
        }
    }
    status
}

/// How long until a ready pod has been ready for `minReadySeconds`: zero when it has, `None` when it is not ready.
fn until_available(set: &Value, pod: &Value, now: Timestamp) -> Option<Duration> {
    if !is_ready(pod) {
        return None;
    }
    let least = set["spec"]["minReadySeconds"].as_i64().unwrap_or(0);
    if least == 0 {
        return Some(Duration::ZERO);
    }
    let from = ready_since(pod)? + SignedDuration::from_secs(least);
    let left = Duration::try_from(from.duration_since(now)).unwrap_or(Duration::ZERO);
    Some(left)
}
