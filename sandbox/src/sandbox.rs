//! The sandbox as a whole: a manifest becomes a running cluster of real processes.

mod availability;
mod error;
mod runtime_thread;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rollscope_scenarios::SandboxTarget;
use serde_json::{Value, json};

use crate::api::ApiServer;
use crate::controllers::{Controllers, KUBELET_VERSION, NODE};
use crate::front_end::FrontEnd;
use crate::kubelet::{Kubelet, KubeletConfig};
use crate::logs::LogStore;
use crate::manifest::Manifest;
use crate::{Kind, Store, TruthLog};

pub use error::SandboxError;
use runtime_thread::RuntimeThread;

/// What a sandbox is made of.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// The scenario's target.
    pub target: SandboxTarget,
    /// The program that answers to the hidden subcommands; normally the current executable.
    pub program: PathBuf,
    /// The port of the API on 127.0.0.1; 0 for any free one.
    pub api_port: u16,
    /// Where the sandbox writes down what it did; by default nowhere.
    pub truth: TruthLog,
    /// What to run instead of the target's manifest file.
    pub given: Option<GivenWorkload>,
}

/// A workload that is no manifest file's: it is there to be put to the test once.
#[derive(Debug, Clone)]
pub struct GivenWorkload {
    /// The workload.
    pub manifest: Manifest,
    /// The working directory of containers without `workingDir`.
    pub working_dir: PathBuf,
    /// Whether containers get this process's own environment beside that of the manifest.
    pub inherit_env: bool,
    /// Whether containers find this program as `rollscope` in their `PATH`.
    pub link_program: bool,
}

impl SandboxConfig {
    /// A sandbox whose API has any free port.
    pub fn new(target: SandboxTarget, program: PathBuf) -> Self {
        Self {
            target,
            program,
            api_port: 0,
            truth: TruthLog::default(),
            given: None,
        }
    }
}

/// A running sandbox. Everything that it started ends with it.
///
/// The cluster (API, controllers, kubelet) and the front end run on a thread each, so that neither disturbs the other
/// nor the caller's runtime.
#[derive(Debug)]
pub struct Sandbox {
    store: Store,
    logs: LogStore,
    parts: Option<Parts>,
    front_end: Arc<FrontEnd>,
    api_url: String,
    namespace: String,
    workload: String,
    services: Vec<String>,
    warnings: Vec<String>,
    endpoint_lag: Duration,
    /// Whether a container that ends by itself will not get ready any more.
    ends_are_final: bool,
}

/// What is stopped, in this order when dropped: first what would start new pods.
#[derive(Debug)]
struct Parts {
    controllers: Controllers,
    kubelet: Kubelet,
    api: ApiServer,
    cluster: RuntimeThread,
    traffic: RuntimeThread,
}

impl Sandbox {
    /// Reads the manifest, starts the cluster and applies the objects. The pods are then on their way; see
    /// [`Self::wait_available`].
    ///
    /// # Errors
    /// The manifest is wrong, a port is taken, or the node can't start.
    pub async fn start(config: SandboxConfig) -> Result<Self, SandboxError> {
        let target = config.target.clone();
        let given = config.given.clone();
        let ends_are_final = given.is_some();
        let manifest = match given {
            Some(given) => given.manifest,
            None => Manifest::read(&target.manifest)?,
        };
        let (store, logs) = (Store::new(), LogStore::new());
        let truth = config.truth.clone();
        let parts = Parts::start(config, &store, &logs).await?;
        let services = apply_services(&store, &manifest)?;
        let front_end = start_front_end(&parts.traffic, &store, &target, &manifest).await?;
        front_end.witnessed_by(truth);
        let _ = store.create(Kind::Deployment, manifest.deployment.clone());
        Ok(Self {
            api_url: format!("http://{}", parts.api.address()),
            workload: format!("deployment/{}", manifest.deployment_name()),
            namespace: manifest.namespace,
            warnings: manifest.warnings,
            endpoint_lag: reaches_within(&target),
            ends_are_final,
            front_end: Arc::new(front_end),
            parts: Some(parts),
            services,
            store,
            logs,
        })
    }

    /// The URL of the API.
    pub fn api_url(&self) -> &str {
        &self.api_url
    }

    /// The namespace of the workload.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The workload, `deployment/<name>`.
    pub fn workload(&self) -> &str {
        &self.workload
    }

    /// The names of the Services that select the workload's pods; the front end is the first one's.
    pub fn services(&self) -> &[String] {
        &self.services
    }

    /// The front end of the first Service.
    pub fn front_end(&self) -> Arc<FrontEnd> {
        Arc::clone(&self.front_end)
    }

    /// What the user should know: what of the manifest was ignored, what the machine does not allow.
    pub fn warnings(&self) -> Vec<String> {
        let node = self.parts.as_ref().map(|p| p.kubelet.warnings());
        let mut warnings = self.warnings.clone();
        warnings.extend(node.into_iter().flatten());
        warnings
    }

    /// The version that the node's kubelet reports.
    pub const fn kubelet_version(&self) -> &'static str {
        KUBELET_VERSION
    }

    /// The lines that a container of the workload has written so far, oldest first, as they are.
    pub fn log_lines(&self) -> Vec<String> {
        availability::log_lines(self)
    }

    /// Returns when a pod has been sent its stop signal and that is written on it (see [`GivenWorkload`]).
    pub async fn signalled(&self) {
        let mut written = self.store.subscribe();
        loop {
            written.mark_unchanged();
            let (pods, _) = self.store.list(Kind::Pod, Some(&self.namespace));
            if pods.iter().any(|pod| crate::kubelet::was_signalled(pod)) {
                return;
            }
            if written.changed().await.is_err() {
                std::future::pending().await
            }
        }
    }

    /// The objects of the cluster.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Waits until every replica is available and the front end knows all of them.
    ///
    /// # Errors
    /// Not within `deadline`, or a container's command can't be started at all; the error tells the pods' states, the
    /// last events and the last log lines.
    pub async fn wait_available(&self, deadline: Duration) -> Result<(), SandboxError> {
        availability::wait(self, deadline).await
    }

    /// Whether the workload can still get ready.
    ///
    /// # Errors
    /// A container's command can't be started at all; or of a [`GivenWorkload`], it has ended by itself.
    pub fn check_alive(&self) -> Result<(), SandboxError> {
        availability::check_alive(self)
    }

    /// Ends everything: the processes are killed and waited for (5 s at most), then the servers close.
    pub async fn stop(mut self) {
        let Some(parts) = self.parts.take() else {
            return;
        };
        let Parts {
            controllers,
            kubelet,
            api,
            cluster,
            traffic,
        } = parts;
        drop(controllers);
        let _ = cluster.run(kubelet.stop()).await;
        drop(api);
        traffic.stop().await;
        cluster.stop().await;
    }
}

impl Parts {
    async fn start(
        config: SandboxConfig,
        store: &Store,
        logs: &LogStore,
    ) -> Result<Self, SandboxError> {
        let kubelet = KubeletConfig {
            store: store.clone(),
            logs: logs.clone(),
            program: config.program,
            node_name: NODE.to_owned(),
            working_dir: match &config.given {
                Some(given) => given.working_dir.clone(),
                None => folder_of(&config.target.manifest),
            },
            seed: config.target.seed,
            inherit_env: config.given.as_ref().is_some_and(|g| g.inherit_env),
            link_program: config.given.as_ref().is_none_or(|g| g.link_program),
        };
        let cluster = RuntimeThread::start("sandbox-cluster").map_err(SandboxError::Thread)?;
        let traffic = RuntimeThread::start("sandbox-traffic").map_err(SandboxError::Thread)?;
        let (store, logs, truth) = (store.clone(), logs.clone(), config.truth);
        let started = cluster.run(async move {
            let api = ApiServer::start(store.clone(), logs, config.api_port).await?;
            let kubelet = Kubelet::start_witnessed(kubelet, truth)?;
            Ok::<_, SandboxError>((api, kubelet, Controllers::start(&store)))
        });
        let (api, kubelet, controllers) = started.await.ok_or(SandboxError::Stopped)??;
        Ok(Self {
            controllers,
            kubelet,
            api,
            cluster,
            traffic,
        })
    }
}

/// The longest that a change of an endpoint takes to reach the front end.
fn reaches_within(target: &SandboxTarget) -> Duration {
    let check = target.health_check;
    match target.front_end {
        rollscope_scenarios::FrontEnd::HealthChecked => {
            check.period * (check.healthy_after.max(check.unhealthy_after) + 2)
        }
        _ => target.endpoint_lag.max,
    }
}

/// The manifest's folder, absolute: processes start in it from other folders.
fn folder_of(manifest: &Path) -> PathBuf {
    let manifest = std::path::absolute(manifest).unwrap_or_else(|_| manifest.to_owned());
    manifest.parent().unwrap_or(Path::new("/")).to_owned()
}

/// Creates the namespaces and Services. The names of the Services that select the workload.
fn apply_services(store: &Store, manifest: &Manifest) -> Result<Vec<String>, SandboxError> {
    for name in ["default", &manifest.namespace] {
        let namespace = json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        // `default` is there when it is the manifest's namespace.
        let _ = store.create(Kind::Namespace, namespace);
    }
    let mut names = Vec::new();
    for (index, service) in manifest.services.iter().enumerate() {
        let mut service = service.clone();
        if service["spec"]["clusterIP"] != "None" {
            let ip = service_ip(index);
            service["spec"]["clusterIP"] = json!(ip);
            service["spec"]["clusterIPs"] = json!([ip]);
        }
        service["status"] = json!({"loadBalancer": {}});
        names.push(text(&service["metadata"]["name"]));
        store
            .create(Kind::Service, service)
            .map_err(SandboxError::Apply)?;
    }
    names.truncate(manifest.selecting);
    Ok(names)
}

/// The virtual address of the Service at an index, out of 127.0.96.0/24, where no pod has its address.
fn service_ip(index: usize) -> String {
    let last = u8::try_from(index + 10).unwrap_or(u8::MAX);
    Ipv4Addr::new(127, 0, 96, last).to_string()
}

async fn start_front_end(
    traffic: &RuntimeThread,
    store: &Store,
    target: &SandboxTarget,
    manifest: &Manifest,
) -> Result<FrontEnd, SandboxError> {
    let service = &manifest.services[0];
    let name = text(&service["metadata"]["name"]);
    let address = match target.front_end {
        rollscope_scenarios::FrontEnd::L4 | rollscope_scenarios::FrontEnd::Direct => {
            let port = service["spec"]["ports"][0]["port"].as_u64();
            let port = port.and_then(|p| u16::try_from(p).ok()).unwrap_or(80);
            SocketAddr::from((Ipv4Addr::new(127, 0, 96, 10), port))
        }
        _ => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
    };
    let (store, namespace, target) = (store.clone(), manifest.namespace.clone(), target.clone());
    let started = traffic
        .run(async move { FrontEnd::of_target(&target, store, (namespace, name), address).await });
    Ok(started.await.ok_or(SandboxError::Stopped)??)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
