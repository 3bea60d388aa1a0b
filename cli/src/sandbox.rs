//! `rollscope sandbox`: a sandbox that stays, for kubectl and for scenarios with `target: kubernetes`.

use std::path::Path;
use std::time::Duration;

use rollscope_sandbox::manifest::Manifest;
use rollscope_sandbox::{Sandbox, SandboxConfig, SandboxError};
use rollscope_scenarios::{DurationRange, FrontEnd, HealthCheck, SandboxTarget};

use crate::args::{SandboxArgs, SandboxFrontEnd};
use crate::exit::{Exit, Failure};
use crate::run::{Interrupt, runtime};
use crate::terminal;

/// How long its pods may take to be available.
const AVAILABLE_WITHIN: Duration = Duration::from_secs(120);

/// The context in the kubeconfig that it writes.
const CONTEXT: &str = "sandbox";

/// Keeps the manifest's workload running until it is interrupted.
pub(crate) fn sandbox(args: &SandboxArgs) -> Result<Exit, Failure> {
    Manifest::read(&args.manifest).map_err(Failure::usage)?;
    runtime()?.block_on(async {
        let interrupt = Interrupt::listen().map_err(Failure::environment)?;
        let mut stopped = interrupt.stopped().clone();
        let executable = std::env::current_exe().map_err(Failure::environment)?;
        let sandbox = Sandbox::start(SandboxConfig::new(target(args), executable)).await;
        let sandbox = sandbox.map_err(failure)?;
        let kept = tokio::select! {
            kept = keep(&sandbox, args) => kept,
            _ = stopped.wait_for(|stop| *stop) => Ok(()),
        };
        sandbox.stop().await;
        kept.map(|()| Exit::Passed)
    })
}

/// Tells how it is reached once it is available; then it stays.
async fn keep(sandbox: &Sandbox, args: &SandboxArgs) -> Result<(), Failure> {
    sandbox
        .wait_available(AVAILABLE_WITHIN)
        .await
        .map_err(failure)?;
    let namespace = sandbox.namespace();
    let mut told = format!(
        "sandbox     {} in namespace {namespace} is available\n",
        sandbox.workload()
    );
    match &args.kubeconfig {
        Some(file) => {
            write_kubeconfig(file, sandbox)?;
            told += &format!("kubeconfig  {} (context {CONTEXT})\n", file.display());
        }
        None => told += &format!("api         {}\n", sandbox.api_url()),
    }
    told += &format!("service     http://{}\n", sandbox.front_end().address());
    terminal::result(&told);
    std::future::pending().await
}

fn write_kubeconfig(file: &Path, sandbox: &Sandbox) -> Result<(), Failure> {
    let (url, namespace) = (sandbox.api_url(), sandbox.namespace());
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {CONTEXT}\n\
         clusters:\n  - name: {CONTEXT}\n    cluster: {{ server: \"{url}\" }}\n\
         users:\n  - name: {CONTEXT}\n    user: {{}}\n\
         contexts:\n  - name: {CONTEXT}\n    context: {{ cluster: {CONTEXT}, user: {CONTEXT}, namespace: \"{namespace}\" }}\n"
    );
    std::fs::write(file, text)
        .map_err(|e| Failure::environment(format!("cannot write {}: {e}", file.display())))
}

fn target(args: &SandboxArgs) -> SandboxTarget {
    SandboxTarget {
        manifest: args.manifest.clone(),
        front_end: match args.front_end {
            SandboxFrontEnd::L4 => FrontEnd::L4,
            SandboxFrontEnd::Http => FrontEnd::Http,
        },
        endpoint_lag: DurationRange {
            min: Duration::from_millis(500),
            max: Duration::from_secs(2),
        },
        seed: args.seed,
        retries: 0,
        health_check: HealthCheck {
            period: Duration::from_secs(1),
            unhealthy_after: 2,
            healthy_after: 2,
        },
    }
}

/// A manifest that can't be used is the user's to mend; everything else is the environment's.
fn failure(error: SandboxError) -> Failure {
    match error {
        SandboxError::Manifest(_) => Failure::usage(error),
        _ => Failure::environment(error),
    }
}
