//! A Deployment's ReplicaSets.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::object::{annotation, is_controlled_by, meta, parse_time};
use super::rolling::Size;
use crate::{Kind, Store};

/// The number of a template in its Deployment's history.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
/// Earlier numbers of a template that came back.
pub(super) const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// The Deployment's `spec.replicas` when the ReplicaSet was last sized.
pub(super) const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
/// The same with the surge.
pub(super) const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";

/// One ReplicaSet of a Deployment.
#[derive(Debug, Clone)]
pub(super) struct ReplicaSet {
    pub(super) object: Arc<Value>,
}

impl ReplicaSet {
    pub(super) fn name(&self) -> &str {
        meta(&self.object, "name")
    }

    /// `spec.replicas`.
    pub(super) fn replicas(&self) -> i64 {
        self.object["spec"]["replicas"].as_i64().unwrap_or(1)
    }

    /// A count of its status.
    pub(super) fn status(&self, field: &str) -> i64 {
        self.object["status"][field].as_i64().unwrap_or(0)
    }

    pub(super) fn size(&self) -> Size {
        Size {
            replicas: self.replicas(),
            available: self.status("availableReplicas"),
        }
    }

    pub(super) fn revision(&self) -> u64 {
        annotation(&self.object, REVISION)
            .and_then(|r| r.parse().ok())
            .unwrap_or(0)
    }

    fn created(&self) -> Option<Timestamp> {
        parse_time(&self.object["metadata"]["creationTimestamp"])
    }
}

/// The ReplicaSets of one Deployment.
#[derive(Debug)]
pub(super) struct ReplicaSets {
    /// The one of the current template.
    pub(super) new: Option<ReplicaSet>,
    /// The others, oldest first.
    pub(super) old: Vec<ReplicaSet>,
}

impl ReplicaSets {
    /// Finds them in the store.
    pub(super) fn of(store: &Store, deployment: &Value) -> Self {
        let (all, _) = store.list(Kind::ReplicaSet, Some(meta(deployment, "namespace")));
        let uid = meta(deployment, "uid");
        let mut old: Vec<ReplicaSet> = all
            .into_iter()
            .filter(|rs| is_controlled_by(rs, uid))
            .map(|object| ReplicaSet { object })
            .collect();
        old.sort_by_key(|set| (set.created(), set.revision()));
        let template = &deployment["spec"]["template"];
        let new = old
            .iter()
            .position(|rs| same_template(&rs.object["spec"]["template"], template))
            .map(|index| old.remove(index));
        Self { new, old }
    }

    /// All of them, the new one last.
    pub(super) fn all(&self) -> impl Iterator<Item = &ReplicaSet> {
        self.old.iter().chain(&self.new)
    }

    /// The sum of all `spec.replicas`.
    pub(super) fn total(&self) -> i64 {
        self.all().map(ReplicaSet::replicas).sum()
    }

    /// The highest revision among the old ones.
    pub(super) fn last_old_revision(&self) -> u64 {
        self.old.iter().map(ReplicaSet::revision).max().unwrap_or(0)
    }
}

/// Whether a ReplicaSet's template is the Deployment's, but for the hash label.
fn same_template(of_replica_set: &Value, template: &Value) -> bool {
    let mut bare = of_replica_set.clone();
    if let Some(labels) = bare["metadata"]["labels"].as_object_mut() {
        labels.remove("pod-template-hash");
    }
    bare == *template
}
