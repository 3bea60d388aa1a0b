//! What each rule is about, for readers of a report.

use rollscope_scenarios::RuleId;

use crate::finding::Severity;

/// A rule in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// The rule.
    pub rule: RuleId,
    /// The severity that its findings usually have.
    pub severity: Severity,
    /// What it finds, in a sentence.
    pub finds: &'static str,
}

/// What `rule` is about.
pub const fn about(rule: RuleId) -> About {
    let (severity, finds) = match rule {
        RuleId::ShellFormPid1 => (
            Severity::Error,
            "A shell is PID 1 and keeps the stop signal from the program.",
        ),
        RuleId::PackageManagerPid1 => (
            Severity::Error,
            "npm, yarn or pnpm is PID 1: the stop signal is swallowed, or kills the program at once.",
        ),
        RuleId::DevelopmentMode => (
            Severity::Warning,
            "A development mode or a watcher that leaves the graceful path.",
        ),
        RuleId::TwoSigtermOwners => (
            Severity::Warning,
            "Several libraries each run a shutdown of their own.",
        ),
        RuleId::StopSignal => (
            Severity::Error,
            "The stop signal is one that the program does not handle.",
        ),
        RuleId::NoDelay => (
            Severity::Warning,
            "Neither a preStop hook nor the program waits until routing has followed the deletion.",
        ),
        RuleId::DelayTwice => (
            Severity::Note,
            "preStop and the program both wait, though one is enough.",
        ),
        RuleId::DelayBelowLag => (
            Severity::Warning,
            "preStop and the program wait for less than the endpoint lag with its margin.",
        ),
        RuleId::BudgetDoesNotFit => (
            Severity::Error,
            "preStop, the drain and a margin of 5 s are more than the grace, or the program's own deadline is later than what preStop leaves it.",
        ),
        RuleId::NoGrace => (
            Severity::Error,
            "terminationGracePeriodSeconds is 0: pods are killed at once.",
        ),
        RuleId::PreStopBinary => (
            Severity::Error,
            "The preStop hook runs a program that the image does not have.",
        ),
        RuleId::NoReadinessProbe => (
            Severity::Error,
            "A container that gets requests has no readiness probe.",
        ),
        RuleId::SameProbePath => (
            Severity::Warning,
            "Readiness and liveness ask for the same path.",
        ),
        RuleId::ReadinessTooSlow => (
            Severity::Warning,
            "Readiness turns later than the program stops serving.",
        ),
        RuleId::LivenessKills => (
            Severity::Warning,
            "Liveness ends a container that drains, or before readiness takes it out of rotation.",
        ),
        RuleId::AllUnavailable => (Severity::Error, "A rollout may end all pods at once."),
        RuleId::RolloutCannotMove => (Severity::Error, "maxSurge and maxUnavailable are both 0."),
        RuleId::NoSurge => (
            Severity::Error,
            "One replica without surge, or strategy Recreate: nobody serves during a rollout.",
        ),
        RuleId::PdbBlocks => (
            Severity::Error,
            "A PodDisruptionBudget that lets no pod go.",
        ),
        RuleId::HostPortSurge => (
            Severity::Warning,
            "Surge pods need a port of the node that the old ones hold.",
        ),
        RuleId::PublishNotReady => (
            Severity::Error,
            "A Service sends to pods that are not ready or terminating.",
        ),
        RuleId::KeepAliveBelowBalancer => (
            Severity::Warning,
            "The program closes idle connections before the balancer does.",
        ),
        RuleId::SidecarFirst => (
            Severity::Warning,
            "A proxy beside the application may end before it.",
        ),
        RuleId::ProxyDrainOverGrace => (
            Severity::Error,
            "The proxy's own drain does not fit in the grace.",
        ),
        RuleId::AppBeforeProxy => (
            Severity::Note,
            "The application starts before its proxy can carry anything.",
        ),
    };
    About {
        rule,
        severity,
        finds,
    }
}
