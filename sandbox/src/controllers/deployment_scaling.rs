//! Sizes the ReplicaSets of a Deployment.

use serde_json::{Value, json};

use super::deployment::DeploymentController;
use super::deployment_status::desired;
use super::object::{annotate, annotation};
use super::replica_sets::{DESIRED_REPLICAS, MAX_REPLICAS, ReplicaSet, ReplicaSets};
use super::rolling::{self, Bounds};
use crate::Kind;

impl DeploymentController {
    /// Sizes the ReplicaSets of a paused or scaled Deployment.
    pub(super) fn scale_all(&self, deployment: &Value, sets: &ReplicaSets) {
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
        let allowed = if desired > 0 {
            desired + bounds.surge
        } else {
            0
        };
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
    pub(super) fn scale(&self, deployment: &Value, set: &ReplicaSet, size: i64) -> bool {
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
        self.events
            .normal(deployment, "ScalingReplicaSet", &message);
        true
    }
}

/// Whether `spec.replicas` changed since an active ReplicaSet was sized.
pub(super) fn is_scaling(deployment: &Value, sets: &ReplicaSets) -> bool {
    let desired = desired(deployment).to_string();
    let mut active = sets.all().filter(|s| s.replicas() > 0);
    active.any(|s| annotation(&s.object, DESIRED_REPLICAS).is_some_and(|d| d != desired))
}
