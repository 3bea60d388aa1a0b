//! A cluster without processes: the controllers, and a stand-in for the kubelet.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::controllers::pace::Pace;
use crate::controllers::{Controllers, condition};
use crate::manifest::defaults;
use crate::timestamp::seconds_now;
use crate::{ChangeType, Kind, Store};

pub(super) const DEADLINE: Duration = Duration::from_secs(20);

pub(super) fn deployment(replicas: i64, strategy: Value) -> Value {
    let mut deployment = json!({
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {
            "replicas": replicas,
            "strategy": strategy,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "command": ["x"], "ports": [{"name": "http", "containerPort": 3000}]}]},
            },
        },
        "status": {},
    });
    defaults::fill(Kind::Deployment, &mut deployment);
    deployment
}

pub(super) fn service() -> Value {
    json!({
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]},
    })
}

/// Stands for the kubelet: a bound pod becomes ready, a deleted one ends and then goes.
pub(super) async fn synthetic_kubelet(store: Store, ready_after: Duration, ends_after: Duration) {
    let mut pods = store.watch(Kind::Pod, 0);
    let mut next_ip = 0_u8;
    let mut seen = BTreeSet::new();
    while let Ok(change) = pods.next().await {
        let pod = &change.object;
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        if change.change == ChangeType::Deleted || pod["spec"]["nodeName"].is_null() {
            continue;
        }
        let store = store.clone();
        let deleting = pod["metadata"]["deletionTimestamp"].is_string();
        if !seen.insert((name.clone(), deleting)) {
            continue;
        }
        if deleting {
            tokio::spawn(async move {
                tokio::time::sleep(ends_after).await;
                let _ = store.update(Kind::Pod, "shop", &name, |p| {
                    p["status"]["phase"] = json!("Succeeded")
                });
                tokio::time::sleep(Duration::from_millis(2)).await;
                let _ = store.remove(Kind::Pod, "shop", &name);
            });
            continue;
        }
        next_ip += 1;
        tokio::spawn(async move {
            tokio::time::sleep(ready_after).await;
            let _ = store.update(Kind::Pod, "shop", &name, |p| {
                p["status"]["phase"] = json!("Running");
                p["status"]["podIP"] = json!(format!("127.9.9.{next_ip}"));
                if let Value::Array(conditions) = &mut p["status"]["conditions"] {
                    conditions.push(json!({"type": "Ready", "status": "True", "lastTransitionTime": seconds_now()}));
                }
            });
        });
    }
}

/// A cluster with controllers and the synthetic kubelet.
pub(super) struct Cluster {
    pub(super) store: Store,
    _controllers: Controllers,
    kubelet: tokio::task::JoinHandle<()>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kubelet.abort();
    }
}

impl Cluster {
    pub(super) fn start() -> Self {
        Self::start_at(
            Pace::NONE,
            Duration::from_millis(2),
            Duration::from_millis(2),
        )
    }

    pub(super) fn start_at(pace: Pace, ready_after: Duration, ends_after: Duration) -> Self {
        let store = Store::new();
        Self {
            _controllers: Controllers::start_at(&store, pace),
            kubelet: tokio::spawn(synthetic_kubelet(store.clone(), ready_after, ends_after)),
            store,
        }
    }

    pub(super) fn deployment(&self) -> Value {
        Value::clone(&self.store.get(Kind::Deployment, "shop", "web").unwrap())
    }

    /// Waits until a condition on the store holds.
    pub(super) async fn until(&self, what: &str, holds: impl Fn(&Store) -> bool) {
        let mut written = self.store.subscribe();
        let waited = timeout(DEADLINE, async {
            while !holds(&self.store) {
                written.changed().await.unwrap();
            }
        });
        if waited.await.is_err() {
            let (pods, _) = self.store.list(Kind::Pod, None);
            panic!(
                "not in time: {what}\n{:#}\n{pods:#?}",
                self.deployment()["status"]
            );
        }
    }

    pub(super) async fn until_complete(&self) {
        self.until(
            "the rollout is complete and all old pods are gone",
            |store| {
                let deployment = store.get(Kind::Deployment, "shop", "web").unwrap();
                let status = &deployment["status"];
                let desired = &deployment["spec"]["replicas"];
                let all = ["replicas", "updatedReplicas", "availableReplicas"];
                let progressing =
                    condition(&deployment, "Progressing").map(|c| c["reason"].clone());
                status["observedGeneration"] == deployment["metadata"]["generation"]
                    && all
                        .iter()
                        .all(|f| status[f].as_i64().unwrap_or(0) == desired.as_i64().unwrap())
                    && status["terminatingReplicas"] == 0
                    && progressing == Some(json!("NewReplicaSetAvailable"))
            },
        )
        .await;
    }

    pub(super) fn restart(&self) {
        self.store
            .update(Kind::Deployment, "shop", "web", |d| {
                let count = d["spec"]["template"]["metadata"]["annotations"]["n"]
                    .as_i64()
                    .unwrap_or(0);
                d["spec"]["template"]["metadata"]["annotations"]["n"] = json!(count + 1);
            })
            .unwrap();
    }

    pub(super) fn events(&self, reason: &str) -> Vec<String> {
        let (mut events, _) = self.store.list(Kind::Event, None);
        events.retain(|e| e["reason"] == reason);
        events.sort_by_key(|e| {
            e["metadata"]["resourceVersion"]
                .as_str()
                .unwrap()
                .parse::<u64>()
                .unwrap()
        });
        events
            .iter()
            .map(|e| e["message"].as_str().unwrap().to_owned())
            .collect()
    }
}
