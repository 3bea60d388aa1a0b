//! What the rollout runs on, opened and ready.

use std::sync::Arc;
use std::time::Duration;

use rollscope_collector::Scope;
use rollscope_loadgen::{Dialer, Direct};
use rollscope_records::TargetFacts;
use rollscope_sandbox::{Sandbox, SandboxConfig, SandboxError, TruthLog};
use rollscope_scenarios::{FrontEnd, Scenario, Target as TargetSpec};

use super::dialer::ThroughFrontEnd;
use crate::exit::Failure;
use crate::terminal;

/// The longest that the sandbox's pods may take to get ready before the run begins: as long as their rollout may.
fn ready_within(scenario: &Scenario) -> Duration {
    let rollouts = scenario.stages.iter().filter(|s| !s.kind.is_wait());
    rollouts
        .map(|s| s.complete_within)
        .max()
        .unwrap_or(Duration::from_secs(60))
}

/// An open target.
pub(crate) struct Target {
    /// The sandbox, if that is the target.
    pub(crate) sandbox: Option<Sandbox>,
    /// Scheme, host and port for the load.
    pub(crate) base_url: String,
    /// The way to it.
    pub(crate) dialer: Arc<dyn Dialer>,
    /// What the recording says of it.
    pub(crate) facts: TargetFacts,
}

/// A cluster that can be observed.
pub(crate) struct ClusterAddress {
    /// The API server's URL.
    pub(crate) url: String,
    /// What to observe.
    pub(crate) scope: Scope,
}

impl Target {
    /// Opens the scenario's target: starts the sandbox and waits until its pods are ready.
    pub(crate) async fn open(scenario: &Scenario, truth: TruthLog) -> Result<Self, Failure> {
        match &scenario.target {
            TargetSpec::None => Ok(Self {
                sandbox: None,
                base_url: scenario.load.base_url.clone().unwrap_or_default(),
                dialer: Arc::new(Direct),
                facts: TargetFacts::of("none"),
            }),
            TargetSpec::Kubernetes(_) => Err(Failure::environment(
                "target kubernetes is not supported yet: nothing was sent; use target sandbox, or target none with an \
                 exec stage that deploys",
            )),
            TargetSpec::Sandbox(sandbox) => {
                let program = std::env::current_exe().map_err(Failure::environment)?;
                let mut config = SandboxConfig::new(sandbox.clone(), program);
                config.truth = truth;
                let sandbox_running = Sandbox::start(config).await.map_err(failure)?;
                terminal::note(&format!(
                    "sandbox: {} is starting; to look at it: kubectl --server {} --namespace {} get pods",
                    sandbox_running.workload(),
                    sandbox_running.api_url(),
                    sandbox_running.namespace()
                ));
                if let Err(error) = sandbox_running.wait_available(ready_within(scenario)).await {
                    sandbox_running.stop().await;
                    return Err(failure(error));
                }
                Ok(Self::of_sandbox(sandbox_running, sandbox.front_end))
            }
        }
    }

    fn of_sandbox(sandbox: Sandbox, kind: FrontEnd) -> Self {
        let front_end = sandbox.front_end();
        let base_url = format!("http://{}", front_end.address());
        let dialer: Arc<dyn Dialer> = match kind {
            FrontEnd::L4 => Arc::new(ThroughFrontEnd(front_end)),
            FrontEnd::Http => Arc::new(Direct),
        };
        let facts = TargetFacts {
            namespace: Some(sandbox.namespace().to_owned()),
            workload: Some(sandbox.workload().to_owned()),
            services: sandbox.services().to_vec(),
            front_end: Some(kind.as_str().to_owned()),
            kubelet_version: Some(sandbox.kubelet_version().to_owned()),
            ..TargetFacts::of("sandbox")
        };
        Self {
            sandbox: Some(sandbox),
            base_url,
            dialer,
            facts,
        }
    }

    /// The cluster to observe, if there is one.
    pub(crate) fn cluster(&self) -> Option<ClusterAddress> {
        let sandbox = self.sandbox.as_ref()?;
        let deployment = sandbox.workload();
        let deployment = deployment.strip_prefix("deployment/").unwrap_or(deployment);
        Some(ClusterAddress {
            url: sandbox.api_url().to_owned(),
            scope: Scope {
                namespace: sandbox.namespace().to_owned(),
                deployment: deployment.to_owned(),
                services: sandbox.services().to_vec(),
            },
        })
    }

    /// What could not be set up as it should have been, in words.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.sandbox
            .as_ref()
            .map(Sandbox::warnings)
            .unwrap_or_default()
    }
}

/// A manifest that can't be used is the user's to mend; everything else is the environment's.
fn failure(error: SandboxError) -> Failure {
    match error {
        SandboxError::Manifest(_) => Failure::usage(error),
        _ => Failure::environment(error),
    }
}
