//! What the rollout runs on, opened and ready.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rollscope_collector::{
    ApiServer, CollectorError, Scope, WorkloadName, connect, connect_context, context_name,
    read_workload,
};
use rollscope_loadgen::{Dialer, Direct};
use rollscope_records::TargetFacts;
use rollscope_sandbox::{GivenWorkload, Sandbox, SandboxConfig, SandboxError, TruthLog};
use rollscope_scenarios::{FrontEnd, KubernetesTarget, Ready, Scenario, Target as TargetSpec};
use tokio::time::Instant;

use super::dialer::{ThroughFrontEnd, WhileRouted};
use super::trial;
use crate::exit::Failure;
use crate::terminal;

/// How often a program's log is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The longest that the sandbox's pods may take to get ready before the run begins: as long as their rollout may.
fn ready_within(scenario: &Scenario) -> Duration {
    let rollouts = scenario.stages.iter().filter(|s| !s.kind.is_wait());
    rollouts
        .map(|s| s.complete_within)
        .max()
        .unwrap_or(Duration::from_secs(60))
}

/// One program that the sandbox runs, and what is known of it beside the scenario.
pub(crate) struct OneProgram {
    /// What to run.
    pub(crate) workload: GivenWorkload,
    /// How long it may take to get ready.
    pub(crate) ready_within: Duration,
    /// A line of its log that says that it is ready.
    pub(crate) ready_line: Option<Ready>,
    /// Whether each request is tried once before the load begins.
    pub(crate) tried: bool,
    /// Whether the load begins only when it has been sent its signal.
    pub(crate) after_signal: bool,
}

/// How the user names the cluster of `target: kubernetes`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClusterChoice {
    /// The kubeconfig; by default as kubectl finds it.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Its context; by default the current one.
    pub(crate) context: Option<String>,
    /// The namespace instead of the scenario's.
    pub(crate) namespace: Option<String>,
}

/// An open target.
pub(crate) struct Target {
    /// The sandbox, if that is the target.
    pub(crate) sandbox: Option<Sandbox>,
    /// The cluster to observe, if there is one.
    pub(crate) cluster: Option<OpenCluster>,
    /// Scheme, host and port for the load.
    pub(crate) base_url: String,
    /// The way to it.
    pub(crate) dialer: Arc<dyn Dialer>,
    /// What the recording says of it.
    pub(crate) facts: TargetFacts,
}

/// A cluster that can be observed.
#[derive(Clone)]
pub(crate) struct OpenCluster {
    /// Its API server.
    pub(crate) api: ApiServer,
    /// What to observe.
    pub(crate) scope: Scope,
}

impl Target {
    /// Opens the scenario's target: starts the sandbox and waits until its pods are ready.
    pub(crate) async fn open(
        scenario: &Scenario,
        truth: TruthLog,
        program: Option<OneProgram>,
        choice: &ClusterChoice,
    ) -> Result<Self, Failure> {
        match &scenario.target {
            TargetSpec::None => Ok(Self {
                sandbox: None,
                cluster: None,
                base_url: scenario.load.base_url.clone().unwrap_or_default(),
                dialer: Arc::new(Direct),
                facts: TargetFacts::of("none"),
            }),
            TargetSpec::Kubernetes(target) => {
                let base_url = scenario.load.base_url.clone().unwrap_or_default();
                Self::of_kubernetes(target, base_url, choice).await
            }
            TargetSpec::Sandbox(sandbox) => {
                let executable = std::env::current_exe().map_err(Failure::environment)?;
                let mut config = SandboxConfig::new(sandbox.clone(), executable);
                config.truth = truth;
                config.given = program.as_ref().map(|p| p.workload.clone());
                let running = Sandbox::start(config).await.map_err(failure)?;
                let ready = match &program {
                    Some(program) => one_ready(&running, program, scenario).await,
                    None => all_ready(&running, scenario).await,
                };
                match ready {
                    Ok(()) => Self::of_sandbox(running, sandbox.front_end),
                    Err(failure) => {
                        running.stop().await;
                        Err(failure)
                    }
                }
            }
        }
    }

    /// A workload of a cluster, in a context that the scenario allows. Nothing is sent to any other; to this one, reads.
    async fn of_kubernetes(
        target: &KubernetesTarget,
        base_url: String,
        choice: &ClusterChoice,
    ) -> Result<Self, Failure> {
        let file = choice.kubeconfig.as_deref();
        let context = context_name(file, choice.context.as_deref()).map_err(Failure::usage)?;
        if !target.allow_contexts.contains(&context) {
            return Err(Failure::usage(format!(
                "the context is {context:?}, and the scenario allows {}: nothing was sent; choose one with --context, or \
                 add it to target.kubernetes.allow_contexts",
                target.allow_contexts.join(", ")
            )));
        }
        let connected = connect_context(file, Some(&context)).await;
        let (api, _) = connected.map_err(Failure::usage)?;
        let deployment = target.workload.strip_prefix("deployment/");
        let deployment = deployment.unwrap_or(&target.workload).to_owned();
        let named = WorkloadName::read(&target.workload).ok_or_else(|| {
            Failure::usage(format!("{}: expected deployment/NAME", target.workload))
        })?;
        let namespace = choice.namespace.as_ref().unwrap_or(&target.namespace);
        let read = read_workload(&api, namespace, &named).await;
        read.map_err(|error: CollectorError| Failure::environment(error))?;
        let facts = TargetFacts {
            namespace: Some(namespace.clone()),
            workload: Some(target.workload.clone()),
            services: target.services.clone(),
            ..TargetFacts::of("kubernetes")
        };
        let scope = Scope {
            namespace: namespace.clone(),
            deployment,
            services: target.services.clone(),
        };
        Ok(Self {
            sandbox: None,
            cluster: Some(OpenCluster { api, scope }),
            base_url,
            dialer: Arc::new(Direct),
            facts,
        })
    }

    fn of_sandbox(sandbox: Sandbox, kind: FrontEnd) -> Result<Self, Failure> {
        let front_end = sandbox.front_end();
        let address = match kind {
            FrontEnd::Direct => front_end.routed().first().copied(),
            _ => None,
        };
        let base_url = format!("http://{}", address.unwrap_or(front_end.address()));
        let dialer: Arc<dyn Dialer> = match kind {
            FrontEnd::L4 => Arc::new(ThroughFrontEnd(front_end)),
            FrontEnd::Direct => Arc::new(WhileRouted(front_end)),
            FrontEnd::Http | FrontEnd::Nginx | FrontEnd::Haproxy | FrontEnd::HealthChecked => {
                Arc::new(Direct)
            }
        };
        let facts = TargetFacts {
            namespace: Some(sandbox.namespace().to_owned()),
            workload: Some(sandbox.workload().to_owned()),
            services: sandbox.services().to_vec(),
            front_end: Some(kind.as_str().to_owned()),
            kubelet_version: Some(sandbox.kubelet_version().to_owned()),
            ..TargetFacts::of("sandbox")
        };
        let deployment = sandbox.workload();
        let deployment = deployment.strip_prefix("deployment/").unwrap_or(deployment);
        let scope = Scope {
            namespace: sandbox.namespace().to_owned(),
            deployment: deployment.to_owned(),
            services: sandbox.services().to_vec(),
        };
        let api = connect(sandbox.api_url()).map_err(Failure::environment)?;
        Ok(Self {
            sandbox: Some(sandbox),
            cluster: Some(OpenCluster { api, scope }),
            base_url,
            dialer,
            facts,
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

/// Waits for a rollout's workload.
async fn all_ready(sandbox: &Sandbox, scenario: &Scenario) -> Result<(), Failure> {
    terminal::note(&format!(
        "sandbox: {} is starting; to look at it: kubectl --server {} --namespace {} get pods",
        sandbox.workload(),
        sandbox.api_url(),
        sandbox.namespace()
    ));
    let within = ready_within(scenario);
    sandbox.wait_available(within).await.map_err(failure)
}

/// Waits for the one program, and tries each of its requests.
async fn one_ready(
    sandbox: &Sandbox,
    program: &OneProgram,
    scenario: &Scenario,
) -> Result<(), Failure> {
    let until = Instant::now() + program.ready_within;
    let available = sandbox.wait_available(program.ready_within).await;
    available.map_err(failure)?;
    if let Some(Ready::Log(line)) = &program.ready_line {
        while !sandbox.log_lines().iter().any(|l| line.is_match(l)) {
            if Instant::now() > until {
                return Err(Failure::environment(format!(
                    "{} wrote no line that matches `{line}` within {:?} (--ready)",
                    sandbox.workload(),
                    program.ready_within
                )));
            }
            sandbox.check_alive().map_err(failure)?;
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
    let address = sandbox.front_end().routed().first().copied();
    match address.filter(|_| program.tried) {
        Some(address) => trial::all(address, &scenario.load.requests).await,
        None => Ok(()),
    }
}

/// A manifest that can't be used is the user's to mend; everything else is the environment's.
fn failure(error: SandboxError) -> Failure {
    match error {
        SandboxError::Manifest(_) => Failure::usage(error),
        _ => Failure::environment(error),
    }
}
