//! The truth of a run, from witnesses that the analyzer never sees: the sandbox's own log and the subjects' ledgers.

mod ledger;
mod pod;
mod read;
mod sandbox;

pub(crate) use ledger::Ledger;
pub(crate) use pod::{ContainerRun, PodTruth, StopWhy};
pub(crate) use read::{Truth, alive, ready, rollout_began, serving, wall_nanos};
pub(crate) use sandbox::{Dialled, Proxied};
