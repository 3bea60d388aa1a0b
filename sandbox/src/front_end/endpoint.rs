//! Endpoints, as EndpointSlices tell them.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use serde_json::Value;

use crate::{Kind, Store};

/// The label of an EndpointSlice that names its Service.
const SERVICE_LABEL: &str = "kubernetes.io/service-name";

/// The annotation of a pod with the port on which its traffic port really listens.
pub(super) const PORT_ANNOTATION: &str = "sandbox.rollscope.dev/port";

/// One endpoint, with where it really is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// The pod's name; without one the endpoint's address.
    pub(super) name: String,
    /// Where connections to it go.
    pub(super) socket: SocketAddr,
    pub(super) ready: bool,
    pub(super) serving: bool,
    pub(super) terminating: bool,
}

/// Whether an EndpointSlice belongs to the Service.
pub(super) fn belongs_to(slice: &Value, namespace: &str, service: &str) -> bool {
    let metadata = &slice["metadata"];
    metadata["namespace"] == namespace && metadata["labels"][SERVICE_LABEL] == service
}

/// The endpoints of a slice by name. One without any usable address is left out.
pub(super) fn of_slice(store: &Store, slice: &Value) -> BTreeMap<String, Endpoint> {
    let namespace = slice["metadata"]["namespace"].as_str().unwrap_or_default();
    let port = slice["ports"][0]["port"].as_u64();
    let port = port.and_then(|p| u16::try_from(p).ok());
    let endpoints = slice["endpoints"].as_array().into_iter().flatten();
    endpoints
        .filter_map(|e| endpoint(store, namespace, e, port))
        .map(|e| (e.name.clone(), e))
        .collect()
}

fn endpoint(store: &Store, namespace: &str, entry: &Value, port: Option<u16>) -> Option<Endpoint> {
    let address = entry["addresses"][0].as_str();
    let pod_name = entry["targetRef"]["name"].as_str();
    let pod = pod_name.and_then(|name| store.get(Kind::Pod, namespace, name));
    let pod_ip = pod.as_ref().and_then(|p| p["status"]["podIP"].as_str());
    let pod_port = pod
        .as_ref()
        .and_then(|p| p["metadata"]["annotations"][PORT_ANNOTATION].as_str());
    let ip: IpAddr = pod_ip.or(address)?.parse().ok()?;
    let port = pod_port.and_then(|p| p.parse().ok()).or(port)?;
    let condition = |name: &str| entry["conditions"][name].as_bool();
    let ready = condition("ready").unwrap_or(true);
    Some(Endpoint {
        name: pod_name.or(address)?.to_owned(),
        socket: SocketAddr::new(ip, port),
        ready,
        serving: condition("serving").unwrap_or(ready),
        terminating: condition("terminating").unwrap_or(false),
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    fn slice(endpoints: Value) -> Value {
        json!({
            "metadata": {"name": "web-1", "namespace": "shop", "labels": {SERVICE_LABEL: "web"}},
            "ports": [{"name": "http", "port": 3000}],
            "endpoints": endpoints,
        })
    }

    #[test]
    fn a_pod_is_found_at_its_own_ip_and_annotated_port() {
        let store = Store::new();
        let pod = json!({
            "metadata": {"name": "web-a", "namespace": "shop", "annotations": {PORT_ANNOTATION: "12345"}},
            "status": {"podIP": "127.9.8.7"},
        });
        store.create(Kind::Pod, pod).unwrap();
        let slice = slice(
            json!([{"addresses": ["127.0.0.9"], "targetRef": {"kind": "Pod", "name": "web-a"}}]),
        );
        let found = &of_slice(&store, &slice)["web-a"];
        assert_eq!(found.socket, "127.9.8.7:12345".parse().unwrap());
    }

    #[test]
    fn without_a_pod_address_and_port_are_the_slices() {
        let slice = slice(json!([{"addresses": ["127.0.0.9"]}, {"addresses": ["nowhere"]}]));
        let found = of_slice(&Store::new(), &slice);
        assert_eq!(found.len(), 1);
        assert_eq!(found["127.0.0.9"].socket, "127.0.0.9:3000".parse().unwrap());
    }

    #[test]
    fn absent_conditions_mean_ready_and_serving() {
        let slice = slice(json!([
            {"addresses": ["127.0.0.1"]},
            {"addresses": ["127.0.0.2"], "conditions": {"ready": false}},
            {"addresses": ["127.0.0.3"], "conditions": {"ready": false, "serving": true, "terminating": true}},
        ]));
        let found = of_slice(&Store::new(), &slice);
        let of = |name: &str| {
            let e = &found[name];
            (e.ready, e.serving, e.terminating)
        };
        assert_eq!(of("127.0.0.1"), (true, true, false));
        assert_eq!(of("127.0.0.2"), (false, false, false));
        assert_eq!(of("127.0.0.3"), (false, true, true));
    }

    #[test]
    fn only_slices_of_the_service_in_its_namespace_count() {
        let slice = slice(json!([]));
        assert!(belongs_to(&slice, "shop", "web"));
        assert!(!belongs_to(&slice, "shop", "api"));
        assert!(!belongs_to(&slice, "default", "web"));
    }
}
