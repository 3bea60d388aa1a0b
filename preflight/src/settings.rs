//! What the check is told beside the files.

use std::time::Duration;

use rollscope_scenarios::{PreflightSpec, RuleId, Scenario, Target};

/// What manifests do not say: from the scenario and the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Rules whose findings are accepted.
    pub allow: Vec<RuleId>,
    /// How long routing takes to follow a deletion.
    pub lag: Option<Duration>,
    /// How long the program keeps serving after the stop signal.
    pub delay: Option<Duration>,
    /// How long requests in flight take once the program stops accepting.
    pub drain: Option<Duration>,
    /// How long a balancer keeps an idle connection to the program.
    pub balancer_idle: Option<Duration>,
}

impl Settings {
    /// What a scenario says: its `preflight`, and the lag of its sandbox.
    pub fn of(scenario: &Scenario) -> Self {
        let PreflightSpec {
            allow,
            lag,
            delay,
            drain,
            balancer_idle,
        } = scenario.preflight.clone();
        let sandbox = match &scenario.target {
            Target::Sandbox(sandbox) => Some(sandbox.endpoint_lag.max),
            Target::Kubernetes(_) | Target::None => None,
        };
        Self {
            allow,
            lag: lag.or(sandbox),
            delay,
            drain,
            balancer_idle,
        }
    }

    /// These settings where `over` says nothing else; what either accepts is accepted.
    #[must_use]
    pub fn overridden_by(mut self, over: Self) -> Self {
        self.allow.extend(over.allow);
        Self {
            allow: self.allow,
            lag: over.lag.or(self.lag),
            delay: over.delay.or(self.delay),
            drain: over.drain.or(self.drain),
            balancer_idle: over.balancer_idle.or(self.balancer_idle),
        }
    }
}

/// A duration in ns.
pub(crate) fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
