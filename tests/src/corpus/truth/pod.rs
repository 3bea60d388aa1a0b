//! One pod's truth.

use rollscope_records::RunOffset;

use super::Ledger;

/// Why the kubelet stops a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopWhy {
    /// Its pod was deleted.
    Deletion,
    /// A probe asked for a restart.
    Probe,
}

/// One run of the pod's container.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContainerRun {
    /// When its process was started.
    pub(crate) started: RunOffset,
    /// Its pid on the host.
    pub(crate) pid: i32,
    /// When the kubelet began to stop it, and why.
    pub(crate) stopping: Option<(RunOffset, StopWhy)>,
    /// From when to when the preStop hook was waited for.
    pub(crate) pre_stop: Option<(RunOffset, Option<RunOffset>)>,
    /// When the stop signal was sent.
    pub(crate) signal: Option<RunOffset>,
    /// When the kubelet sent SIGKILL.
    pub(crate) sigkill: Option<RunOffset>,
    /// When somebody else killed it.
    pub(crate) killed_by_us: Option<RunOffset>,
    /// When it ended, with which code.
    pub(crate) exited: Option<(RunOffset, i32)>,
    /// What the server in it says.
    pub(crate) ledger: Ledger,
}

/// A pod.
#[derive(Debug, Clone, Default)]
pub(crate) struct PodTruth {
    /// When the kubelet learnt of its deletion, with which grace in seconds.
    pub(crate) deleted: Option<(RunOffset, i64)>,
    /// Whether an eviction deleted it.
    pub(crate) evicted: bool,
    /// When the proxy beside the application ended.
    pub(crate) proxy_ended: Option<RunOffset>,
    /// Its container's runs, in order.
    pub(crate) runs: Vec<ContainerRun>,
}

impl PodTruth {
    /// The last run that had begun at `t`, with its number.
    pub(crate) fn run_at(&self, t: RunOffset) -> Option<(usize, &ContainerRun)> {
        let begun = |(_, r): &(usize, &ContainerRun)| r.started <= t;
        self.runs.iter().enumerate().rfind(begun)
    }
}

impl ContainerRun {
    /// When the server's handler of the stop signal ran.
    pub(crate) fn caught(&self) -> Option<RunOffset> {
        self.ledger.step("signal")
    }

    /// Whether it is stopped for another reason than its pod's deletion.
    pub(crate) fn is_restart(&self) -> bool {
        self.stopping.is_some_and(|(_, why)| why == StopWhy::Probe)
    }

    /// Whether its process had ended by `t`, or was about to by its own word.
    pub(crate) fn is_over(&self, t: RunOffset) -> bool {
        let said = self.ledger.exit.is_some_and(|(e, _)| e <= t);
        said || self.exited.is_some_and(|(e, _)| e <= t)
    }
}
