//! `signal`: the workload's pods are deleted and not replaced, as when it is scaled to zero.

use std::time::Duration;

use humantime::format_duration;
use rollscope_records::marks;
use serde_json::json;
use tokio::time::Instant;

use super::restart;
use crate::cluster_state::Baseline;
use crate::unready::describe;
use crate::walk::{Stop, Walk};
use crate::{Cluster, ClusterState, PodView};

pub(super) async fn run(walk: &mut Walk<'_>, within: Duration) -> Result<(), Stop> {
    let Some(cluster) = walk.cluster else {
        return Err(Stop::Environment(
            "a signal stage needs a program that the sandbox runs".to_owned(),
        ));
    };
    let baseline = walk.with_state(ClusterState::baseline);
    let deadline = Instant::now() + within;
    let change = json!({"spec": {"replicas": 0}});
    restart::patched(walk, cluster, change, "stopping the program").await?;
    walk.mark(marks::ROLLOUT_REQUESTED);
    until_gone(walk, cluster, &baseline, deadline, within).await?;
    walk.mark(marks::OLD_PODS_GONE);
    Ok(())
}

async fn until_gone(
    walk: &mut Walk<'_>,
    cluster: &Cluster,
    baseline: &Baseline,
    deadline: Instant,
    within: Duration,
) -> Result<(), Stop> {
    let gone = walk.wait_until(deadline, |state| left(state, baseline).next().is_none());
    if gone.await? {
        return Ok(());
    }
    let pods = walk.with_state(|s| describe(left(s, baseline).collect(), s, &cluster.tail));
    Err(Stop::Failed(format!(
        "the program was not gone within {}: not even SIGKILL ended it{pods}",
        format_duration(within)
    )))
}

/// The pods of the baseline that are there.
fn left<'s>(state: &'s ClusterState, baseline: &'s Baseline) -> impl Iterator<Item = &'s PodView> {
    let of_it = |p: &&PodView| baseline.pods.contains(&p.uid);
    state.pods.values().filter(of_it)
}
