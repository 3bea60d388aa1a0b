//! Waits for the workload, and says why it is not there.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{Sandbox, SandboxError};
use crate::Kind;

/// What the front end needs beyond the endpoint lag to apply a change.
const MARGIN: Duration = Duration::from_millis(100);
/// Events and log lines (for each container) in the report.
const LAST_EVENTS: usize = 10;
const LAST_LINES: usize = 10;

/// Waits until all replicas are available and known to the front end.
pub(super) async fn wait(sandbox: &Sandbox, deadline: Duration) -> Result<(), SandboxError> {
    match timeout(deadline, known_to_front_end(sandbox)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(hopeless)) => Err(not_available(sandbox, hopeless)),
        Err(_) => Err(not_available(sandbox, format!("within {deadline:?}"))),
    }
}

/// Whether there is no reason yet why it never will be available.
pub(super) fn check_alive(sandbox: &Sandbox) -> Result<(), SandboxError> {
    match cannot_start(sandbox) {
        Some(hopeless) => Err(not_available(sandbox, hopeless)),
        None => Ok(()),
    }
}

fn not_available(sandbox: &Sandbox, why: String) -> SandboxError {
    SandboxError::NotAvailable {
        workload: sandbox.workload.clone(),
        why,
        report: report(sandbox),
    }
}

/// Returns when all has been there for so long that the front end has it: each endpoint's change reaches it within
/// the longest lag. A pod that was ready for a moment only, as one without a probe that crashes, does not count.
async fn known_to_front_end(sandbox: &Sandbox) -> Result<(), String> {
    loop {
        settled(sandbox).await?;
        let last = last_endpoint_change(sandbox);
        sleep(sandbox.endpoint_lag + MARGIN).await;
        while !sandbox.front_end.has_applied() {
            sleep(MARGIN).await;
        }
        if is_settled(sandbox) && last == last_endpoint_change(sandbox) {
            return Ok(());
        }
    }
}

/// Returns when all is there, or with the reason why it never will be.
async fn settled(sandbox: &Sandbox) -> Result<(), String> {
    let mut written = sandbox.store.subscribe();
    loop {
        written.mark_unchanged();
        if is_settled(sandbox) {
            return Ok(());
        }
        if let Some(hopeless) = cannot_start(sandbox) {
            return Err(hopeless);
        }
        if written.changed().await.is_err() {
            return Err("because the sandbox stopped".to_owned());
        }
    }
}

fn is_settled(sandbox: &Sandbox) -> bool {
    let name = sandbox.workload.trim_start_matches("deployment/");
    let Some(deployment) = sandbox
        .store
        .get(Kind::Deployment, &sandbox.namespace, name)
    else {
        return false;
    };
    let status = &deployment["status"];
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    let desired = deployment["spec"]["replicas"].as_i64().unwrap_or(1);
    let available = status["observedGeneration"] == deployment["metadata"]["generation"]
        && count("updatedReplicas") == desired
        && count("replicas") == desired
        && count("availableReplicas") == desired;
    available && ready_endpoints(sandbox) >= desired
}

/// The slices of the first Service.
fn slices(sandbox: &Sandbox) -> Vec<Arc<Value>> {
    let (mut slices, _) = sandbox
        .store
        .list(Kind::EndpointSlice, Some(&sandbox.namespace));
    slices.retain(|slice| {
        let service = slice["metadata"]["labels"]["kubernetes.io/service-name"].as_str();
        service == sandbox.services.first().map(String::as_str)
    });
    slices
}

/// Tells whether the endpoints changed between two looks.
fn last_endpoint_change(sandbox: &Sandbox) -> Vec<Value> {
    let slices = slices(sandbox);
    slices
        .iter()
        .map(|s| s["metadata"]["resourceVersion"].clone())
        .collect()
}

/// The ready endpoints of the first Service.
fn ready_endpoints(sandbox: &Sandbox) -> i64 {
    let slices = slices(sandbox);
    let ready: BTreeSet<&str> = slices
        .iter()
        .flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten())
        .filter(|endpoint| endpoint["conditions"]["ready"] == true)
        .filter_map(|endpoint| endpoint["targetRef"]["uid"].as_str())
        .collect();
    i64::try_from(ready.len()).unwrap_or(i64::MAX)
}

/// A container whose command can't be started at all: no restart will help.
fn cannot_start(sandbox: &Sandbox) -> Option<String> {
    let (pods, _) = sandbox.store.list(Kind::Pod, Some(&sandbox.namespace));
    pods.iter()
        .flat_map(|pod| statuses(pod))
        .find_map(|status| {
            let ended = [&status["state"], &status["lastState"]]
                .into_iter()
                .map(|state| &state["terminated"])
                .find(|terminated| terminated.is_object())?;
            let name = status["name"].as_str().unwrap_or_default();
            if ended["reason"] == "StartError" {
                let message = ended["message"].as_str().unwrap_or("no reason was given");
                return Some(format!(
                    "because the command of container {name:?} cannot be started: {message}"
                ));
            }
            sandbox.ends_are_final.then(|| ended_by_itself(name, ended))
        })
}

/// A container that has ended before it was ready.
fn ended_by_itself(name: &str, ended: &Value) -> String {
    let code = ended["exitCode"].as_i64().unwrap_or(-1);
    let why = match code {
        0 => {
            "; a container lives as long as its first process: a program that goes into the background ends it"
        }
        _ => "",
    };
    format!(
        "because the command of container {name:?} ended by itself with exit code {code} before it was ready{why}"
    )
}

fn statuses(pod: &Value) -> impl Iterator<Item = &Value> {
    ["initContainerStatuses", "containerStatuses"]
        .into_iter()
        .filter_map(|list| pod["status"][list].as_array())
        .flatten()
}

/// The pods' states, the last events, and the last log lines of the pods that are not ready.
fn report(sandbox: &Sandbox) -> String {
    let (pods, _) = sandbox.store.list(Kind::Pod, Some(&sandbox.namespace));
    let mut text = String::from("pods:\n");
    if pods.is_empty() {
        text.push_str("  none\n");
    }
    for pod in &pods {
        let _ = writeln!(text, "  {}: {}", name(pod), state(pod));
    }
    let (mut events, _) = sandbox.store.list(Kind::Event, Some(&sandbox.namespace));
    events.sort_by_key(|e| {
        e["metadata"]["resourceVersion"]
            .as_str()
            .and_then(|v| v.parse::<u64>().ok())
    });
    text.push_str("last events:\n");
    for event in &events[events.len().saturating_sub(LAST_EVENTS)..] {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = word(&event["involvedObject"]["name"]);
        let _ = writeln!(
            text,
            "  {object}: {}: {}",
            word(&event["reason"]),
            word(&event["message"])
        );
    }
    for pod in pods.iter().filter(|pod| !is_ready(pod)) {
        for status in statuses(pod) {
            let container = status["name"].as_str().unwrap_or_default();
            listeners(sandbox, &mut text, name(pod), status);
            last_lines(sandbox, &mut text, name(pod), container);
        }
    }
    text.trim_end().to_owned()
}

/// Where a running container listens, which may be elsewhere than it is asked.
fn listeners(sandbox: &Sandbox, text: &mut String, pod: &str, status: &Value) {
    if !status["state"]["running"].is_object() {
        return;
    }
    let container = status["name"].as_str().unwrap_or_default();
    let label = format!("{}/{pod}/{container}", sandbox.namespace);
    let parts = sandbox.parts.as_ref();
    let found = parts.map_or_else(Vec::new, |p| p.kubelet.listening(&label));
    let told = match found.as_slice() {
        [] => "on no TCP port".to_owned(),
        found => found.iter().map(tell).collect::<Vec<_>>().join(", "),
    };
    let _ = writeln!(text, "{pod}/{container} listens {told}");
}

fn tell(listener: &SocketAddr) -> String {
    if listener.ip().is_loopback() {
        format!("on {listener}, where nobody outside its container reaches it (listen on 0.0.0.0)")
    } else {
        format!("on {listener}")
    }
}

/// What all containers of the workload's pods have written.
pub(super) fn log_lines(sandbox: &Sandbox) -> Vec<String> {
    let (pods, _) = sandbox.store.list(Kind::Pod, Some(&sandbox.namespace));
    let mut found = Vec::new();
    for pod in &pods {
        for status in statuses(pod) {
            let container = status["name"].as_str().unwrap_or_default();
            let lines = sandbox.logs.lines(&sandbox.namespace, name(pod), container);
            found.extend(lines.iter().map(|l| l.text.to_string()));
        }
    }
    found
}

fn last_lines(sandbox: &Sandbox, text: &mut String, pod: &str, container: &str) {
    let lines = sandbox.logs.lines(&sandbox.namespace, pod, container);
    if lines.is_empty() {
        let _ = writeln!(text, "{pod}/{container} logged nothing");
        return;
    }
    let _ = writeln!(text, "last log lines of {pod}/{container}:");
    for line in &lines[lines.len().saturating_sub(LAST_LINES)..] {
        let _ = writeln!(text, "  {}", rollscope_records::redact::line(&line.text));
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn is_ready(pod: &Value) -> bool {
    crate::controllers::condition(pod, "Ready").is_some_and(|c| c["status"] == "True")
}

fn state(pod: &Value) -> String {
    let phase = pod["status"]["phase"].as_str().unwrap_or("Unknown");
    let mut text = format!(
        "{phase}, {}",
        if is_ready(pod) { "ready" } else { "not ready" }
    );
    for status in statuses(pod) {
        let container = status["name"].as_str().unwrap_or_default();
        let restarts = status["restartCount"].as_i64().unwrap_or(0);
        let _ = write!(
            text,
            "; {container}: {}, {restarts} restarts",
            one_state(&status["state"])
        );
        if let Value::Object(_) = &status["lastState"]["terminated"] {
            let _ = write!(text, ", before: {}", one_state(&status["lastState"]));
        }
    }
    text
}

fn one_state(state: &Value) -> String {
    let part = |field: &str| &state[field];
    let message = |of: &Value| {
        of["message"]
            .as_str()
            .map(|m| format!(" ({m})"))
            .unwrap_or_default()
    };
    let reason = |of: &Value| of["reason"].as_str().unwrap_or("no reason").to_owned();
    if part("running").is_object() {
        "running".to_owned()
    } else if part("waiting").is_object() {
        format!(
            "waiting: {}{}",
            reason(part("waiting")),
            message(part("waiting"))
        )
    } else if part("terminated").is_object() {
        let terminated = part("terminated");
        format!(
            "ended: {} exit code {}{}",
            reason(terminated),
            terminated["exitCode"],
            message(terminated)
        )
    } else {
        "unknown".to_owned()
    }
}
