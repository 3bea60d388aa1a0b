//! `restart`: a rolling restart, as `kubectl rollout restart` does it.

use std::ops::ControlFlow;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use rollscope_records::{ObjectKind, marks};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::rollout_wait;
use crate::error::Purpose;
use crate::resource::{Resource, built};
use crate::walk::{Stop, Walk};
use crate::{ApiFailure, Cluster};

/// The annotation that `kubectl rollout restart` sets.
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// Who we are in `managedFields`.
const FIELD_MANAGER: &str = "rollscope";

pub(super) async fn run(walk: &mut Walk<'_>, within: Duration) -> Result<(), Stop> {
    let Some(cluster) = walk.cluster else {
        return Err(Stop::Environment(
            "a restart needs a cluster; with target none use an exec stage".to_owned(),
        ));
    };
    let name = &cluster.scope.deployment;
    let baseline = walk.with_state(crate::ClusterState::baseline);
    if walk.with_state(|s| s.deployment.as_ref().is_some_and(|d| d.paused)) {
        return Err(Stop::Failed(format!(
            "deployment/{name} is paused, a restart would not roll anything out; run `kubectl rollout resume deployment/{name}` first"
        )));
    }
    let stamp = new_stamp(walk, &baseline.template).await?;
    walk.expect_own_change();
    let began = Instant::now();
    let patched = match patch(walk, cluster, &stamp).await {
        Ok(patched) => patched,
        Err(stop) => {
            walk.own_change_made(None);
            return Err(stop);
        }
    };
    walk.mark(marks::ROLLOUT_REQUESTED);
    walk.own_change_made(Some(patched["spec"]["template"].clone()));
    let generation = patched["metadata"]["generation"].as_i64().unwrap_or(0);
    rollout_wait::wait(walk, cluster, &baseline, generation, began, within).await
}

/// The annotation has a resolution of a second: the same value again would change nothing.
async fn new_stamp(walk: &mut Walk<'_>, template: &Value) -> Result<String, Stop> {
    let last = template["metadata"]["annotations"][RESTARTED_AT].as_str();
    loop {
        let now = Timestamp::now();
        let second = Timestamp::from_second(now.as_second()).unwrap_or(now);
        let stamp = second.to_string();
        if last != Some(stamp.as_str()) {
            return Ok(stamp);
        }
        let soon = Instant::now() + Duration::from_millis(50);
        let never = |_: &crate::ClusterState| ControlFlow::<()>::Continue(());
        walk.wait_for(soon, never).await?;
    }
}

async fn patch(walk: &mut Walk<'_>, cluster: &Cluster, stamp: &str) -> Result<Value, Stop> {
    let change = json!({
        "spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: stamp}}}}
    });
    patched(walk, cluster, change, "restarting the workload").await
}

/// Changes the workload's Deployment; `phase` is what that is for, as the start of a sentence.
pub(super) async fn patched(
    walk: &mut Walk<'_>,
    cluster: &Cluster,
    change: Value,
    phase: &'static str,
) -> Result<Value, Stop> {
    let name = &cluster.scope.deployment;
    let deployments = Resource::new(ObjectKind::Deployment, &cluster.scope.namespace);
    let body = Patch::Strategic(change);
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let request = built(kube::core::Request::new(deployments.path()).patch(name, &params, &body));
    let answer = match request {
        Ok(request) => walk.uncancelled(cluster.api.json(request)).await?,
        Err(failure) => Err(failure),
    };
    answer.map_err(|failure| refused(cluster, phase, failure))
}

fn refused(cluster: &Cluster, phase: &'static str, failure: ApiFailure) -> Stop {
    let purpose = Purpose {
        phase,
        server: cluster.api.name().to_owned(),
        verb: "patch",
        resource: "deployments",
        name: Some(cluster.scope.deployment.clone()),
        namespace: cluster.scope.namespace.clone(),
    };
    Stop::Environment(purpose.failed(failure).to_string())
}
