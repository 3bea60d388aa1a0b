
use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::pace::Pace;
use super::*;
use crate::manifest::defaults;
use crate::timestamp::seconds_now;
use crate::{ChangeType, Kind, Store};

const DEADLINE: Duration = Duration::from_secs(20);

fn deployment(replicas: i64, strategy: Value) -> Value {
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

fn service() -> Value {
    json!({
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]},
    })
}

fn rolling(surge: Value, unavailable: Value) -> Value {
    json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
}

/// Stands for the kubelet: a bound pod becomes ready, a deleted one ends and goes; both after a few milliseconds.
async fn synthetic_kubelet(store: Store) {
    let mut pods = store.watch(Kind::Pod, 0);
    let mut next_ip = 0_u8;
    while let Ok(change) = pods.next().await {
        let pod = &change.object;
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        if change.change == ChangeType::Deleted || pod["spec"]["nodeName"].is_null() {
            continue;
        }
        let deleting = pod["metadata"]["deletionTimestamp"].is_string();
        let ready = condition(pod, "Ready").is_some();
        if deleting && pod["status"]["phase"] != "Succeeded" {
            tokio::time::sleep(Duration::from_millis(2)).await;
            let _ = store.update(Kind::Pod, "shop", &name, |p| {
                p["status"]["phase"] = json!("Succeeded");
            });
        } else if deleting {
            let _ = store.remove(Kind::Pod, "shop", &name);
        } else if !ready {
            next_ip += 1;
            tokio::time::sleep(Duration::from_millis(2)).await;
            let _ = store.update(Kind::Pod, "shop", &name, |p| {
                p["status"]["phase"] = json!("Running");
                p["status"]["podIP"] = json!(format!("127.9.9.{next_ip}"));
                if let Value::Array(conditions) = &mut p["status"]["conditions"] {
                    conditions.push(json!({"type": "Ready", "status": "True", "lastTransitionTime": seconds_now()}));
                }
            });
        }
    }
}

/// A cluster with controllers and the synthetic kubelet.
struct Cluster {
    store: Store,
    _controllers: Controllers,
    kubelet: tokio::task::JoinHandle<()>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kubelet.abort();
    }
}

impl Cluster {
    fn start() -> Self {
        let store = Store::new();
        Self {
            _controllers: Controllers::start_at(&store, Pace::NONE),
            kubelet: tokio::spawn(synthetic_kubelet(store.clone())),
            store,
        }
    }

    fn deployment(&self) -> Value {
        Value::clone(&self.store.get(Kind::Deployment, "shop", "web").unwrap())
    }

    /// Waits until a condition on the store holds.
    async fn until(&self, what: &str, holds: impl Fn(&Store) -> bool) {
        let mut written = self.store.subscribe();
        let waited = timeout(DEADLINE, async {
            while !holds(&self.store) {
                written.changed().await.unwrap();
            }
        });
        if waited.await.is_err() {
            let (pods, _) = self.store.list(Kind::Pod, None);
            panic!("not in time: {what}\n{:#}\n{pods:#?}", self.deployment()["status"]);
        }
    }

    async fn until_complete(&self) {
        self.until("the rollout is complete and all old pods are gone", |store| {
            let deployment = store.get(Kind::Deployment, "shop", "web").unwrap();
            let status = &deployment["status"];
            let desired = &deployment["spec"]["replicas"];
            let all = ["replicas", "updatedReplicas", "availableReplicas"];
            let progressing = condition(&deployment, "Progressing").map(|c| c["reason"].clone());
            status["observedGeneration"] == deployment["metadata"]["generation"]
                && all.iter().all(|f| status[f].as_i64().unwrap_or(0) == desired.as_i64().unwrap())
                && status["terminatingReplicas"] == 0
                && progressing == Some(json!("NewReplicaSetAvailable"))
        })
        .await;
    }

    fn restart(&self) {
        self.store
            .update(Kind::Deployment, "shop", "web", |d| {
                let count = d["spec"]["template"]["metadata"]["annotations"]["n"].as_i64().unwrap_or(0);
                d["spec"]["template"]["metadata"]["annotations"]["n"] = json!(count + 1);
            })
            .unwrap();
    }

    fn events(&self, reason: &str) -> Vec<String> {
        let (mut events, _) = self.store.list(Kind::Event, None);
        events.retain(|e| e["reason"] == reason);
        events.sort_by_key(|e| e["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap());
        events.iter().map(|e| e["message"].as_str().unwrap().to_owned()).collect()
    }
}

/// The most pods that counted as replicas and the fewest that were available, over all changes after `from`.
async fn extremes(store: &Store, from: u64) -> (usize, usize) {
    let end = store.version();
    let (mut active, mut available) = (BTreeSet::new(), BTreeSet::new());
    let (mut most, mut fewest) = (0, usize::MAX);
    let mut pods = store.watch(Kind::Pod, 0);
    // Something to end on.
    store.create(Kind::Pod, json!({"metadata": {"name": "end", "namespace": "end"}})).unwrap();
    loop {
        let change = pods.next().await.unwrap();
        if change.version > end {
            return (most, fewest);
        }
        let pod = &change.object;
        let uid = pod["metadata"]["uid"].as_str().unwrap().to_owned();
        let alive = change.change != ChangeType::Deleted
            && pod["metadata"]["deletionTimestamp"].is_null()
            && !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        let ready = condition(pod, "Ready").is_some_and(|c| c["status"] == "True");
        for (set, belongs) in [(&mut active, alive), (&mut available, alive && ready)] {
            if belongs {
                set.insert(uid.clone());
            } else {
                set.remove(&uid);
            }
        }
        if change.version > from {
            most = most.max(active.len());
            fewest = fewest.min(available.len());
        }
    }
}

#[tokio::test]
async fn a_restart_makes_the_transitions_of_a_real_cluster() {
    let cluster = Cluster::start();
    cluster.store.create(Kind::Service, service()).unwrap();
    cluster.store.create(Kind::Deployment, deployment(3, json!(null))).unwrap();
    cluster.until_complete().await;
    let (sets, _) = cluster.store.list(Kind::ReplicaSet, None);
    let old = sets[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let from = cluster.store.version();
    cluster.restart();
    cluster.until_complete().await;
    let (sets, _) = cluster.store.list(Kind::ReplicaSet, None);
    let new = sets.iter().find(|s| s["metadata"]["name"] != old.as_str()).unwrap();
    let new = new["metadata"]["name"].as_str().unwrap().to_owned();
    // As in the recordings of a real cluster.
    assert_eq!(
        cluster.events("ScalingReplicaSet"),
        [
            format!("Scaled up replica set {old} from 0 to 3"),
            format!("Scaled up replica set {new} from 0 to 1"),
            format!("Scaled down replica set {old} from 3 to 2"),
            format!("Scaled up replica set {new} from 1 to 2"),
            format!("Scaled down replica set {old} from 2 to 1"),
            format!("Scaled up replica set {new} from 2 to 3"),
            format!("Scaled down replica set {old} from 1 to 0"),
        ]
    );
    assert_eq!(cluster.events("SuccessfulCreate").len(), 6);
    assert_eq!(cluster.events("SuccessfulDelete").len(), 3);
    assert_eq!(cluster.events("Scheduled").len(), 6);
    let mut reasons = Vec::new();
    let mut deployments = cluster.store.watch(Kind::Deployment, from);
    let last = cluster.deployment()["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    loop {
        let change = deployments.next().await.unwrap();
        let progressing = condition(&change.object, "Progressing").unwrap();
        let reason = progressing["reason"].as_str().unwrap().to_owned();
        if reasons.last() != Some(&reason) {
            reasons.push(reason);
        }
        if change.version >= last {
            break;
        }
    }
    assert_eq!(
        reasons,
        ["NewReplicaSetAvailable", "NewReplicaSetCreated", "ReplicaSetUpdated", "NewReplicaSetAvailable"]
    );
    let deployment = cluster.deployment();
    assert_eq!(deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "2");
    assert_eq!(deployment["metadata"]["generation"], 2);
}

#[tokio::test]
async fn a_pod_keeps_its_generation_when_bound_and_gets_the_next_when_deleted() {
    let cluster = Cluster::start();
    cluster.store.create(Kind::Deployment, deployment(1, json!(null))).unwrap();
    cluster.until_complete().await;
    let (pods, _) = cluster.store.list(Kind::Pod, None);
    assert_eq!(pods[0]["spec"]["nodeName"], NODE);
    assert_eq!(pods[0]["metadata"]["generation"], 1);
    assert_eq!(pods[0]["metadata"]["ownerReferences"][0]["kind"], "ReplicaSet");
    let name = pods[0]["metadata"]["name"].as_str().unwrap();
    let deleted = delete_pod(&cluster.store, "shop", name, None).unwrap().into_pod();
    assert_eq!(deleted["metadata"]["generation"], 2);
    cluster.until("another pod took its place", |store| {
        let (pods, _) = store.list(Kind::Pod, None);
        pods.len() == 1 && pods[0]["metadata"]["name"] != name
    })
    .await;
}

#[tokio::test]
async fn an_endpoint_flips_once_when_its_pod_is_deleted_and_goes_with_the_terminal_phase() {
    let cluster = Cluster::start();
    cluster.store.create(Kind::Service, service()).unwrap();
    cluster.store.create(Kind::Deployment, deployment(1, json!(null))).unwrap();
    cluster.until_complete().await;
    let (pods, _) = cluster.store.list(Kind::Pod, None);
    let uid = pods[0]["metadata"]["uid"].clone();
    let from = cluster.store.version();
    cluster.restart();
    cluster.until_complete().await;
    cluster.until("the endpoint is gone", |store| {
        let (slices, _) = store.list(Kind::EndpointSlice, None);
        let endpoints = slices[0]["endpoints"].as_array().unwrap();
        endpoints.len() == 1 && endpoints[0]["targetRef"]["uid"] != uid
    })
    .await;
    let (_, end) = cluster.store.list(Kind::EndpointSlice, None);
    let mut seen: Vec<Value> = Vec::new();
    let mut slices = cluster.store.watch(Kind::EndpointSlice, from);
    while let Ok(Ok(change)) = timeout(Duration::from_millis(200), slices.next()).await {
        let endpoints = change.object["endpoints"].as_array().unwrap();
        let old = endpoints.iter().find(|e| e["targetRef"]["uid"] == uid);
        let state = old.map_or(json!("gone"), |e| e["conditions"].clone());
        if seen.last() != Some(&state) {
            seen.push(state);
        }
        if change.version >= end {
            break;
        }
    }
    assert_eq!(
        seen,
        [
            json!({"ready": true, "serving": true, "terminating": false}),
            json!({"ready": false, "serving": true, "terminating": true}),
            json!("gone"),
        ]
    );
}

#[tokio::test]
async fn recreate_waits_until_all_old_pods_are_gone() {
    let cluster = Cluster::start();
    cluster.store.create(Kind::Deployment, deployment(3, json!({"type": "Recreate"}))).unwrap();
    cluster.until_complete().await;
    let from = cluster.store.version();
    cluster.restart();
    cluster.until_complete().await;
    let (most, fewest) = extremes(&cluster.store, from).await;
    assert_eq!((most, fewest), (3, 0));
}

#[tokio::test]
async fn scaling_keeps_the_replica_set() {
    let cluster = Cluster::start();
    cluster.store.create(Kind::Deployment, deployment(2, json!(null))).unwrap();
    cluster.until_complete().await;
    for replicas in [5, 1, 0, 2] {
        cluster
            .store
            .update(Kind::Deployment, "shop", "web", |d| d["spec"]["replicas"] = json!(replicas))
            .unwrap();
        cluster.until_complete().await;
    }
    assert_eq!(cluster.store.list(Kind::ReplicaSet, None).0.len(), 1);
}

#[tokio::test]
async fn a_paused_deployment_does_not_roll_until_it_is_resumed() {
    let cluster = Cluster::start();
    cluster.store.create(Kind::Deployment, deployment(2, json!(null))).unwrap();
    cluster.until_complete().await;
    let pause = |paused: bool| {
        cluster
            .store
            .update(Kind::Deployment, "shop", "web", |d| d["spec"]["paused"] = json!(paused))
            .unwrap();
    };
    pause(true);
    cluster.restart();
    cluster.until("the paused generation is observed", |store| {
        let d = store.get(Kind::Deployment, "shop", "web").unwrap();
        d["status"]["observedGeneration"] == d["metadata"]["generation"]
            && condition(&d, "Progressing").is_some_and(|c| c["reason"] == "DeploymentPaused")
    })
    .await;
    assert_eq!(cluster.store.list(Kind::ReplicaSet, None).0.len(), 1);
    pause(false);
    cluster.until_complete().await;
    assert_eq!(cluster.store.list(Kind::ReplicaSet, None).0.len(), 2);
}

#[tokio::test]
async fn going_back_to_an_old_template_reuses_its_replica_set() {
    let cluster = Cluster::start();
    cluster.store.create(Kind::Deployment, deployment(2, json!(null))).unwrap();
    cluster.until_complete().await;
    let first = cluster.deployment()["spec"]["template"].clone();
    cluster.restart();
    cluster.until_complete().await;
    cluster
        .store
        .update(Kind::Deployment, "shop", "web", |d| d["spec"]["template"] = first)
        .unwrap();
    cluster.until_complete().await;
    let (sets, _) = cluster.store.list(Kind::ReplicaSet, None);
    assert_eq!(sets.len(), 2);
    let active = sets.iter().find(|s| s["spec"]["replicas"] == 2).unwrap();
    let annotations = &active["metadata"]["annotations"];
    assert_eq!(annotations["deployment.kubernetes.io/revision"], "3");
    assert_eq!(annotations["deployment.kubernetes.io/revision-history"], "1");
}

#[tokio::test]
async fn old_replica_sets_over_the_history_limit_are_removed() {
    let cluster = Cluster::start();
    let mut limited = deployment(1, json!(null));
    limited["spec"]["revisionHistoryLimit"] = json!(1);
    cluster.store.create(Kind::Deployment, limited).unwrap();
    cluster.until_complete().await;
    for _ in 0..3 {
        cluster.restart();
        cluster.until_complete().await;
    }
    cluster.until("one old ReplicaSet is left", |store| store.list(Kind::ReplicaSet, None).0.len() == 2).await;
}

#[tokio::test]
async fn a_rollout_that_stands_still_exceeds_its_progress_deadline() {
    let store = Store::new();
    // No kubelet: nothing ever becomes ready.
    let _controllers = Controllers::start(&store);
    let mut stuck = deployment(1, json!(null));
    stuck["spec"]["progressDeadlineSeconds"] = json!(1);
    store.create(Kind::Deployment, stuck).unwrap();
    let mut written = store.subscribe();
    let exceeded = timeout(DEADLINE, async {
        loop {
            let d = store.get(Kind::Deployment, "shop", "web").unwrap();
            let progressing = condition(&d, "Progressing").cloned().unwrap_or_default();
            if progressing["reason"] == "ProgressDeadlineExceeded" {
                return progressing;
            }
            written.changed().await.unwrap();
        }
    });
    assert_eq!(exceeded.await.unwrap()["status"], "False");
}

#[tokio::test]
async fn minimum_ready_seconds_delay_availability() {
    let cluster = Cluster::start();
    let mut slow = deployment(1, json!(null));
    slow["spec"]["minReadySeconds"] = json!(1);
    cluster.store.create(Kind::Deployment, slow).unwrap();
    cluster.until("ready but not available", |store| {
        let d = store.get(Kind::Deployment, "shop", "web").unwrap();
        d["status"]["readyReplicas"] == 1 && d["status"]["availableReplicas"].is_null()
    })
    .await;
    cluster.until_complete().await;
}

#[tokio::test]
async fn what_a_deleted_deployment_owned_goes_too() {
    let cluster = Cluster::start();
    cluster.store.create(Kind::Deployment, deployment(2, json!(null))).unwrap();
    cluster.until_complete().await;
    cluster.store.remove(Kind::Deployment, "shop", "web").unwrap();
    let mut written = cluster.store.subscribe();
    let gone = timeout(DEADLINE, async {
        while !cluster.store.list(Kind::Pod, None).0.is_empty() {
            written.changed().await.unwrap();
        }
    });
    gone.await.unwrap();
    assert!(cluster.store.list(Kind::ReplicaSet, None).0.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pods_never_exceed_the_surge_nor_fall_below_the_minimum(
        replicas in 1_i64..8,
        surge in prop_oneof![(0_i64..4).prop_map(Value::from), (0..100_u8).prop_map(|p| json!(format!("{p}%")))],
        unavailable in prop_oneof![(0_i64..4).prop_map(Value::from), (0..100_u8).prop_map(|p| json!(format!("{p}%")))],
    ) {
        let strategy = rolling(surge, unavailable);
        prop_assume!(Bounds::check(&strategy).is_ok());
        let bounds = Bounds::of(&strategy, replicas);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (most, fewest) = runtime.block_on(async {
            let cluster = Cluster::start();
            cluster.store.create(Kind::Deployment, deployment(replicas, strategy)).unwrap();
            cluster.until_complete().await;
            let from = cluster.store.version();
            cluster.restart();
            cluster.until_complete().await;
            extremes(&cluster.store, from).await
        });
        let most = i64::try_from(most).unwrap();
        let fewest = i64::try_from(fewest).unwrap();
        prop_assert!(most <= replicas + bounds.surge, "{most} pods of {replicas}, {bounds:?}");
        prop_assert!(fewest >= replicas - bounds.unavailable, "{fewest} available of {replicas}, {bounds:?}");
    }
}
