//! What happened to the cluster: pod lifetimes, endpoint membership, the rollout, the shutdown lines of the logs.

mod build;
mod deletion;
mod end;
mod endpoints;
mod logs;
mod pod;
mod rollout;
mod stages;
mod step;

pub(crate) use build::{settle, timeline};
pub(crate) use deletion::{Deletion, Sighting};
pub(crate) use end::ContainerEnd;
pub(crate) use endpoints::{EndpointSpan, ReadyCount};
pub(crate) use logs::{LogBook, LogLine, PodLog, Voice};
pub(crate) use pod::{Disruption, Pod, PodIx, SentSignal};
pub(crate) use rollout::Rollout;
pub(crate) use stages::stage_reports;
pub(crate) use step::{Step, StepLine};

use std::collections::{BTreeMap, BTreeSet};

use rollscope_records::RunOffset;

/// Everything that is known of the cluster.
#[derive(Clone)]
pub(crate) struct Timeline {
    /// In order of creation.
    pub(crate) pods: Vec<Pod>,
    /// The latest pod of each name.
    pub(crate) by_name: BTreeMap<String, PodIx>,
    /// Number of ready endpoints over time; empty when no slice was seen.
    pub(crate) ready: Vec<ReadyCount>,
    /// The ports that the traffic goes to.
    pub(crate) traffic_ports: BTreeSet<i64>,
    /// What was rolled out, and when.
    pub(crate) rollout: Rollout,
    /// When each node was first seen cordoned (`spec.unschedulable`).
    pub(crate) cordoned: BTreeMap<String, RunOffset>,
    /// The condition Ready was seen `False` at least once: readiness is recorded at all.
    pub(crate) readiness_recorded: bool,
    /// When the observation ended.
    pub(crate) until: Option<RunOffset>,
    /// Any Event was seen.
    pub(crate) events_recorded: bool,
}

impl Timeline {
    pub(crate) fn pod(&self, ix: PodIx) -> &Pod {
        &self.pods[ix.0]
    }

    pub(crate) fn indices(&self) -> impl Iterator<Item = PodIx> + use<> {
        (0..self.pods.len()).map(PodIx)
    }

    /// Pods whose deletion was seen.
    pub(crate) fn terminating(&self) -> impl Iterator<Item = (PodIx, &Pod, &Deletion)> {
        self.pods
            .iter()
            .enumerate()
            .filter_map(|(i, p)| Some((PodIx(i), p, p.deletion.as_ref()?)))
    }

    /// The fewest ready endpoints between `from` and `to`; `None` when no slice was seen.
    pub(crate) fn fewest_ready(&self, from: RunOffset, to: RunOffset) -> Option<usize> {
        let before = self.ready.iter().rev().find(|r| r.at <= from);
        let within = self.ready.iter().filter(|r| from < r.at && r.at <= to);
        before.into_iter().chain(within).map(|r| r.ready).min()
    }

    pub(crate) fn names(&self, pods: &[PodIx]) -> Vec<String> {
        pods.iter().map(|p| self.pod(*p).name.clone()).collect()
    }
}
