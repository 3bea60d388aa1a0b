//! The EndpointSlice controller: one slice for each Service, in step with its pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::endpoints::{endpoint_of, merged, ports_of};
use super::label_selector::label_selector_matches;
use super::object::{annotate, is_terminating, meta, owner_reference, parse_time, ready_since};
use super::pod_template::random_suffix;
use crate::{Kind, Store};

const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// The EndpointSlice controller.
#[derive(Debug)]
pub(super) struct EndpointSliceController {
    store: Store,
    /// By the Service's uid.
    seen: BTreeMap<String, Seen>,
}

/// What the last step for a Service saw.
#[derive(Debug, Default)]
struct Seen {
    endpoints: Vec<Value>,
    service: Value,
    /// By pod uid, when its Ready condition last changed.
    triggers: BTreeMap<String, Timestamp>,
}

impl EndpointSliceController {
    pub(super) fn new(store: Store) -> Self {
        Self {
            store,
            seen: BTreeMap::new(),
        }
    }

    /// One step for every Service with a selector.
    pub(super) fn sync(&mut self) {
        let (services, _) = self.store.list(Kind::Service, None);
        let uids: Vec<&str> = services.iter().map(|s| meta(s, "uid")).collect();
        self.seen.retain(|uid, _| uids.contains(&uid.as_str()));
        for service in &services {
            let selector = &service["spec"]["selector"];
            if selector.as_object().is_some_and(|s| !s.is_empty()) && !is_terminating(service) {
                self.sync_one(service);
            }
        }
    }

    fn sync_one(&mut self, service: &Value) {
        let selector = json!({"matchLabels": service["spec"]["selector"]});
        let (mut pods, _) = self.store.list(Kind::Pod, Some(meta(service, "namespace")));
        pods.retain(|pod| label_selector_matches(&selector, &pod["metadata"]["labels"]));
        let publish = service["spec"]["publishNotReadyAddresses"] == true;
        let wanted: Vec<Value> = pods
            .iter()
            .filter_map(|p| endpoint_of(p, publish))
            .collect();
        let slice = self.slice_of(service);
        let uid = meta(service, "uid").to_owned();
        let seen = self.seen.entry(uid).or_default();
        if slice.is_some() && seen.endpoints == wanted && seen.service == service["spec"] {
            return;
        }
        let trigger = seen.trigger(service, &pods, slice.is_none());
        seen.endpoints.clone_from(&wanted);
        seen.service = service["spec"].clone();
        let ports = pods
            .iter()
            .find(|p| endpoint_of(p, publish).is_some())
            .map_or_else(Vec::new, |pod| ports_of(service, pod));
        match slice {
            Some(slice) => self.update(&slice, wanted, ports, trigger),
            None => self.create(service, wanted, ports, trigger),
        }
    }

    fn slice_of(&self, service: &Value) -> Option<Arc<Value>> {
        let (slices, _) = self
            .store
            .list(Kind::EndpointSlice, Some(meta(service, "namespace")));
        let uid = meta(service, "uid");
        slices
            .into_iter()
            .find(|s| super::object::is_controlled_by(s, uid))
    }

    fn update(
        &self,
        slice: &Value,
        wanted: Vec<Value>,
        ports: Vec<Value>,
        trigger: Option<Timestamp>,
    ) {
        let (namespace, name) = (meta(slice, "namespace"), meta(slice, "name"));
        let current = slice["endpoints"].as_array().map_or(&[][..], Vec::as_slice);
        let next = json!(merged(current, wanted));
        let ports = json!(ports);
        if next == slice["endpoints"] && ports == slice["ports"] {
            return;
        }
        let _ = self
            .store
            .update(Kind::EndpointSlice, namespace, name, |slice| {
                slice["endpoints"] = next;
                slice["ports"] = ports;
                set_trigger(slice, trigger);
            });
    }

    fn create(
        &self,
        service: &Value,
        wanted: Vec<Value>,
        ports: Vec<Value>,
        trigger: Option<Timestamp>,
    ) {
        let prefix = format!("{}-", meta(service, "name"));
        let mut labels = json!({
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            "kubernetes.io/service-name": meta(service, "name"),
        });
        let own = service["metadata"]["labels"].as_object();
        for (key, value) in own.into_iter().flatten() {
            labels[key] = value.clone();
        }
        let mut slice = json!({
            "metadata": {
                "name": format!("{prefix}{}", random_suffix()),
                "generateName": prefix,
                "namespace": service["metadata"]["namespace"],
                "labels": labels,
                "ownerReferences": [owner_reference(service)],
            },
            "addressType": "IPv4",
            "endpoints": wanted,
            "ports": ports,
        });
        set_trigger(&mut slice, trigger);
        let _ = self.store.create(Kind::EndpointSlice, slice);
    }
}

impl Seen {
    /// The earliest of the Ready transitions that were not known before (of the Service's creation when it is new).
    fn trigger(
        &mut self,
        service: &Value,
        pods: &[Arc<Value>],
        created: bool,
    ) -> Option<Timestamp> {
        let mut triggers = BTreeMap::new();
        let mut earliest = created
            .then(|| parse_time(&service["metadata"]["creationTimestamp"]))
            .flatten();
        for pod in pods {
            let uid = meta(pod, "uid");
            let Some(since) = ready_since(pod) else {
                continue;
            };
            if self.triggers.get(uid).is_none_or(|known| since > *known) {
                earliest = Some(earliest.map_or(since, |e| e.min(since)));
            }
            triggers.insert(uid.to_owned(), since);
        }
        self.triggers = triggers;
        earliest
    }
}

fn set_trigger(slice: &mut Value, trigger: Option<Timestamp>) {
    if let Some(time) = trigger {
        annotate(
            slice,
            TRIGGER_TIME,
            &time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        );
    } else if let Some(annotations) = slice["metadata"]["annotations"].as_object_mut() {
        annotations.remove(TRIGGER_TIME);
        if annotations.is_empty()
            && let Some(metadata) = slice["metadata"].as_object_mut()
        {
            metadata.remove("annotations");
        }
    }
}
