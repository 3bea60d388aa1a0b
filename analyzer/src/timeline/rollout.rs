//! Which template replaced which, and when the change began.

use rollscope_records::{ObjectKind, RunOffset, StageEvent, StageRecord, marks};
use serde_json::Value;

use super::Pod;
use crate::ordered::Ordered;
use crate::view::{at, str_at};

/// What was rolled out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rollout {
    /// When the change began; `None` when nothing changed.
    pub(crate) start: Option<RunOffset>,
    /// The `pod-template-hash` of the newest template.
    pub(crate) new_hash: Option<String>,
    /// More than one template was seen.
    pub(crate) several_templates: bool,
}

/// Stages in which nothing is changed.
fn is_quiet(kind: &str) -> bool {
    matches!(kind, "warmup" | "settle")
}

/// Finds the rollout.
pub(crate) fn rollout(ordered: &Ordered<'_>, pods: &[Pod]) -> Rollout {
    let new_hash = newest_template(ordered).or_else(|| {
        pods.iter()
            .max_by_key(|p| p.first_seen)
            .map(|p| p.template_hash.clone())
    });
    let several_templates = pods
        .iter()
        .any(|p| Some(&p.template_hash) != new_hash.as_ref());
    let first_deletion = pods
        .iter()
        .filter_map(|p| p.deletion.as_ref())
        .map(|d| d.requested.lo)
        .min();
    let first_new = pods
        .iter()
        .filter(|p| !p.listed && several_templates && Some(&p.template_hash) == new_hash.as_ref())
        .map(|p| p.first_seen)
        .min();
    let seen = first_deletion.into_iter().chain(first_new).min();
    let start = stage_start(&ordered.stages).into_iter().chain(seen).min();
    Rollout {
        start,
        new_hash,
        several_templates,
    }
}

fn stage_start(stages: &[&StageRecord]) -> Option<RunOffset> {
    stages
        .iter()
        .filter(|s| {
            (s.event == StageEvent::Started && !is_quiet(&s.kind))
                || (s.event == StageEvent::Mark && s.detail == marks::ROLLOUT_REQUESTED)
        })
        .map(|s| s.at)
        .min()
}

/// The hash of the ReplicaSet with the highest revision that wants or has pods.
fn newest_template(ordered: &Ordered<'_>) -> Option<String> {
    ordered
        .watch
        .iter()
        .filter(|s| s.kind == ObjectKind::ReplicaSet)
        .filter_map(|s| {
            let revision = revision(s.object)?;
            let hash = str_at(s.object, &["metadata", "labels", "pod-template-hash"])?;
            Some((revision, hash.to_owned()))
        })
        .max()
        .map(|(_, hash)| hash)
}

fn revision(replica_set: &Value) -> Option<u64> {
    at(replica_set, &["metadata", "annotations"])?
        .get("deployment.kubernetes.io/revision")?
        .as_str()?
        .parse()
        .ok()
}
