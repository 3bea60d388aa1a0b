//! Graceful deletion of pods, as the API server does it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::object::{is_terminal, is_terminating, parse_time};
use crate::{Kind, Store, StoreError};

/// What a request to delete a pod did.
#[derive(Debug, Clone)]
pub(crate) enum Deletion {
    /// The pod has until its grace is over; the kubelet removes it. A later request can only shorten it.
    Graceful(Arc<Value>),
    /// The pod is gone.
    Removed(Arc<Value>),
}

impl Deletion {
    /// The pod as the request left it.
    pub(crate) fn into_pod(self) -> Arc<Value> {
        match self {
            Self::Graceful(pod) | Self::Removed(pod) => pod,
        }
    }
}

/// Asks for a pod's deletion with a grace in seconds (`None`: the pod's own).
///
/// A pod that was never bound to a node or that has ended goes at once, and so does every pod with grace 0.
pub(crate) fn delete_pod(
    store: &Store,
    namespace: &str,
    name: &str,
    grace: Option<i64>,
) -> Result<Deletion, StoreError> {
    let mut remove = false;
    let pod = store.update(Kind::Pod, namespace, name, |pod| {
        let grace = effective_grace(pod, grace);
        remove = grace == 0;
        mark(pod, grace);
    })?;
    if !remove {
        return Ok(Deletion::Graceful(pod));
    }
    store
        .remove(Kind::Pod, namespace, name)
        .map(Deletion::Removed)
}

fn effective_grace(pod: &Value, asked: Option<i64>) -> i64 {
    if pod["spec"]["nodeName"].is_null() || is_terminal(pod) {
        return 0;
    }
    let own = || pod["spec"]["terminationGracePeriodSeconds"].as_i64();
    match asked.or_else(own).unwrap_or(30) {
        grace if grace < 0 => 1,
        grace => grace,
    }
}

/// Writes the deletion's time and grace; an earlier request's are only ever shortened.
fn mark(pod: &mut Value, grace: i64) {
    let meta = &pod["metadata"];
    let requested = if is_terminating(pod) {
        let before = meta["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        if before <= grace {
            return;
        }
        let deadline = parse_time(&meta["deletionTimestamp"]).unwrap_or_else(Timestamp::now);
        deadline - SignedDuration::from_secs(before)
    } else {
        let generation = meta["generation"].as_i64().unwrap_or(1);
        pod["metadata"]["generation"] = json!(generation + 1);
        Timestamp::now()
    };
    let requested = if grace == 0 {
        Timestamp::now()
    } else {
        requested
    };
    let deadline = requested + SignedDuration::from_secs(grace);
    let written = deadline.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    pod["metadata"]["deletionTimestamp"] = json!(written);
    pod["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn pod(store: &Store, name: &str, node: Value, phase: &str) {
        let pod = json!({
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 30},
            "status": {"phase": phase},
        });
        store.create(Kind::Pod, pod).unwrap();
    }

    fn grace_and_request(pod: &Value) -> (i64, i64) {
        let grace = pod["metadata"]["deletionGracePeriodSeconds"]
            .as_i64()
            .unwrap();
        let deadline = parse_time(&pod["metadata"]["deletionTimestamp"]).unwrap();
        (grace, deadline.as_second() - grace)
    }

    #[test]
    fn deletion_timestamp_less_grace_is_the_time_of_the_request() {
        let store = Store::new();
        pod(&store, "a", json!("node1"), "Running");
        let before = Timestamp::now().as_second();
        let deleted = delete_pod(&store, "shop", "a", None).unwrap().into_pod();
        let (grace, requested) = grace_and_request(&deleted);
        assert_eq!(grace, 30);
        assert!((before..=Timestamp::now().as_second()).contains(&requested));
        assert_eq!(deleted["metadata"]["generation"], 2);
    }

    #[test]
    fn a_second_deletion_can_only_shorten_the_grace() {
        let store = Store::new();
        pod(&store, "a", json!("node1"), "Running");
        let first = delete_pod(&store, "shop", "a", Some(20))
            .unwrap()
            .into_pod();
        let longer = delete_pod(&store, "shop", "a", Some(60))
            .unwrap()
            .into_pod();
        assert_eq!(first, longer);
        let shorter = delete_pod(&store, "shop", "a", Some(5)).unwrap().into_pod();
        let (grace, requested) = grace_and_request(&shorter);
        assert_eq!((grace, requested), (5, grace_and_request(&first).1));
        assert_eq!(shorter["metadata"]["generation"], 2);
    }

    #[test]
    fn unbound_ended_and_zero_grace_pods_go_at_once() {
        let store = Store::new();
        pod(&store, "unbound", Value::Null, "Pending");
        pod(&store, "ended", json!("node1"), "Succeeded");
        pod(&store, "forced", json!("node1"), "Running");
        for (name, grace) in [("unbound", None), ("ended", None), ("forced", Some(0))] {
            let deletion = delete_pod(&store, "shop", name, grace).unwrap();
            assert!(matches!(deletion, Deletion::Removed(_)), "{name}");
            assert!(store.get(Kind::Pod, "shop", name).is_none());
        }
    }
}
