//! The scheduler: binds every pod to the one node.

use serde_json::{Value, json};

use super::events::EventRecorder;
use super::node::NODE;
use super::object::{is_terminating, meta};
use crate::timestamp::seconds_now;
use crate::{Kind, Store};

/// The scheduler.
#[derive(Debug)]
pub(super) struct Scheduler {
    store: Store,
    events: EventRecorder,
}

impl Scheduler {
    pub(super) fn new(store: Store) -> Self {
        let events = EventRecorder::new(store.clone(), "default-scheduler");
        Self { store, events }
    }

    /// Binds the pods that have no node.
    pub(super) fn sync(&self) {
        let (pods, _) = self.store.list(Kind::Pod, None);
        let unbound = |pod: &Value| pod["spec"]["nodeName"].is_null() && !is_terminating(pod);
        for pod in pods.iter().filter(|pod| unbound(pod)) {
            self.bind(pod);
        }
    }

    fn bind(&self, pod: &Value) {
        let (namespace, name) = (meta(pod, "namespace"), meta(pod, "name"));
        let bound = self
            .store
            .update_uncounted(Kind::Pod, namespace, name, |pod| {
                pod["spec"]["nodeName"] = json!(NODE);
                pod["status"]["conditions"] = json!([{
                    "type": "PodScheduled",
                    "status": "True",
                    "lastProbeTime": null,
                    "lastTransitionTime": seconds_now(),
                }]);
            });
        if bound.is_ok() {
            let message = format!("Successfully assigned {namespace}/{name} to {NODE}");
            self.events
                .normal_with_action(pod, "Scheduled", "Binding", &message);
        }
    }
}
