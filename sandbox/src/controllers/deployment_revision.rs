//! The ReplicaSet of a Deployment's current template, and its revision.

use serde_json::{Value, json};

use super::deployment::DeploymentController;
use super::deployment_status::{desired, set_condition};
use super::object::{annotate, annotation, condition, meta, owner_reference};
use super::pod_template::template_hash;
use super::replica_sets::{
    DESIRED_REPLICAS, MAX_REPLICAS, REVISION, REVISION_HISTORY, ReplicaSet, ReplicaSets,
};
use super::rolling::{self, Bounds};
use crate::{Kind, StoreError};

/// Annotations of a Deployment that its ReplicaSets do not get.
const NOT_COPIED: [&str; 5] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
];

impl DeploymentController {
    /// Finds or makes the ReplicaSet of the current template and gives both their revision. False when the objects
    /// changed so that the step must be taken again.
    pub(super) fn ensure_new(&self, deployment: &Value, sets: &mut ReplicaSets) -> bool {
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
                set_condition(
                    &mut d["status"],
                    "Progressing",
                    "True",
                    "FoundNewReplicaSet",
                    &message,
                );
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
        annotate(
            &mut set,
            MAX_REPLICAS,
            &(desired + bounds.surge).to_string(),
        );
        let name = meta(&set, "name").to_owned();
        match self.store.create(Kind::ReplicaSet, set) {
            Ok(_) => {
                if size > 0 {
                    let message = format!("Scaled up replica set {name} from 0 to {size}");
                    self.events
                        .normal(deployment, "ScalingReplicaSet", &message);
                }
                let message = format!("Created new replica set {name:?}");
                let _ = self.update(Kind::Deployment, deployment, |d| {
                    annotate(d, REVISION, &revision.to_string());
                    set_condition(
                        &mut d["status"],
                        "Progressing",
                        "True",
                        "NewReplicaSetCreated",
                        &message,
                    );
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
