//! The one node.

use std::thread::available_parallelism;

use serde_json::{Value, json};

use crate::timestamp::seconds_now;

/// The node's name.
pub(crate) const NODE: &str = "node1";
/// The version that the node's kubelet reports: the Kubernetes version whose contract the sandbox follows.
pub(crate) const KUBELET_VERSION: &str = "v1.36.0+rollscope";

/// The Node object.
pub(super) fn node() -> Value {
    let now = seconds_now();
    let cpus = available_parallelism().map_or(1, usize::from).to_string();
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let pressure = |name: &str, reason: &str| {
        json!({"type": name, "status": "False", "lastHeartbeatTime": now, "lastTransitionTime": now, "reason": reason,
            "message": "the sandbox does not measure it"})
    };
    json!({
        "metadata": {"name": NODE, "labels": {
            "kubernetes.io/arch": architecture,
            "kubernetes.io/hostname": NODE,
            "kubernetes.io/os": "linux",
        }},
        "spec": {},
        "status": {
            "capacity": {"cpu": cpus, "pods": "110"},
            "allocatable": {"cpu": cpus, "pods": "110"},
            "conditions": [
                pressure("MemoryPressure", "KubeletHasSufficientMemory"),
                pressure("DiskPressure", "KubeletHasNoDiskPressure"),
                pressure("PIDPressure", "KubeletHasSufficientPID"),
                {"type": "Ready", "status": "True", "lastHeartbeatTime": now, "lastTransitionTime": now,
                    "reason": "KubeletReady", "message": "kubelet is posting ready status"},
            ],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": NODE}],
            "nodeInfo": {
                "kubeletVersion": KUBELET_VERSION,
                "containerRuntimeVersion": "rollscope://0",
                "operatingSystem": "linux",
                "architecture": architecture,
            },
        },
    })
}
