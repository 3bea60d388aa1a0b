//! Runs the controllers.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::deployment::DeploymentController;
use super::endpoint_slice::EndpointSliceController;
use super::pace::Pace;
use super::replica_set::ReplicaSetController;
use super::scheduler::Scheduler;
use super::{garbage, node};
use crate::{Kind, Store};

/// The longest time between two looks of a controller, changes or not.
const RESYNC: Duration = Duration::from_secs(5);

/// The running controllers; they end when this is dropped.
#[derive(Debug)]
pub(crate) struct Controllers {
    _tasks: JoinSet<()>,
}

impl Controllers {
    /// Registers the node and starts all controllers in the current runtime.
    pub(crate) fn start(store: &Store) -> Self {
        Self::start_at(store, Pace::REAL)
    }

    pub(super) fn start_at(store: &Store, pace: Pace) -> Self {
        let _ = store.create(Kind::Node, node::node());
        let mut tasks = JoinSet::new();
        let mut deployments = DeploymentController::new(store.clone(), pace);
        tasks.spawn(run(store.clone(), move || deployments.sync()));
        let mut sets = ReplicaSetController::new(store.clone(), pace);
        tasks.spawn(run(store.clone(), move || sets.sync()));
        let scheduler = Scheduler::new(store.clone());
        tasks.spawn(run(store.clone(), move || {
            scheduler.sync();
            None
        }));
        let mut slices = EndpointSliceController::new(store.clone());
        tasks.spawn(run(store.clone(), move || {
            slices.sync();
            None
        }));
        let collected = store.clone();
        tasks.spawn(run(store.clone(), move || {
            garbage::collect(&collected);
            None
        }));
        Self { _tasks: tasks }
    }
}

/// Takes a step after every write, and again after the time that the step asked for.
async fn run(store: Store, mut step: impl FnMut() -> Option<Duration>) {
    let mut written = store.subscribe();
    loop {
        written.mark_unchanged();
        let again = step().unwrap_or(RESYNC).min(RESYNC);
        tokio::select! {
            changed = written.changed() => if changed.is_err() { return },
            () = sleep(again) => (),
        }
    }
}
