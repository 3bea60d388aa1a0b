//! One attempt of a probe.

use k8s_openapi::api::core::v1::{Container, Probe};
use tokio::time::{Duration, timeout};

use super::environment::exec_command;
use super::http_get::{connect, get, port};
use super::pod::Pod;
use crate::process::{Exit, ProcessHandle};

/// What an attempt told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    Success,
    Failure(String),
    /// The probe itself could not be carried out: says nothing about the container.
    Error(String),
}

/// Makes one attempt within the probe's timeout.
pub(super) async fn attempt(
    pod: &Pod,
    container: &Container,
    process: &ProcessHandle,
    probe: &Probe,
) -> Attempt {
    let seconds = probe.timeout_seconds.unwrap_or(1).max(1);
    let limit = Duration::from_secs(seconds.unsigned_abs().into());
    if let Some(action) = &probe.http_get {
        match get(pod, container, action, limit).await {
            Ok(200..400) => Attempt::Success,
            Ok(status) => Attempt::Failure(format!("HTTP probe failed with statuscode: {status}")),
            Err(error) => Attempt::Failure(error),
        }
    } else if let Some(action) = &probe.tcp_socket {
        let host = action
            .host
            .as_deref()
            .filter(|h| !h.is_empty())
            .unwrap_or(&pod.ip);
        match port(pod, container, &action.port) {
            Ok(port) => match timeout(limit, connect(host, port)).await {
                Ok(Ok(_)) => Attempt::Success,
                Ok(Err(error)) => Attempt::Failure(error),
                Err(_) => Attempt::Failure(format!("dial tcp {host}:{port}: i/o timeout")),
            },
            Err(error) => Attempt::Error(error),
        }
    } else if let Some(action) = &probe.exec {
        let argv = action.command.as_deref().unwrap_or_default();
        exec(pod, container, process, argv, limit).await
    } else {
        Attempt::Failure("the sandbox knows httpGet, tcpSocket and exec probes only".to_owned())
    }
}

async fn exec(
    pod: &Pod,
    container: &Container,
    process: &ProcessHandle,
    argv: &[String],
    limit: Duration,
) -> Attempt {
    let command = match exec_command(pod, container, argv) {
        Ok(command) => command,
        Err(error) => return Attempt::Error(error),
    };
    let label = pod.label(&container.name);
    let run = pod.node.launcher.exec(&label, process, command);
    match timeout(limit, run).await {
        Ok(Ok(done)) if done.exit == Exit::Code(0) => Attempt::Success,
        Ok(Ok(done)) => Attempt::Failure(done.output.trim_end().to_owned()),
        Ok(Err(error)) => Attempt::Error(error.to_string()),
        Err(_) => Attempt::Failure(format!(
            "command timed out: {argv:?} timed out after {}s",
            limit.as_secs()
        )),
    }
}
