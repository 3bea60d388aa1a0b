//! The live view of a workload: a pure fold of watch events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rollscope_records::{ObjectKind, WatchType, redact};
use serde_json::Value;

use crate::workload::text;
use crate::{DeploymentView, PodCounts, PodView, ReplicaSetView};

/// Events kept for messages.
const EVENTS_KEPT: usize = 500;

/// The workload as the watches last showed it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusterState {
    /// The Deployment; `None` while there is none.
    pub deployment: Option<DeploymentView>,
    /// ReplicaSets by uid.
    pub replica_sets: BTreeMap<String, ReplicaSetView>,
    /// Pods by uid.
    pub pods: BTreeMap<String, PodView>,
    /// The latest Kubernetes events of the namespace, oldest first.
    pub events: VecDeque<EventNote>,
    /// The templates that the Deployment has had, in order; each differs from the one before.
    pub templates: Vec<TemplateSeen>,
}

/// A template of the Deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateSeen {
    /// `metadata.generation` when it was first seen.
    pub generation: i64,
    /// `spec.template`.
    pub template: Value,
}

/// A Kubernetes event in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventNote {
    /// The event object's uid.
    pub uid: String,
    /// Kind of the object that it is about.
    pub about_kind: String,
    /// Name of the object that it is about.
    pub about: String,
    /// `Warning` or `Normal`.
    pub severity: String,
    /// Its reason.
    pub reason: String,
    /// Its message, secrets redacted.
    pub message: String,
    /// How often it happened.
    pub count: i64,
}

/// The workload at the start of a stage: what `old pods` are measured against.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Baseline {
    /// The pods that existed.
    pub(crate) pods: BTreeSet<String>,
    /// The Deployment's generation.
    pub(crate) generation: i64,
    /// The Deployment's template.
    pub(crate) template: Value,
    /// The longest grace of the pods and of the template, seconds.
    pub(crate) longest_grace_seconds: i64,
}

impl ClusterState {
    /// Takes in one watch event.
    pub fn apply(&mut self, kind: ObjectKind, event: WatchType, object: &Value) {
        let gone = event == WatchType::Deleted;
        let uid = text(&object["metadata"], "uid");
        match kind {
            ObjectKind::Deployment if gone => self.deployment = None,
            ObjectKind::Deployment => self.set_deployment(DeploymentView::read(object)),
            ObjectKind::ReplicaSet if gone => {
                self.replica_sets.remove(&uid);
            }
            ObjectKind::ReplicaSet => {
                self.replica_sets.insert(uid, ReplicaSetView::read(object));
            }
            ObjectKind::Pod if gone => {
                self.pods.remove(&uid);
            }
            ObjectKind::Pod => {
                self.pods.insert(uid, PodView::read(object));
            }
            ObjectKind::Event if !gone => self.note(object),
            ObjectKind::Event | ObjectKind::EndpointSlice | ObjectKind::Node => {}
        }
    }

    fn set_deployment(&mut self, deployment: DeploymentView) {
        let last = self.templates.last();
        if last.is_none_or(|seen| seen.template != deployment.template) {
            self.templates.push(TemplateSeen {
                generation: deployment.generation,
                template: deployment.template.clone(),
            });
        }
        self.deployment = Some(deployment);
    }

    fn note(&mut self, object: &Value) {
        let uid = text(&object["metadata"], "uid");
        let about = &object["involvedObject"];
        self.events.retain(|e| e.uid != uid);
        self.events.push_back(EventNote {
            uid,
            about_kind: text(about, "kind"),
            about: text(about, "name"),
            severity: text(object, "type"),
            reason: text(object, "reason"),
            message: redact::line(&text(object, "message")).into_owned(),
            count: object["count"].as_i64().unwrap_or(1),
        });
        if self.events.len() > EVENTS_KEPT {
            self.events.pop_front();
        }
    }

    /// The `pod-template-hash` of the Deployment's current template: that of its ReplicaSet with an equal template, or
    /// else of the one with the Deployment's revision. `None` until the controller has made it.
    pub fn current_hash(&self) -> Option<&str> {
        let deployment = self.deployment.as_ref()?;
        let owned = || {
            let of_it =
                |rs: &&ReplicaSetView| rs.owner.as_ref().is_none_or(|o| *o == deployment.uid);
            self.replica_sets.values().filter(of_it)
        };
        let observed = deployment.observed_generation >= deployment.generation;
        owned()
            .find(|rs| rs.template == deployment.template)
            .or_else(|| {
                let revision = deployment.revision.as_ref().filter(|_| observed)?;
                owned().find(|rs| rs.revision.as_ref() == Some(revision))
            })?
            .template_hash
            .as_deref()
    }

    /// The workload as it is now, for the start of a stage.
    pub(crate) fn baseline(&self) -> Baseline {
        let deployment = self.deployment.as_ref();
        let pods = self.pods.values().map(|p| p.grace_seconds);
        let graces = pods.chain(deployment.map(DeploymentView::grace_seconds));
        Baseline {
            pods: self.pods.keys().cloned().collect(),
            generation: deployment.map_or(0, |d| d.generation),
            template: deployment.map_or(Value::Null, |d| d.template.clone()),
            longest_grace_seconds: graces.max().unwrap_or(0),
        }
    }

    /// The pods that existed at `baseline` and are not gone yet, although they do not belong to the current template
    /// or are terminating.
    pub(crate) fn old_pods(&self, baseline: &Baseline) -> Vec<&PodView> {
        let current = self.current_hash();
        self.pods
            .values()
            .filter(|p| baseline.pods.contains(&p.uid))
            .filter(|p| p.terminating || current.is_none() || p.template_hash.as_deref() != current)
            .collect()
    }

    /// The pods that are not ready and should be.
    pub(crate) fn unready_pods(&self) -> impl Iterator<Item = &PodView> {
        self.pods.values().filter(|p| !p.ready && !p.terminating)
    }

    /// Counts the pods against the template that the workload had at first.
    pub(crate) fn counts(&self, first_template: &Value) -> PodCounts {
        let current = self.current_hash();
        let changed = self
            .deployment
            .as_ref()
            .is_some_and(|d| d.template != *first_template);
        let mut counts = PodCounts::default();
        for pod in self.pods.values() {
            if pod.terminating {
                counts.terminating += 1;
            } else if pod.ended() {
                // Neither serves nor terminates: an evicted pod, for example.
            } else if changed && current.is_some() && pod.template_hash.as_deref() == current {
                counts.new += 1;
            } else {
                counts.old += 1;
            }
        }
        counts
    }
}

#[cfg(test)]
#[path = "cluster_state/tests.rs"]
mod tests;
