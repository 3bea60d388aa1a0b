//! Checks what the sandbox needs of a manifest's objects.

use serde_json::{Value, json};

use super::documents::{Documents, Located, locate};
use super::{Manifest, Problem, defaults};
use crate::Kind;
use crate::controllers::{Bounds, label_selector_matches};

/// Checks and completes; all problems at once, those of the reading first.
pub(super) fn checked(mut documents: Documents, text: &str) -> Result<Manifest, Vec<Problem>> {
    let mut problems = std::mem::take(&mut documents.problems);
    match check(documents, text) {
        Ok(manifest) if problems.is_empty() => Ok(manifest),
        Ok(_) => Err(problems),
        Err(more) => {
            problems.extend(more);
            Err(problems)
        }
    }
}

fn check(documents: Documents, text: &str) -> Result<Manifest, Vec<Problem>> {
    let mut check = Check {
        text,
        problems: Vec::new(),
        warnings: documents.warnings,
    };
    let broken = !documents.problems.is_empty();
    let deployment = check.one_deployment(documents.deployments, broken)?;
    let namespace = deployment.object["metadata"]["namespace"]
        .as_str()
        .unwrap_or("default")
        .to_owned();
    check.deployment(&deployment);
    let services = check.services(documents.services, &deployment.object, &namespace);
    let selecting = services.0;
    if !check.problems.is_empty() {
        return Err(check.problems);
    }
    let mut manifest = Manifest {
        deployment: deployment.object,
        services: services.1,
        selecting,
        warnings: check.warnings,
        namespace,
    };
    manifest.deployment["metadata"]["namespace"] = json!(manifest.namespace);
    defaults::fill(Kind::Deployment, &mut manifest.deployment);
    for service in &mut manifest.services {
        service["metadata"]["namespace"] = json!(manifest.namespace);
        defaults::fill(Kind::Service, service);
    }
    Ok(manifest)
}

struct Check<'a> {
    text: &'a str,
    problems: Vec<Problem>,
    warnings: Vec<String>,
}

impl Check<'_> {
    fn one_deployment(
        &self,
        mut found: Vec<Located>,
        broken: bool,
    ) -> Result<Located, Vec<Problem>> {
        match (found.pop(), found.last()) {
            (Some(one), None) => Ok(one),
            // A Deployment that could not be read has its own problem.
            (None, _) if broken => Err(Vec::new()),
            (None, _) => Err(vec![Problem {
                line: None,
                text: "no apps/v1 Deployment in it: expected exactly one, and a v1 Service that selects its pods"
                    .to_owned(),
            }]),
            (Some(second), Some(first)) => Err(vec![Problem {
                line: Some(second.line),
                text: format!(
                    "a second Deployment, {}, beside {}: expected exactly one",
                    name(&second.object),
                    name(&first.object)
                ),
            }]),
        }
    }

    /// The line of `path` in the document that begins at `start`.
    fn line(&self, start: usize, path: &[&str]) -> usize {
        let path: Vec<String> = path.iter().map(|&k| k.to_owned()).collect();
        let rest: String = self
            .text
            .lines()
            .skip(start - 1)
            .flat_map(|l| [l, "\n"])
            .collect();
        locate(&rest, &path).map_or(start, |l| l + start - 1)
    }

    fn problem(&mut self, at: (usize, &[&str]), text: String) {
        let line = Some(self.line(at.0, at.1));
        self.problems.push(Problem { line, text });
    }

    fn deployment(&mut self, located: &Located) {
        let (deployment, start) = (&located.object, located.line);
        let spec = &deployment["spec"];
        self.metadata(deployment, start);
        let template = &spec["template"];
        if spec["selector"]
            .as_object()
            .is_none_or(serde_json::Map::is_empty)
        {
            self.problem(
                (start, &["spec", "selector"]),
                "spec.selector is empty: it must select the template's labels".to_owned(),
            );
        } else if !label_selector_matches(&spec["selector"], &template["metadata"]["labels"]) {
            self.problem(
                (start, &["spec", "selector"]),
                "spec.selector does not match spec.template.metadata.labels".to_owned(),
            );
        }
        if spec["replicas"].as_i64().is_some_and(|r| r < 0) {
            self.problem(
                (start, &["spec", "replicas"]),
                "spec.replicas must not be negative".to_owned(),
            );
        }
        if let Err(text) = Bounds::check(&spec["strategy"]) {
            self.problem((start, &["spec", "strategy"]), text);
        }
        self.pod_spec(&template["spec"], start);
    }

    fn metadata(&mut self, object: &Value, start: usize) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if !is_dns_label(name) {
            self.problem(
                (start, &["metadata", "name"]),
                format!("metadata.name {name:?}: expected lower-case letters, digits and '-', at most 63"),
            );
        }
    }

    fn pod_spec(&mut self, spec: &Value, start: usize) {
        let path = ["spec", "template", "spec"];
        if spec["restartPolicy"]
            .as_str()
            .is_some_and(|p| p != "Always")
        {
            self.problem(
                (start, &["spec", "template", "spec", "restartPolicy"]),
                "restartPolicy: a Deployment allows only Always".to_owned(),
            );
        }
        let containers = spec["containers"].as_array().map_or(&[][..], Vec::as_slice);
        if containers.is_empty() {
            self.problem((start, &path), "the template has no containers".to_owned());
        }
        let mut names = Vec::new();
        for container in containers {
            let name = container["name"].as_str().unwrap_or_default();
            if names.contains(&name) {
                self.problem(
                    (start, &path),
                    format!("two containers are called {name:?}"),
                );
            }
            names.push(name);
            self.container(container, start);
        }
        if spec["volumes"].as_array().is_some_and(|v| !v.is_empty()) {
            self.warnings.push(
                "volumes are ignored: pods of the sandbox see the machine's own files".to_owned(),
            );
        }
    }

    fn container(&mut self, container: &Value, start: usize) {
        let name = container["name"].as_str().unwrap_or_default();
        let at: (usize, &[&str]) = (start, &["spec", "template", "spec", "containers"]);
        if !is_dns_label(name) {
            self.problem(at, format!("container name {name:?} is not a DNS label"));
        }
        if container["command"].as_array().is_none_or(Vec::is_empty) {
            self.problem(
                at,
                format!(
                    "container {name:?} has no command: the sandbox ignores the image and runs `command` and `args` as a local process"
                ),
            );
        }
        for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
            for action in ["httpGet", "tcpSocket"] {
                let port = &container[field][action]["port"];
                if let Some(port) = port.as_str()
                    && container_port(container, port).is_none()
                {
                    self.problem(
                        at,
                        format!("container {name:?}: {field} names port {port:?}, which the container does not declare"),
                    );
                }
            }
        }
        for probe in ["readinessProbe", "livenessProbe", "startupProbe"] {
            if !container[probe]["grpc"].is_null() {
                self.problem(
                    at,
                    format!("container {name:?}: the sandbox cannot make a grpc {probe}; use httpGet, tcpSocket or exec"),
                );
            }
        }
        for env in container["env"].as_array().into_iter().flatten() {
            for source in ["configMapKeyRef", "secretKeyRef"] {
                let from = &env["valueFrom"][source];
                if from.is_null() {
                    continue;
                }
                let variable = env["name"].as_str().unwrap_or_default();
                let told = format!(
                    "container {name:?}: {variable} comes from a {source}, which the sandbox does not have"
                );
                if from["optional"] == true {
                    self.warnings.push(format!("{told}: it is not set"));
                } else {
                    self.problem(at, format!("{told}; give it a value, or mark it optional"));
                }
            }
        }
        if container["envFrom"]
            .as_array()
            .is_some_and(|e| !e.is_empty())
        {
            self.warnings
                .push(format!("container {name:?}: envFrom is ignored"));
        }
    }

    /// The Services, those that select the Deployment's pods first, and how many these are.
    fn services(
        &mut self,
        found: Vec<Located>,
        deployment: &Value,
        namespace: &str,
    ) -> (usize, Vec<Value>) {
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        let (mut selecting, mut others) = (Vec::new(), Vec::new());
        let count = found.len();
        for located in found {
            let (service, start) = (&located.object, located.line);
            self.metadata(service, start);
            let here = service["metadata"]["namespace"]
                .as_str()
                .unwrap_or("default");
            if here != namespace {
                self.warnings.push(format!(
                    "Service {} is in namespace {here}, the Deployment in {namespace}: it is ignored",
                    name(service)
                ));
            } else if selects(service, labels) {
                self.service_ports(service, &deployment["spec"]["template"]["spec"], start);
                selecting.push(located.object);
            } else {
                self.warnings.push(format!(
                    "Service {} does not select the Deployment's pods: it gets no endpoints",
                    name(service)
                ));
                others.push(located.object);
            }
        }
        if selecting.is_empty() {
            let text = if count == 0 {
                "no v1 Service in it: expected one whose selector matches the Deployment's pods"
            } else {
                "no Service selects the Deployment's pods: compare spec.selector with spec.template.metadata.labels"
            };
            self.problems.push(Problem {
                line: None,
                text: text.to_owned(),
            });
        }
        let number = selecting.len();
        selecting.extend(others);
        (number, selecting)
    }

    fn service_ports(&mut self, service: &Value, pod: &Value, start: usize) {
        let at: (usize, &[&str]) = (start, &["spec", "ports"]);
        let ports = service["spec"]["ports"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        if ports.is_empty() {
            self.problem(at, format!("Service {} has no ports", name(service)));
        }
        for port in ports {
            if !matches!(port["protocol"].as_str(), None | Some("TCP")) {
                self.problem(
                    at,
                    format!("Service {}: the sandbox forwards TCP only", name(service)),
                );
            }
            let Some(target) = port["targetPort"].as_str() else {
                continue;
            };
            let mut containers = pod["containers"].as_array().into_iter().flatten();
            if !containers.any(|c| container_port(c, target).is_some()) {
                self.problem(
                    at,
                    format!(
                        "Service {}: targetPort {target:?} is not the name of a container's port",
                        name(service)
                    ),
                );
            }
        }
    }
}

/// Whether a Service's selector matches the labels (an empty selector selects nothing).
pub(super) fn selects(service: &Value, labels: &Value) -> bool {
    let selector = &service["spec"]["selector"];
    selector.as_object().is_some_and(|s| !s.is_empty())
        && label_selector_matches(&json!({ "matchLabels": selector }), labels)
}

/// The number of a container's named port.
fn container_port(container: &Value, name: &str) -> Option<i64> {
    let mut ports = container["ports"].as_array().into_iter().flatten();
    ports
        .find(|p| p["name"] == name)
        .and_then(|p| p["containerPort"].as_i64())
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn is_dns_label(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&name.len())
        && name.chars().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}
