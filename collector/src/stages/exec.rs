//! `exec`: a command of the user's, and the rollout that it starts.

use std::time::Duration;

use humantime::format_duration;
use rollscope_records::{ObjectKind, marks};
use rollscope_scenarios::ExecCommand;
use tokio::time::Instant;

use super::process::{Exit, Process};
use super::rollout_wait;
use crate::cluster_state::Baseline;
use crate::resource::Resource;
use crate::walk::{Stop, Waited, Walk};
use crate::{Cluster, ClusterState};

/// How long the watch may take to show what a fresh read shows.
const CATCH_UP: Duration = Duration::from_secs(10);

pub(super) async fn run(
    walk: &mut Walk<'_>,
    command: &ExecCommand,
    within: Duration,
) -> Result<(), Stop> {
    let baseline = walk.with_state(ClusterState::baseline);
    let began = Instant::now();
    walk.expect_own_change();
    let mut requested = None;
    let ran = command_run(walk, command, within, &baseline, &mut requested).await;
    let rolled = match (ran, walk.cluster) {
        (Ok(()), Some(cluster)) => {
            follow_up(walk, cluster, &baseline, requested, began, within).await
        }
        (ran, _) => ran,
    };
    walk.own_changes_over();
    rolled
}

/// Runs the command to its end. A change of the template meanwhile is marked when it is seen.
async fn command_run(
    walk: &mut Walk<'_>,
    command: &ExecCommand,
    within: Duration,
    baseline: &Baseline,
    requested: &mut Option<Instant>,
) -> Result<(), Stop> {
    let words = in_words(command);
    let deadline = Instant::now() + within;
    let mut process = Process::start(command, walk.stage, walk.clock, walk.recorder)
        .map_err(|e| Stop::Environment(format!("the command {words} could not be started: {e}; check that it exists and may be executed")))?;
    let ended = loop {
        tokio::select! {
            exit = process.exit() => break judged(exit, &words),
            waited = walk.wait(Some(deadline)) => match waited {
                Ok(Waited::StateChanged) => mark_request(walk, baseline, requested),
                Ok(Waited::TimeOver) => {
                    process.kill().await;
                    break Err(Stop::Failed(format!(
                        "the command {words} did not end within {} (complete_within) and was killed",
                        format_duration(within)
                    )));
                }
                Err(stop) => {
                    process.kill().await;
                    break Err(stop);
                }
            }
        }
    };
    process.hand_over(&mut walk.readers).await;
    mark_request(walk, baseline, requested);
    ended.map_err(|stop| match stop {
        Stop::Failed(why) => Stop::Failed(why + &process.last_lines()),
        other => other,
    })
}

fn judged(exit: Exit, words: &str) -> Result<(), Stop> {
    match exit {
        Exit::Code(0) => Ok(()),
        Exit::Code(code) => Err(Stop::Failed(format!(
            "the command {words} ended with code {code}"
        ))),
        Exit::Signal(signal) => Err(Stop::Failed(format!(
            "the command {words} was ended by signal {signal}"
        ))),
        Exit::Unknown(why) => Err(Stop::Environment(format!(
            "how the command {words} ended is not known: {why}"
        ))),
    }
}

fn mark_request(walk: &Walk<'_>, baseline: &Baseline, requested: &mut Option<Instant>) {
    let changed = walk.with_state(|s| {
        let deployment = s.deployment.as_ref();
        deployment.is_some_and(|d| d.template != baseline.template)
    });
    if changed && requested.is_none() {
        *requested = Some(Instant::now());
        walk.mark(marks::ROLLOUT_REQUESTED);
    }
}

/// If the command changed the workload, waits for its rollout.
async fn follow_up(
    walk: &mut Walk<'_>,
    cluster: &Cluster,
    baseline: &Baseline,
    mut requested: Option<Instant>,
    began: Instant,
    within: Duration,
) -> Result<(), Stop> {
    let generation = current_generation(walk, cluster).await?;
    if generation <= baseline.generation {
        return Ok(());
    }
    catch_up(walk, generation).await?;
    mark_request(walk, baseline, &mut requested);
    rollout_wait::wait(walk, cluster, baseline, generation, began, within).await
}

/// The Deployment's generation, read afresh: the watch may be a moment behind.
async fn current_generation(walk: &mut Walk<'_>, cluster: &Cluster) -> Result<i64, Stop> {
    let scope = &cluster.scope;
    let deployments = Resource::new(ObjectKind::Deployment, &scope.namespace);
    let got = match deployments.get(&scope.deployment) {
        Ok(request) => walk.uncancelled(cluster.api.json(request)).await?,
        Err(failure) => Err(failure),
    };
    match got {
        Ok(deployment) => Ok(deployment["metadata"]["generation"].as_i64().unwrap_or(0)),
        Err(failure) => Err(Stop::Environment(format!(
            "after the command: deployment/{} could not be read from {}: {failure}",
            scope.deployment,
            cluster.api.name()
        ))),
    }
}

async fn catch_up(walk: &mut Walk<'_>, generation: i64) -> Result<(), Stop> {
    let deadline = Instant::now() + CATCH_UP;
    let seen = walk.wait_until(deadline, |state| {
        let seen = state.deployment.as_ref().map(|d| d.generation);
        seen.is_some_and(|seen| seen >= generation)
    });
    seen.await.map(|_| ())
}

fn in_words(command: &ExecCommand) -> String {
    match command {
        ExecCommand::Shell(script) => format!("`{script}`"),
        ExecCommand::Argv(words) => format!("`{}`", words.join(" ")),
    }
}
