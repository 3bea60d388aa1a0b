//! The Deployment controller: one ReplicaSet for each template, sized step by step towards the newest.

use std::time::Duration;

use serde_json::{Value, json};

use super::deployment_status::{desired, is_complete, progress, set_condition, status_of};
use super::events::EventRecorder;
use super::object::{annotate, annotation, condition, controller_of, is_terminal, meta, owner_reference};
use super::pace::{Pace, Rests};
use super::pod_template::template_hash;
use super::replica_sets::{
    DESIRED_REPLICAS, MAX_REPLICAS, REVISION, REVISION_HISTORY, ReplicaSet, ReplicaSets,
};
use super::rolling::{self, Bounds};
use crate::{Kind, Store, StoreError};

/// Annotations of a Deployment that its ReplicaSets do not get.
const NOT_COPIED: [&str; 5] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
];

/// The Deployment controller.
#[derive(Debug)]
pub(super) struct DeploymentController {
    store: Store,
    events: EventRecorder,
    pace: Pace,
    rests: Rests,
}

impl DeploymentController {
    pub(super) fn new(store: Store, pace: Pace) -> Self {
        let events = EventRecorder::new(store.clone(), "deployment-controller");
        Self {
            store,
            events,
            pace,
            rests: Rests::default(),
        }
    }

    /// One step for every Deployment that does not rest. Gives the time after which to look again though nothing
    /// changes.
    pub(super) fn sync(&mut self) -> Option<Duration> {
        let (deployments, _) = self.store.list(Kind::Deployment, None);
        let looks: Vec<Option<Duration>> = deployments.iter().map(|d| self.sync_rested(d)).collect();
        looks.into_iter().flatten().min()
    }

    fn sync_rested(&mut self, deployment: &Value) -> Option<Duration> {
        let uid = meta(deployment, "uid");
        if let Some(left) = self.rests.left(uid) {
            return Some(left);
        }
        let (version, sets) = (self.store.version(), self.store.list(Kind::ReplicaSet, None).0.len());
        let again = self.sync_one(deployment);
        if self.store.version() == version {
            return again;
        }
        let has_new_set = self.store.list(Kind::ReplicaSet, None).0.len() > sets;
        let rest = if has_new_set { self.pace.new_replica_set } else { self.pace.deployment };
        self.rests.begin(uid, rest);
        Some(rest)
    }

    fn sync_one(&self, deployment: &Value) -> Option<Duration> {
        let mut sets = ReplicaSets::of(&self.store, deployment);
        let paused = deployment["spec"]["paused"] == true;
        if self.note_pause(deployment, paused) {
            return Some(Duration::ZERO);
        }
        if paused || is_scaling(deployment, &sets) {
            self.scale_all(deployment, &sets);
            return self.write_status(deployment, &sets);
        }
        if deployment["spec"]["strategy"]["type"] == "Recreate" {
            return self.recreate(deployment, &mut sets);
        }
        if !self.ensure_new(deployment, &mut sets) {
            return Some(Duration::ZERO);
        }
        if !self.grow_new(deployment, &sets) && !self.shrink_old(deployment, &sets) {
            self.clean_up(deployment, &sets);
        }
        self.write_status(deployment, &sets)
    }

    /// The new ReplicaSet grows. Whether it changed.
    fn grow_new(&self, deployment: &Value, sets: &ReplicaSets) -> bool {
        let Some(new) = &sets.new else {
            return false;
        };
        let desired = desired(deployment);
        let bounds = Bounds::of(&deployment["spec"]["strategy"], desired);
        let size = rolling::new_size(desired, bounds, new.replicas(), sets.total());
        self.scale(deployment, new, size)
    }

    /// The old ReplicaSets shrink by what the bounds allow. Whether one changed.
    fn shrink_old(&self, deployment: &Value, sets: &ReplicaSets) -> bool {
        let Some(new) = &sets.new else {
            return false;
        };
        let desired = desired(deployment);
        let bounds = Bounds::of(&deployment["spec"]["strategy"], desired);
        let old: Vec<rolling::Size> = sets.old.iter().map(ReplicaSet::size).collect();
        let Some(sizes) = rolling::old_sizes(desired, bounds, new.size(), &old) else {
            return false;
        };
        for (set, size) in sets.old.iter().zip(sizes) {
            if size != set.replicas() {
                self.scale(deployment, set, size);
            }
        }
        true
    }

    /// All old pods go before a new one comes.
    fn recreate(&self, deployment: &Value, sets: &mut ReplicaSets) -> Option<Duration> {
        let mut shrunk = false;
        for set in sets.old.iter().filter(|s| s.replicas() > 0) {
            shrunk |= self.scale(deployment, set, 0);
        }
        if shrunk || self.old_pods_run(deployment, sets) {
            return self.write_status(deployment, sets);
        }
        if !self.ensure_new(deployment, sets) {
            return Some(Duration::ZERO);
        }
        if let Some(new) = &sets.new
            && !self.scale(deployment, new, desired(deployment))
        {
            self.clean_up(deployment, sets);
        }
        self.write_status(deployment, sets)
    }

    fn old_pods_run(&self, deployment: &Value, sets: &ReplicaSets) -> bool {
        let (pods, _) = self.store.list(Kind::Pod, Some(meta(deployment, "namespace")));
        let old = |pod: &Value| {
            controller_of(pod)
                .is_some_and(|owner| sets.old.iter().any(|s| owner["uid"] == meta(&s.object, "uid")))
        };
        pods.iter().any(|pod| !is_terminal(pod) && old(pod))
    }

    /// Finds or makes the ReplicaSet of the current template and gives both their revision. False when the objects
    /// changed so that the step must be taken again.
    fn ensure_new(&self, deployment: &Value, sets: &mut ReplicaSets) -> bool {
        let revision = sets.last_old_revision() + 1;
        let Some(new) = &sets.new else {
            return self.create_new(deployment, sets, revision);
        };
        let revision = revision.max(new.revision());
        let written = self.update(Kind::ReplicaSet, &new.object, |rs| {
            copy_annotations(deployment, rs);
            set_revision(rs, revision);
            let min_ready = &deployment["spec"]["minReadySeconds"];
            if rs["spec"]["minReadySeconds"].as_i64() != min_ready.as_i64() {
                rs["spec"]["minReadySeconds"] = min_ready.clone();
            }
        });
        let Ok(object) = written else {
            return false;
        };
        let found = condition(deployment, "Progressing").is_none();
        let message = format!("Found new replica set {:?}", meta(&object, "name"));
        sets.new = Some(ReplicaSet { object });
        let before = annotation(deployment, REVISION).map(str::to_owned);
        if before.as_deref() == Some(&revision.to_string()) && !found {
            return true;
        }
        let _ = self.update(Kind::Deployment, deployment, |d| {
            annotate(d, REVISION, &revision.to_string());
            if found {
                set_condition(&mut d["status"], "Progressing", "True", "FoundNewReplicaSet", &message);
            }
        });
        false
    }

    /// Makes the new ReplicaSet, at the size that the bounds allow at once. Always false: the objects changed.
    fn create_new(&self, deployment: &Value, sets: &ReplicaSets, revision: u64) -> bool {
        let desired = desired(deployment);
        let bounds = Bounds::of(&deployment["spec"]["strategy"], desired);
        let size = if deployment["spec"]["strategy"]["type"] == "Recreate" {
            desired
        } else {
            rolling::new_size(desired, bounds, 0, sets.total())
        };
        let mut set = new_replica_set(deployment, size);
        copy_annotations(deployment, &mut set);
        set_revision(&mut set, revision);
        annotate(&mut set, DESIRED_REPLICAS, &desired.to_string());
        annotate(&mut set, MAX_REPLICAS, &(desired + bounds.surge).to_string());
        let name = meta(&set, "name").to_owned();
        match self.store.create(Kind::ReplicaSet, set) {
            Ok(_) => {
                if size > 0 {
                    let message = format!("Scaled up replica set {name} from 0 to {size}");
                    self.events.normal(deployment, "ScalingReplicaSet", &message);
                }
                let message = format!("Created new replica set {name:?}");
                let _ = self.update(Kind::Deployment, deployment, |d| {
                    annotate(d, REVISION, &revision.to_string());
                    set_condition(&mut d["status"], "Progressing", "True", "NewReplicaSetCreated", &message);
                });
            }
            Err(StoreError::AlreadyExists(..)) => {
                // Another template has this hash: count the collision and try the next hash.
                let _ = self.update(Kind::Deployment, deployment, |d| {
                    let count = d["status"]["collisionCount"].as_i64().unwrap_or(0);
                    d["status"]["collisionCount"] = json!(count + 1);
                });
            }
            Err(StoreError::NotFound(..)) => (),
        }
        false
    }

    /// Sizes the ReplicaSets of a paused or scaled Deployment.
    fn scale_all(&self, deployment: &Value, sets: &ReplicaSets) {
        let desired = desired(deployment);
        let bounds = Bounds::of(&deployment["spec"]["strategy"], desired);
        let mut active: Vec<&ReplicaSet> = sets.all().filter(|s| s.replicas() > 0).collect();
        if active.len() <= 1 {
            let latest = sets.new.as_ref().or(sets.old.last());
            if let Some(one) = active.first().copied().or(latest) {
                self.scale(deployment, one, desired);
            }
            return;
        }
        let saturated = sets.new.as_ref().is_some_and(|new| {
            new.replicas() == desired
                && new.status("availableReplicas") == desired
                && annotation(&new.object, DESIRED_REPLICAS) == Some(desired.to_string().as_str())
        });
        if saturated {
            for set in sets.old.iter().filter(|s| s.replicas() > 0) {
                self.scale(deployment, set, 0);
            }
            return;
        }
        // Largest first; of equal ones the newest grows first and the oldest shrinks first.
        let allowed = if desired > 0 { desired + bounds.surge } else { 0 };
        if allowed > sets.total() {
            active.reverse();
        }
        active.sort_by_key(|s| std::cmp::Reverse(s.replicas()));
        let sizes: Vec<i64> = active.iter().map(|s| s.replicas()).collect();
        for (set, size) in active.iter().zip(rolling::proportional(&sizes, allowed)) {
            self.scale(deployment, set, size);
        }
    }

    /// Gives a ReplicaSet its size. Whether that was a change of the size.
    fn scale(&self, deployment: &Value, set: &ReplicaSet, size: i64) -> bool {
        let desired = desired(deployment);
        let bounds = Bounds::of(&deployment["spec"]["strategy"], desired);
        let before = set.replicas();
        let written = self.update(Kind::ReplicaSet, &set.object, |rs| {
            rs["spec"]["replicas"] = json!(size);
            annotate(rs, DESIRED_REPLICAS, &desired.to_string());
            annotate(rs, MAX_REPLICAS, &(desired + bounds.surge).to_string());
        });
        if written.is_err() || before == size {
            return false;
        }
        let direction = if size > before { "up" } else { "down" };
        let message = format!(
            "Scaled {direction} replica set {} from {before} to {size}",
            set.name()
        );
        self.events.normal(deployment, "ScalingReplicaSet", &message);
        true
    }

    /// Removes empty old ReplicaSets over `revisionHistoryLimit`, once the rollout is complete.
    fn clean_up(&self, deployment: &Value, sets: &ReplicaSets) {
        if !is_complete(deployment, &deployment["status"]) {
            return;
        }
        let limit = deployment["spec"]["revisionHistoryLimit"].as_u64().unwrap_or(10);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut empty: Vec<&ReplicaSet> = sets
            .old
            .iter()
            .filter(|s| s.replicas() == 0 && s.status("replicas") == 0)
            .filter(|s| s.status("observedGeneration") >= s.object["metadata"]["generation"].as_i64().unwrap_or(0))
            .collect();
        empty.sort_by_key(|s| s.revision());
        for set in empty.iter().take(empty.len().saturating_sub(limit)) {
            let _ = self.store.remove(Kind::ReplicaSet, meta(deployment, "namespace"), set.name());
        }
    }

    fn write_status(&self, deployment: &Value, sets: &ReplicaSets) -> Option<Duration> {
        let mut status = status_of(deployment, sets);
        let again = progress(deployment, &mut status, sets.new.as_ref());
        let written = self.update(Kind::Deployment, deployment, |d| d["status"] = status);
        written.ok().and(again)
    }

    /// Notes in the Progressing condition that the Deployment was paused or resumed. Whether it was written.
    fn note_pause(&self, deployment: &Value, paused: bool) -> bool {
        let reason = condition(deployment, "Progressing").and_then(|c| c["reason"].as_str());
        let (reason, message) = match (paused, reason) {
            (true, r) if r != Some("DeploymentPaused") => ("DeploymentPaused", "Deployment is paused"),
            (false, Some("DeploymentPaused")) => ("DeploymentResumed", "Deployment is resumed"),
            _ => return false,
        };
        let written = self.update(Kind::Deployment, deployment, |d| {
            set_condition(&mut d["status"], "Progressing", "Unknown", reason, message);
        });
        written.is_ok()
    }

    fn update(
        &self,
        kind: Kind,
        object: &Value,
        change: impl FnOnce(&mut Value),
    ) -> Result<std::sync::Arc<Value>, StoreError> {
        self.store
            .update(kind, meta(object, "namespace"), meta(object, "name"), change)
    }
}

/// Whether `spec.replicas` changed since an active ReplicaSet was sized.
fn is_scaling(deployment: &Value, sets: &ReplicaSets) -> bool {
    let desired = desired(deployment).to_string();
    let mut active = sets.all().filter(|s| s.replicas() > 0);
    active.any(|s| annotation(&s.object, DESIRED_REPLICAS).is_some_and(|d| d != desired))
}

fn new_replica_set(deployment: &Value, size: i64) -> Value {
    let spec = &deployment["spec"];
    let mut template = spec["template"].clone();
    let collisions = deployment["status"]["collisionCount"].as_u64().unwrap_or(0);
    let hash = template_hash(&template, collisions);
    template["metadata"]["labels"]["pod-template-hash"] = json!(hash);
    let mut selector = spec["selector"].clone();
    selector["matchLabels"]["pod-template-hash"] = json!(hash);
    let mut set = json!({
        "metadata": {
            "name": format!("{}-{hash}", meta(deployment, "name")),
            "namespace": deployment["metadata"]["namespace"],
            "labels": template["metadata"]["labels"],
            "annotations": {},
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {"replicas": size, "selector": selector, "template": template},
        "status": {"replicas": 0},
    });
    if spec["minReadySeconds"].as_i64().unwrap_or(0) > 0 {
        set["spec"]["minReadySeconds"] = spec["minReadySeconds"].clone();
    }
    set
}

fn copy_annotations(deployment: &Value, set: &mut Value) {
    let annotations = deployment["metadata"]["annotations"].as_object();
    for (name, value) in annotations.into_iter().flatten() {
        if !NOT_COPIED.contains(&name.as_str()) {
            set["metadata"]["annotations"][name] = value.clone();
        }
    }
}

/// Gives a ReplicaSet a higher revision and keeps the one it had in its history.
fn set_revision(set: &mut Value, revision: u64) {
    let before = annotation(set, REVISION).and_then(|r| r.parse::<u64>().ok());
    if before.is_some_and(|before| before >= revision) {
        return;
    }
    if let Some(before) = before {
        let mut history: Vec<String> = annotation(set, REVISION_HISTORY)
            .into_iter()
            .flat_map(|h| h.split(',').map(str::to_owned))
            .collect();
        history.push(before.to_string());
        annotate(set, REVISION_HISTORY, &history.join(","));
    }
    annotate(set, REVISION, &revision.to_string());
}
