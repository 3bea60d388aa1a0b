//! What an EndpointSlice says of pods. Pure.

use serde_json::{Value, json};

use super::object::{is_ready, is_terminal, is_terminating, meta};

/// A pod as an endpoint; `None` while it has no address and once it has ended.
pub(super) fn endpoint_of(pod: &Value, publish_not_ready: bool) -> Option<Value> {
    let ip = pod["status"]["podIP"]
        .as_str()
        .filter(|ip| !ip.is_empty())?;
    if is_terminal(pod) {
        return None;
    }
    let (serving, terminating) = (is_ready(pod), is_terminating(pod));
    let mut endpoint = json!({
        "addresses": [ip],
        "conditions": {
            "ready": publish_not_ready || (serving && !terminating),
            "serving": serving,
            "terminating": terminating,
        },
        "targetRef": {
            "kind": "Pod",
            "namespace": meta(pod, "namespace"),
            "name": meta(pod, "name"),
            "uid": meta(pod, "uid"),
        },
    });
    if let Some(node) = pod["spec"]["nodeName"].as_str() {
        endpoint["nodeName"] = json!(node);
    }
    Some(endpoint)
}

/// The next endpoints of a slice: those that stay keep their place, new ones come last.
pub(super) fn merged(current: &[Value], mut wanted: Vec<Value>) -> Vec<Value> {
    let mut next = Vec::with_capacity(wanted.len());
    for endpoint in current {
        let same = |w: &Value| w["targetRef"]["uid"] == endpoint["targetRef"]["uid"];
        if let Some(index) = wanted.iter().position(same) {
            next.push(wanted.remove(index));
        }
    }
    next.extend(wanted);
    next
}

/// A Service's ports as they are on a pod: names of target ports are looked up in its containers.
pub(super) fn ports_of(service: &Value, pod: &Value) -> Vec<Value> {
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    ports
        .filter_map(|port| {
            let target = match &port["targetPort"] {
                Value::String(name) => container_port(pod, name)?,
                Value::Number(number) => json!(number),
                _ => port["port"].clone(),
            };
            Some(json!({
                "name": port["name"].as_str().unwrap_or_default(),
                "protocol": port["protocol"].as_str().unwrap_or("TCP"),
                "port": target,
            }))
        })
        .collect()
}

fn container_port(pod: &Value, name: &str) -> Option<Value> {
    let containers = pod["spec"]["containers"].as_array()?;
    let mut ports = containers
        .iter()
        .filter_map(|c| c["ports"].as_array())
        .flatten();
    ports
        .find(|p| p["name"] == name)
        .map(|p| p["containerPort"].clone())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn pod(ready: &str, phase: &str, deleting: bool) -> Value {
        let mut pod = json!({
            "metadata": {"name": "a", "namespace": "shop", "uid": "u"},
            "spec": {"containers": [{"ports": [{"name": "http", "containerPort": 3000}]}]},
            "status": {"podIP": "127.1.2.3", "phase": phase, "conditions": [{"type": "Ready", "status": ready}]},
        });
        if deleting {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        pod
    }

    #[test]
    fn a_terminating_pod_is_not_ready_but_serves_until_its_probe_fails() {
        let cases = [
            (pod("True", "Running", false), false, [true, true, false]),
            (pod("False", "Running", false), false, [false, false, false]),
            (pod("True", "Running", true), false, [false, true, true]),
            (pod("False", "Running", true), false, [false, false, true]),
            (pod("False", "Running", true), true, [true, false, true]),
        ];
        for (pod, publish, expected) in cases {
            let conditions = &endpoint_of(&pod, publish).unwrap()["conditions"];
            let found = ["ready", "serving", "terminating"].map(|c| conditions[c] == true);
            assert_eq!(found, expected, "{pod}");
        }
    }

    #[test]
    fn an_ended_pod_and_one_without_address_are_no_endpoints() {
        assert_eq!(endpoint_of(&pod("False", "Succeeded", true), true), None);
        assert_eq!(
            endpoint_of(&json!({"status": {"phase": "Pending"}}), true),
            None
        );
    }

    #[test]
    fn endpoints_keep_their_order_and_new_ones_come_last() {
        let endpoint = |uid: &str| json!({"targetRef": {"uid": uid}});
        let next = merged(
            &[endpoint("c"), endpoint("b"), endpoint("a")],
            vec![endpoint("a"), endpoint("c"), endpoint("z")],
        );
        assert_eq!(next, [endpoint("c"), endpoint("a"), endpoint("z")]);
    }

    #[test]
    fn target_ports_are_looked_up_by_name() {
        let service = json!({"spec": {"ports": [
            {"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"},
            {"name": "admin", "port": 81, "targetPort": 9000},
            {"name": "plain", "port": 82},
            {"name": "missing", "port": 83, "targetPort": "nowhere"},
        ]}});
        let ports = ports_of(&service, &pod("True", "Running", false));
        let numbers: Vec<i64> = ports.iter().map(|p| p["port"].as_i64().unwrap()).collect();
        assert_eq!(numbers, [3000, 9000, 82]);
    }
}
