//! The Deployment controller: one ReplicaSet for each template, sized step by step towards the newest.

use std::time::Duration;

use serde_json::Value;

use super::deployment_scaling::is_scaling;
use super::deployment_status::{desired, is_complete, progress, set_condition, status_of};
use super::events::EventRecorder;
use super::object::{condition, controller_of, is_terminal, meta};
use super::pace::{Pace, Rests};
use super::replica_sets::{ReplicaSet, ReplicaSets};
use super::rolling::{self, Bounds};
use crate::{Kind, Store, StoreError};

/// The Deployment controller.
#[derive(Debug)]
pub(super) struct DeploymentController {
    pub(super) store: Store,
    pub(super) events: EventRecorder,
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
        let looks: Vec<Option<Duration>> =
            deployments.iter().map(|d| self.sync_rested(d)).collect();
        looks.into_iter().flatten().min()
    }

    fn sync_rested(&mut self, deployment: &Value) -> Option<Duration> {
        let uid = meta(deployment, "uid");
        if let Some(left) = self.rests.left(uid) {
            return Some(left);
        }
        let (version, sets) = (
            self.store.version(),
            self.store.list(Kind::ReplicaSet, None).0.len(),
        );
        let again = self.sync_one(deployment);
        if self.store.version() == version {
            return again;
        }
        let has_new_set = self.store.list(Kind::ReplicaSet, None).0.len() > sets;
        let rest = if has_new_set {
            self.pace.new_replica_set
        } else {
            self.pace.deployment
        };
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
        let (pods, _) = self
            .store
            .list(Kind::Pod, Some(meta(deployment, "namespace")));
        let old = |pod: &Value| {
            controller_of(pod).is_some_and(|owner| {
                sets.old
                    .iter()
                    .any(|s| owner["uid"] == meta(&s.object, "uid"))
            })
        };
        pods.iter().any(|pod| !is_terminal(pod) && old(pod))
    }

    /// Removes empty old ReplicaSets over `revisionHistoryLimit`, once the rollout is complete.
    fn clean_up(&self, deployment: &Value, sets: &ReplicaSets) {
        if !is_complete(deployment, &deployment["status"]) {
            return;
        }
        let limit = deployment["spec"]["revisionHistoryLimit"]
            .as_u64()
            .unwrap_or(10);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut empty: Vec<&ReplicaSet> = sets
            .old
            .iter()
            .filter(|s| s.replicas() == 0 && s.status("replicas") == 0)
            .filter(|s| {
                s.status("observedGeneration")
                    >= s.object["metadata"]["generation"].as_i64().unwrap_or(0)
            })
            .collect();
        empty.sort_by_key(|s| s.revision());
        for set in empty.iter().take(empty.len().saturating_sub(limit)) {
            let _ = self
                .store
                .remove(Kind::ReplicaSet, meta(deployment, "namespace"), set.name());
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
            (true, r) if r != Some("DeploymentPaused") => {
                ("DeploymentPaused", "Deployment is paused")
            }
            (false, Some("DeploymentPaused")) => ("DeploymentResumed", "Deployment is resumed"),
            _ => return false,
        };
        let written = self.update(Kind::Deployment, deployment, |d| {
            set_condition(&mut d["status"], "Progressing", "Unknown", reason, message);
        });
        written.is_ok()
    }

    pub(super) fn update(
        &self,
        kind: Kind,
        object: &Value,
        change: impl FnOnce(&mut Value),
    ) -> Result<std::sync::Arc<Value>, StoreError> {
        self.store.update(
            kind,
            meta(object, "namespace"),
            meta(object, "name"),
            change,
        )
    }
}
