//! One pod on the node, as its worker, its containers, probes and hooks share it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodSpec;
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Duration, Instant};

use super::events::{EventType, PodReference};
use super::node::{HOST_IP, Node};
use super::status::{ContainerModel, PodModel};
use crate::Kind;

/// What a pod is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Orders {
    /// Run.
    Run,
    /// End within a grace period of so many seconds from `at`.
    Stop { grace: i64, at: Instant },
    /// The sandbox stops: kill at once, write nothing.
    Abandon,
}

impl Orders {
    /// The pod was deleted with this grace. Says whether that changes anything: a later deletion can only shorten.
    pub(super) fn delete(&mut self, grace: i64, at: Instant) -> bool {
        let shorter = match self {
            Self::Run => true,
            Self::Stop { grace: before, .. } => grace < *before,
            Self::Abandon => false,
        };
        if shorter {
            *self = Self::Stop { grace, at };
        }
        shorter
    }

    /// The pod's object is gone (a forced deletion).
    pub(super) fn removed(&mut self) {
        self.delete(1, Instant::now());
    }
}

/// Waits until the orders are other than `Run`. A lost sender means that the sandbox is gone.
pub(super) async fn stopped(orders: &mut watch::Receiver<Orders>) -> Orders {
    match orders.wait_for(|o| *o != Orders::Run).await {
        Ok(orders) => *orders,
        Err(_) => Orders::Abandon,
    }
}

/// The pod.
#[derive(Debug)]
pub(super) struct Pod {
    pub(super) node: Arc<Node>,
    pub(super) reference: PodReference,
    pub(super) object: Arc<Value>,
    pub(super) spec: PodSpec,
    /// The pod's loopback address.
    pub(super) ip: String,
    /// The port of each container.
    pub(super) ports: HashMap<String, u16>,
    pub(super) orders: watch::Receiver<Orders>,
    /// Whether the stop of the pod has shown in its status.
    acknowledged: watch::Sender<bool>,
    model: Mutex<PodModel>,
    rng: Mutex<StdRng>,
}

impl Pod {
    #[expect(clippy::too_many_arguments, reason = "its fields, each once")]
    pub(super) fn new(
        node: Arc<Node>,
        reference: PodReference,
        object: Arc<Value>,
        spec: PodSpec,
        ip: String,
        ports: HashMap<String, u16>,
        orders: watch::Receiver<Orders>,
        model: PodModel,
        rng: StdRng,
    ) -> Self {
        Self {
            node,
            reference,
            object,
            spec,
            ip,
            ports,
            orders,
            acknowledged: watch::channel(false).0,
            model: Mutex::new(model),
            rng: Mutex::new(rng),
        }
    }

    fn model(&self) -> MutexGuard<'_, PodModel> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known of the pod and writes its status, if the pod is still there and the status is another.
    pub(super) fn change(&self, change: impl FnOnce(&mut PodModel)) {
        self.change_with(change, |_| ());
    }

    /// The same, with a change of the object beside its status in the same write.
    pub(super) fn change_with(
        &self,
        change: impl FnOnce(&mut PodModel),
        beside: impl FnOnce(&mut Value),
    ) {
        let mut model = self.model();
        change(&mut model);
        let reference = &self.reference;
        // A pod that is gone needs no status.
        let _ =
            self.node
                .store
                .update(Kind::Pod, &reference.namespace, &reference.name, |object| {
                    if object["metadata"]["uid"] == reference.uid.as_str() {
                        model.render(object, HOST_IP, Timestamp::now());
                        beside(object);
                    }
                });
    }

    /// Shows the stop of the pod in its status: the generation that was seen, nothing else.
    pub(super) fn acknowledge(&self) {
        self.change(|_| ());
        self.acknowledged.send_replace(true);
    }

    /// Waits until the stop of the pod has shown in its status: no container is seen to end before that.
    pub(super) async fn acknowledged(&self) {
        let mut orders = self.orders.clone();
        let mut acknowledged = self.acknowledged.subscribe();
        tokio::select! {
            _ = acknowledged.wait_for(|a| *a) => {}
            _ = orders.wait_for(|o| *o == Orders::Abandon) => {}
        }
    }

    /// Changes one container.
    pub(super) fn change_container(&self, name: &str, change: impl FnOnce(&mut ContainerModel)) {
        self.change(|model| {
            if let Some(container) = model.container(name) {
                change(container);
            }
        });
    }

    /// Notes something about one container without writing it: the next sync does.
    pub(super) fn note_container(&self, name: &str, note: impl FnOnce(&mut ContainerModel)) {
        if let Some(container) = self.model().container(name) {
            note(container);
        }
    }

    /// Whether every main container has ended for good, so that only sidecars run.
    pub(super) fn work_is_done(&self) -> bool {
        self.model().main_ended()
    }

    /// Whether the API server's object is still this pod's.
    pub(super) fn is_there(&self) -> bool {
        let reference = &self.reference;
        self.node
            .store
            .get(Kind::Pod, &reference.namespace, &reference.name)
            .is_some_and(|o| o["metadata"]["uid"] == reference.uid.as_str())
    }

    /// Records an event about the pod or one of its containers.
    pub(super) fn event(
        &self,
        field_path: &str,
        kind: EventType,
        reason: &'static str,
        message: &str,
    ) {
        self.node
            .events
            .record(&self.reference, field_path, kind, reason, message);
    }

    /// A delay out of a range of milliseconds.
    pub(super) fn delay(&self, millis: std::ops::Range<u64>) -> Duration {
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        Duration::from_millis(rng.random_range(millis))
    }

    /// A container id, unique and as long as containerd's.
    pub(super) fn container_id(&self) -> String {
        let [a, b, c, d] = rand::random::<[u64; 4]>();
        format!("rollscope://{a:016x}{b:016x}{c:016x}{d:016x}")
    }

    /// `namespace/name/container`, for the process table.
    pub(super) fn label(&self, container: &str) -> String {
        let reference = &self.reference;
        format!("{}/{}/{container}", reference.namespace, reference.name)
    }

    /// The pod's own grace period.
    pub(super) fn grace_seconds(&self) -> i64 {
        self.spec.termination_grace_period_seconds.unwrap_or(30)
    }
}
