//! The kubelet: one worker for each pod that is bound to the node.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::node::Node;
use super::pod::Orders;
use super::pod_worker;
use super::scratch::Scratch;
use crate::logs::LogStore;
use crate::process::Launcher;
use crate::{Change, ChangeType, Kind, Store, TruthLog};

/// How long [`Kubelet::stop`] waits for the processes it killed.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// What a kubelet needs.
#[derive(Debug, Clone)]
pub struct KubeletConfig {
    /// Where pods come from and their status goes.
    pub store: Store,
    /// Where the containers' output goes.
    pub logs: LogStore,
    /// The program that answers to the hidden subcommands ([`crate::process::hidden_main`]) and to the command
    /// `rollscope` of the containers; normally the current executable.
    pub program: PathBuf,
    /// The node's name; pods with this `spec.nodeName` run here.
    pub node_name: String,
    /// The working directory of containers without `workingDir`: the folder of the manifest.
    pub working_dir: PathBuf,
    /// Makes addresses, ports and small delays repeatable.
    pub seed: u64,
    /// Whether containers get this process's own environment beside that of their manifest.
    pub inherit_env: bool,
    /// Whether containers find [`Self::program`] as `rollscope` in their `PATH`.
    pub link_program: bool,
}

/// Why the node did not start.
#[derive(Debug, thiserror::Error)]
pub enum KubeletError {
    /// The folder for the `rollscope` command of the containers.
    #[error("can't make a folder with a link to {program:?} in the temporary directory: {source}")]
    Scratch {
        /// The program to link to.
        program: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The thread that starts processes.
    #[error("can't start the thread that launches processes: {0}")]
    Launcher(#[source] io::Error),
}

/// A running node. Dropping it kills every process that it started, without waiting for their end.
#[derive(Debug)]
pub struct Kubelet {
    node: Arc<Node>,
    abandon: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

impl Kubelet {
    /// Starts to run the pods that are bound to the node. Must be called within a tokio runtime.
    pub fn start(config: KubeletConfig) -> Result<Self, KubeletError> {
        Self::start_witnessed(config, TruthLog::default())
    }

    /// [`Self::start`], with a witness of what the kubelet does.
    pub(crate) fn start_witnessed(
        config: KubeletConfig,
        truth: TruthLog,
    ) -> Result<Self, KubeletError> {
        let linked = config
            .link_program
            .then(|| Scratch::create(&config.program));
        let scratch = linked.transpose().map_err(|source| KubeletError::Scratch {
            program: config.program.clone(),
            source,
        })?;
        let launcher = Launcher::new(config.program.clone()).map_err(KubeletError::Launcher)?;
        let node = Arc::new(Node::new(config, launcher, scratch, truth));
        let (abandon, abandoned) = watch::channel(false);
        let task = tokio::spawn(run(Arc::clone(&node), abandoned));
        Ok(Self {
            node,
            abandon,
            task: Some(task),
        })
    }

    /// What the user should know about this node, e.g. that it has no PID namespaces.
    pub fn warnings(&self) -> Vec<String> {
        self.node.warnings()
    }

    /// Where the processes of a container (`namespace/pod/container`) listen now.
    pub fn listening(&self, label: &str) -> Vec<SocketAddr> {
        let pid = self.node.process(label);
        pid.map(crate::process::listening).unwrap_or_default()
    }

    /// Kills every process at once and waits (5 s at most) until they are gone. Pods stay in the store as they were.
    pub async fn stop(mut self) {
        self.abandon.send_replace(true);
        let Some(task) = &mut self.task else { return };
        let launcher = &self.node.launcher;
        let end = async {
            // A panicked task has dropped its processes.
            let _ = task.await;
            launcher.idle().await;
        };
        // What is left after the limit is killed with the launcher.
        let _ = tokio::time::timeout(STOP_LIMIT, end).await;
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.node.launcher.close();
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// The workers, by the uid of their pods.
#[derive(Debug)]
struct Workers {
    node: Arc<Node>,
    orders: HashMap<String, watch::Sender<Orders>>,
    tasks: JoinSet<String>,
}

async fn run(node: Arc<Node>, mut abandoned: watch::Receiver<bool>) {
    let mut workers = Workers {
        node: Arc::clone(&node),
        orders: HashMap::new(),
        tasks: JoinSet::new(),
    };
    let mut seen = workers.list();
    let mut pods = node.store.watch(Kind::Pod, seen);
    loop {
        tokio::select! {
            change = pods.next() => match change {
                Ok(change) => workers.change(&change),
                Err(_gone) => {
                    seen = workers.list();
                    pods = node.store.watch(Kind::Pod, seen);
                }
            },
            Some(done) = workers.tasks.join_next() => {
                if let Ok(uid) = done {
                    workers.orders.remove(&uid);
                }
            }
            // An error means that the kubelet was dropped.
            _ = abandoned.wait_for(|a| *a) => break,
        }
    }
    for orders in workers.orders.values() {
        orders.send_replace(Orders::Abandon);
    }
    while workers.tasks.join_next().await.is_some() {}
}

impl Workers {
    /// Handles every pod that is there, and those that vanished unseen; the version of the list.
    fn list(&mut self) -> u64 {
        let (pods, version) = self.node.store.list(Kind::Pod, None);
        for pod in &pods {
            self.seen(pod);
        }
        for (uid, orders) in &self.orders {
            if !pods.iter().any(|p| p["metadata"]["uid"] == uid.as_str()) {
                orders.send_modify(Orders::removed);
            }
        }
        version
    }

    fn change(&mut self, change: &Change) {
        match change.change {
            ChangeType::Added | ChangeType::Modified => self.seen(&change.object),
            ChangeType::Deleted => {
                let uid = change.object["metadata"]["uid"]
                    .as_str()
                    .unwrap_or_default();
                if let Some(orders) = self.orders.get(uid) {
                    orders.send_modify(Orders::removed);
                }
            }
        }
    }

    fn is_there(&self, pod: &Value) -> bool {
        let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
        let now = self
            .node
            .store
            .get(Kind::Pod, text("namespace"), text("name"));
        now.is_some_and(|now| now["metadata"]["uid"] == pod["metadata"]["uid"])
    }

    fn seen(&mut self, pod: &Arc<Value>) {
        let meta = &pod["metadata"];
        let uid = meta["uid"].as_str().unwrap_or_default();
        if pod["spec"]["nodeName"] != self.node.name.as_str() {
            return;
        }
        let deleted = !meta["deletionTimestamp"].is_null();
        if !self.orders.contains_key(uid) {
            // A change may arrive after the pod's worker has seen it to its end.
            let over = matches!(
                pod["status"]["phase"].as_str(),
                Some("Succeeded" | "Failed")
            );
            if over || !self.is_there(pod) {
                return;
            }
            let (orders, receiver) = watch::channel(Orders::Run);
            let worker = pod_worker::run(Arc::clone(&self.node), Arc::clone(pod), receiver);
            let key = uid.to_owned();
            self.tasks.spawn(async move {
                worker.await;
                key
            });
            self.orders.insert(uid.to_owned(), orders);
        }
        if deleted && let Some(orders) = self.orders.get(uid) {
            let grace = meta["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
            if orders.send_if_modified(|o| o.delete(grace, Instant::now())) {
                let truth = &self.node.truth;
                truth.note("deleted", || json!({"pod": meta["name"], "grace": grace}));
            }
        }
    }
}
