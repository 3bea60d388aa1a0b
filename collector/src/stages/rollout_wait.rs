//! Waiting for a rollout: first until the Deployment says that it is complete, then until the last old pod is gone.

use std::ops::ControlFlow;
use std::time::Duration;

use humantime::format_duration;
use rollscope_records::marks;
use tokio::time::Instant;

use crate::cluster_state::Baseline;
use crate::unready::{describe, describe_unready};
use crate::walk::{Stop, Walk};
use crate::{Cluster, RolloutStatus};

/// Old pods may take their grace and this long on top of it.
const BEYOND_GRACE: Duration = Duration::from_secs(30);

/// Waits until the rollout of at least `generation` is complete and every old pod is gone. `began` is when it was
/// requested, `within` how long it may take until it is complete.
pub(super) async fn wait(
    walk: &mut Walk<'_>,
    cluster: &Cluster,
    baseline: &Baseline,
    generation: i64,
    began: Instant,
    within: Duration,
) -> Result<(), Stop> {
    until_complete(walk, cluster, generation, began + within, within).await?;
    walk.mark(marks::ROLLOUT_COMPLETE);
    let grace = u64::try_from(baseline.longest_grace_seconds).unwrap_or(0);
    let all = within + Duration::from_secs(grace) + BEYOND_GRACE;
    until_old_pods_gone(walk, cluster, baseline, began + all, all).await?;
    walk.mark(marks::OLD_PODS_GONE);
    Ok(())
}

async fn until_complete(
    walk: &mut Walk<'_>,
    cluster: &Cluster,
    generation: i64,
    deadline: Instant,
    within: Duration,
) -> Result<(), Stop> {
    let name = &cluster.scope.deployment;
    let complete = walk.wait_for(deadline, |state| match &state.deployment {
        None => ControlFlow::Break(Err("it was deleted".to_owned())),
        Some(deployment) => match RolloutStatus::of(deployment, generation) {
            RolloutStatus::Complete => ControlFlow::Break(Ok(())),
            RolloutStatus::Failed(why) => ControlFlow::Break(Err(why)),
            RolloutStatus::Waiting(_) => ControlFlow::Continue(()),
        },
    });
    let why = match complete.await? {
        Some(Ok(())) => return Ok(()),
        Some(Err(why)) => format!("the rollout of deployment/{name} failed: {why}"),
        None => {
            let waiting = walk.with_state(|s| match &s.deployment {
                Some(deployment) => match RolloutStatus::of(deployment, generation) {
                    RolloutStatus::Waiting(why) => why,
                    other => format!("{other:?}"),
                },
                None => "the Deployment is not there".to_owned(),
            });
            format!(
                "the rollout of deployment/{name} was not complete within {} (complete_within): {waiting}",
                format_duration(within)
            )
        }
    };
    let pods = walk.with_state(|state| describe_unready(state, &cluster.tail));
    Err(Stop::Failed(format!("{why}{pods}")))
}

async fn until_old_pods_gone(
    walk: &mut Walk<'_>,
    cluster: &Cluster,
    baseline: &Baseline,
    deadline: Instant,
    within: Duration,
) -> Result<(), Stop> {
    let gone = walk.wait_until(deadline, |state| state.old_pods(baseline).is_empty());
    if gone.await? {
        return Ok(());
    }
    let (count, pods) = walk.with_state(|state| {
        let old = state.old_pods(baseline);
        (old.len(), describe(old, state, &cluster.tail))
    });
    Err(Stop::Failed(
        format!(
            "{count} old pods were not gone within {} (complete_within, the longest grace and {} s)",
            format_duration(within),
            BEYOND_GRACE.as_secs(),
        ) + &pods,
    ))
}
