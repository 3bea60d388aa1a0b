//! Lifecycle hooks.

use k8s_openapi::api::core::v1::{Container, LifecycleHandler};
use tokio::time::{Duration, sleep};

use super::environment::exec_command;
use super::http_get::{connect, get, port};
use super::pod::Pod;
use crate::process::{Exit, ProcessHandle};

/// How long an httpGet hook may take; the grace period ends a preStop hook sooner.
const HTTP_LIMIT: Duration = Duration::from_secs(3600);

/// Runs a hook to its end; an error if it failed.
pub(super) async fn run(
    pod: &Pod,
    container: &Container,
    process: &ProcessHandle,
    handler: &LifecycleHandler,
) -> Result<(), String> {
    if let Some(action) = &handler.sleep {
        sleep(Duration::from_secs(action.seconds.unsigned_abs())).await;
        Ok(())
    } else if let Some(action) = &handler.exec {
        let argv = action.command.as_deref().unwrap_or_default();
        let command = exec_command(pod, container, argv)?;
        let label = pod.label(&container.name);
        match pod.node.launcher.exec(&label, process, command).await {
            Ok(done) if done.exit == Exit::Code(0) => Ok(()),
            Ok(done) => Err(format!(
                "command {argv:?} exited with {}: {}",
                done.exit.status_code(),
                done.output.trim_end()
            )),
            Err(error) => Err(error.to_string()),
        }
    } else if let Some(action) = &handler.http_get {
        match get(pod, container, action, HTTP_LIMIT).await? {
            200..400 => Ok(()),
            status => Err(format!("HTTP hook failed with statuscode: {status}")),
        }
    } else if let Some(action) = &handler.tcp_socket {
        let host = action.host.as_deref().unwrap_or(&pod.ip);
        connect(host, port(pod, container, &action.port)?)
            .await
            .map(drop)
    } else {
        Ok(())
    }
}
