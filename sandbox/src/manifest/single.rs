//! A workload of one pod: a command, or the Deployment of a manifest with one replica.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use super::documents::{self, Located};
use super::{Manifest, Problem, check};

/// The port of a workload that says none.
const DEFAULT_PORT: u16 = 3000;

/// What is asked of the one pod, beside or instead of what its manifest says.
#[derive(Debug, Clone, Default)]
pub struct Single {
    /// The Deployment's name, where there is no manifest.
    pub name: String,
    /// Program and arguments of the serving container; empty: those of the manifest.
    pub command: Vec<String>,
    /// `PORT` in its environment.
    pub port: Option<u16>,
    /// Other variables of its environment.
    pub env: Vec<(String, String)>,
    /// Its readiness probe.
    pub readiness: Readiness,
    /// `terminationGracePeriodSeconds`.
    pub grace_seconds: Option<u64>,
    /// A preStop sleep.
    pub pre_stop_seconds: Option<u64>,
    /// The stop signal, `SIGTERM`.
    pub stop_signal: Option<String>,
    /// The stop signal is sent a second time so long after the first.
    pub again_after: Option<Duration>,
    /// The signals are written down, but not what each process does at them: the processes are somebody else's.
    pub without_processes: bool,
}

/// The readiness probe of the one pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Readiness {
    /// That of the manifest; without one, whether the port accepts connections.
    #[default]
    AsManifest,
    /// Whether the port accepts connections.
    Port,
    /// A GET of this path.
    Path(String),
    /// None: the pod is ready as soon as it runs.
    None,
}

impl Manifest {
    /// A workload of one pod, from a manifest's text or from the command alone. A Service is made where the manifest has
    /// none for it.
    ///
    /// # Errors
    /// Everything that is wrong in the text.
    pub fn single(text: Option<&str>, single: &Single) -> Result<Self, Vec<Problem>> {
        let text = text.unwrap_or_default();
        let mut documents = documents::read(text)?;
        if text.is_empty() {
            documents.deployments.push(bare(&single.name));
        }
        if let [deployment] = documents.deployments.as_mut_slice() {
            let selects = |s: &Located| check::selects(&s.object, labels(&deployment.object));
            if !documents.services.iter().any(selects) {
                let service = service(&deployment.object);
                documents.services.push(service);
            }
            single.apply(&mut deployment.object);
        }
        check::checked(documents, text)
    }

    /// The port that the serving container is told, by its environment or by its first declared port.
    pub fn port(&self) -> Option<u16> {
        let template = &self.deployment["spec"]["template"]["spec"];
        let container = &template["containers"][serving(template)];
        let env = container["env"].as_array().into_iter().flatten();
        let told = env.rev().find(|e| e["name"] == "PORT");
        let told = told.and_then(|e| e["value"].as_str()?.parse().ok());
        let declared = container["ports"][0]["containerPort"].as_u64();
        told.or_else(|| declared.and_then(|p| u16::try_from(p).ok()))
    }

    /// `terminationGracePeriodSeconds`.
    pub fn grace(&self) -> Duration {
        let spec = &self.deployment["spec"]["template"]["spec"];
        let seconds = spec["terminationGracePeriodSeconds"].as_u64();
        Duration::from_secs(seconds.unwrap_or(30))
    }

    /// How long the serving container's preStop hook sleeps; zero for another hook or none.
    pub fn pre_stop(&self) -> Duration {
        let template = &self.deployment["spec"]["template"]["spec"];
        let hook = &template["containers"][serving(template)]["lifecycle"]["preStop"];
        Duration::from_secs(hook["sleep"]["seconds"].as_u64().unwrap_or(0))
    }
}

impl Single {
    fn apply(&self, deployment: &mut Value) {
        deployment["spec"]["replicas"] = json!(1);
        let template = &mut deployment["spec"]["template"];
        let noted = if self.without_processes {
            "times"
        } else {
            "all"
        };
        let mut annotations = template["metadata"]["annotations"].take();
        if !annotations.is_object() {
            annotations = json!({});
        }
        annotations["sandbox.rollscope.dev/signals"] = json!(noted);
        if let Some(after) = self.again_after {
            annotations["sandbox.rollscope.dev/signal-again"] =
                json!(after.as_millis().to_string());
        }
        template["metadata"]["annotations"] = annotations;
        if let Some(grace) = self.grace_seconds {
            template["spec"]["terminationGracePeriodSeconds"] = json!(grace);
        }
        let serving = serving(&template["spec"]);
        if let Some(container) = template["spec"]["containers"].get_mut(serving) {
            self.apply_to(container);
        }
    }

    fn apply_to(&self, container: &mut Value) {
        if !self.command.is_empty() {
            let words: Vec<String> = self.command.iter().map(|w| verbatim(w)).collect();
            container["command"] = json!(words);
            container["args"] = json!([]);
        }
        let port = self.port.map(|port| ("PORT".to_owned(), port.to_string()));
        let mut env = container["env"].as_array().cloned().unwrap_or_default();
        for (name, value) in self.env.iter().chain(&port) {
            env.retain(|e| e["name"] != name.as_str());
            env.push(json!({"name": name, "value": verbatim(value)}));
        }
        container["env"] = json!(env);
        if container["ports"].as_array().is_none_or(Vec::is_empty) {
            let port = self.port.unwrap_or(DEFAULT_PORT);
            container["ports"] = json!([{"containerPort": port}]);
        }
        self.probe(container);
        if let Some(seconds) = self.pre_stop_seconds {
            let hook = json!({"sleep": {"seconds": seconds}});
            container["lifecycle"]["preStop"] = if seconds == 0 { Value::Null } else { hook };
        }
        if let Some(signal) = &self.stop_signal {
            container["lifecycle"]["stopSignal"] = json!(signal);
        }
    }

    fn probe(&self, container: &mut Value) {
        let port = container["ports"][0]["containerPort"].clone();
        let action = match &self.readiness {
            Readiness::AsManifest if container["readinessProbe"].is_object() => return,
            Readiness::AsManifest | Readiness::Port => json!({"tcpSocket": {"port": port}}),
            Readiness::Path(path) => json!({"httpGet": {"path": path, "port": port}}),
            Readiness::None => {
                container["readinessProbe"] = Value::Null;
                return;
            }
        };
        container["readinessProbe"] = action;
        container["readinessProbe"]["periodSeconds"] = json!(1);
        container["readinessProbe"]["failureThreshold"] = json!(1);
    }
}

/// A text in which Kubernetes expands nothing.
fn verbatim(text: &str) -> String {
    text.replace('$', "$$")
}

/// The container that serves: the first one that declares a port, else the first one.
fn serving(template: &Value) -> usize {
    let containers = template["containers"].as_array();
    let serves = |c: &Value| c["ports"].as_array().is_some_and(|p| !p.is_empty());
    containers
        .and_then(|all| all.iter().position(serves))
        .unwrap_or(0)
}

fn labels(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["metadata"]["labels"]
}

/// The Deployment of a command, still without it.
fn bare(name: &str) -> Located {
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "program"}]},
            },
        },
    });
    located::<Deployment>(object)
}

/// A Service for the Deployment's pods.
fn service(deployment: &Value) -> Located {
    let object = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": deployment["metadata"]["name"],
            "namespace": deployment["metadata"]["namespace"],
        },
        "spec": {"selector": labels(deployment), "ports": [{"port": 80}]},
    });
    located::<Service>(object)
}

/// An object of our own, with the fields that its type adds.
fn located<T: serde::de::DeserializeOwned + serde::Serialize>(object: Value) -> Located {
    let typed = serde_json::from_value::<T>(object.clone());
    let object = typed
        .and_then(|typed| serde_json::to_value(&typed))
        .unwrap_or(object);
    Located { object, line: 1 }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn single() -> Single {
        Single {
            name: "node".to_owned(),
            command: ["node", "server.js"].map(str::to_owned).to_vec(),
            port: Some(3000),
            pre_stop_seconds: Some(5),
            grace_seconds: Some(20),
            stop_signal: Some("SIGINT".to_owned()),
            ..Single::default()
        }
    }

    fn container(manifest: &Manifest) -> &Value {
        &manifest.deployment["spec"]["template"]["spec"]["containers"][0]
    }

    #[test]
    fn a_command_alone_is_a_workload_of_one_pod() {
        let manifest = Manifest::single(None, &single()).unwrap();
        assert_eq!(manifest.deployment["spec"]["replicas"], 1);
        assert_eq!(
            container(&manifest)["command"],
            json!(["node", "server.js"])
        );
        assert_eq!(manifest.port(), Some(3000));
        assert_eq!(
            (manifest.grace().as_secs(), manifest.pre_stop().as_secs()),
            (20, 5)
        );
        assert_eq!(
            container(&manifest)["readinessProbe"]["tcpSocket"]["port"],
            3000
        );
        assert_eq!(container(&manifest)["lifecycle"]["stopSignal"], "SIGINT");
        assert_eq!(manifest.selecting, 1);
    }

    const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: shop }
spec:
  replicas: 3
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      terminationGracePeriodSeconds: 45
      containers:
        - name: web
          image: example/web:1
          args: [serve]
          ports: [{ name: http, containerPort: 8080 }]
          readinessProbe: { httpGet: { path: /ready, port: http } }
          lifecycle: { preStop: { sleep: { seconds: 3 } } }
";

    #[test]
    fn a_manifest_keeps_what_is_not_asked_for_otherwise() {
        let asked = Single {
            command: vec!["./web".to_owned()],
            ..Single::default()
        };
        let manifest = Manifest::single(Some(DEPLOYMENT), &asked).unwrap();
        assert_eq!(manifest.deployment["spec"]["replicas"], 1);
        assert_eq!(manifest.namespace, "shop");
        assert_eq!(manifest.port(), Some(8080));
        assert_eq!(
            (manifest.grace().as_secs(), manifest.pre_stop().as_secs()),
            (45, 3)
        );
        assert_eq!(
            container(&manifest)["readinessProbe"]["httpGet"]["path"],
            "/ready"
        );
        assert_eq!(container(&manifest)["command"], json!(["./web"]));
        assert!(
            container(&manifest)["args"]
                .as_array()
                .is_none_or(Vec::is_empty)
        );
    }

    #[test]
    fn a_manifest_without_a_command_needs_one() {
        let problems = Manifest::single(Some(DEPLOYMENT), &Single::default()).unwrap_err();
        assert!(
            problems.iter().any(|p| p.text.contains("no command")),
            "{problems:?}"
        );
    }
}
