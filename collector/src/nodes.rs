//! The nodes that the workload's pods run on: their kubelet's version, where we may read it.

use std::collections::BTreeSet;

use rollscope_records::{ObjectKind, RecordingWriter, RunClock, WatchRecord, WatchType, redact};
use serde_json::Value;
use tokio::sync::watch;

use crate::resource::Resource;
use crate::warnings::Warnings;
use crate::{ApiFailure, ApiServer, ClusterState};

/// Records each node once, when the first pod is seen on it. Stops at the first refusal: nodes are nice to have, and a
/// namespaced Role does not give them.
pub(crate) async fn keep_recording(
    api: ApiServer,
    clock: RunClock,
    recorder: RecordingWriter,
    warnings: Warnings,
    mut state: watch::Receiver<ClusterState>,
    mut stop: watch::Receiver<bool>,
) {
    let mut recorded: BTreeSet<String> = BTreeSet::new();
    loop {
        let used: BTreeSet<String> = {
            let state = state.borrow_and_update();
            state.pods.values().filter_map(|p| p.node.clone()).collect()
        };
        let new: Vec<String> = used.difference(&recorded).cloned().collect();
        for name in new {
            match get(&api, &name).await {
                Ok(object) => recorder.watch(WatchRecord::Event {
                    at: clock.now(),
                    kind: ObjectKind::Node,
                    event: WatchType::Added,
                    object,
                }),
                Err(failure) => {
                    warnings.add(format!(
                        "node {name} could not be read ({failure}): the kubelet's version is not known"
                    ));
                    if failure.code() == Some(403) {
                        return;
                    }
                }
            }
            recorded.insert(name);
        }
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            changed = state.changed() => if changed.is_err() { return },
        }
    }
}

async fn get(api: &ApiServer, name: &str) -> Result<Value, ApiFailure> {
    let nodes = Resource::new(ObjectKind::Node, "");
    let mut object = api.json(nodes.get(name)?).await?;
    redact::object(&mut object);
    Ok(object)
}
