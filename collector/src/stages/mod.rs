//! What each kind of stage does.

mod exec;
mod hold;
mod process;
mod restart;
mod rollout_wait;
mod signal;

use rollscope_scenarios::{Stage, StageKind};

use crate::walk::{Stop, Walk};

/// Walks one stage.
pub(crate) async fn run(walk: &mut Walk<'_>, stage: &Stage) -> Result<(), Stop> {
    match &stage.kind {
        StageKind::Warmup(length) | StageKind::Settle(length) => hold::run(walk, *length).await,
        StageKind::Restart => restart::run(walk, stage.complete_within).await,
        StageKind::Exec(command) => exec::run(walk, command, stage.complete_within).await,
        StageKind::Signal => signal::run(walk, stage.complete_within).await,
    }
}
