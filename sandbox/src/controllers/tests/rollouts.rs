//! Rollouts, from the first change to the last old pod.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::cluster::{Cluster, DEADLINE, deployment, service};
use crate::controllers::pace::Pace;
use crate::controllers::{Bounds, Controllers, condition};
use crate::{ChangeType, Kind, Store};

fn rolling(surge: Value, unavailable: Value) -> Value {
    json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
}

/// The most pods that counted as replicas and the fewest that were available, over all changes after `from`.
async fn extremes(store: &Store, from: u64) -> (usize, usize) {
    let end = store.version();
    let (mut active, mut available) = (BTreeSet::new(), BTreeSet::new());
    let (mut most, mut fewest) = (0, usize::MAX);
    let mut pods = store.watch(Kind::Pod, 0);
    // Something to end on.
    store
        .create(
            Kind::Pod,
            json!({"metadata": {"name": "end", "namespace": "end"}}),
        )
        .unwrap();
    loop {
        let change = pods.next().await.unwrap();
        if change.version > end {
            return (most, fewest);
        }
        let pod = &change.object;
        let uid = pod["metadata"]["uid"].as_str().unwrap().to_owned();
        let alive = change.change != ChangeType::Deleted
            && pod["metadata"]["deletionTimestamp"].is_null()
            && !matches!(
                pod["status"]["phase"].as_str(),
                Some("Succeeded" | "Failed")
            );
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
    cluster
        .store
        .create(Kind::Deployment, deployment(3, json!(null)))
        .unwrap();
    cluster.until_complete().await;
    let (sets, _) = cluster.store.list(Kind::ReplicaSet, None);
    let old = sets[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let from = cluster.store.version();
    cluster.restart();
    cluster.until_complete().await;
    let (sets, _) = cluster.store.list(Kind::ReplicaSet, None);
    let new = sets
        .iter()
        .find(|s| s["metadata"]["name"] != old.as_str())
        .unwrap();
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
    let last = cluster.deployment()["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse::<u64>()
        .unwrap();
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
        [
            "NewReplicaSetAvailable",
            "NewReplicaSetCreated",
            "ReplicaSetUpdated",
            "NewReplicaSetAvailable"
        ]
    );
    let deployment = cluster.deployment();
    assert_eq!(
        deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "2"
    );
    assert_eq!(deployment["metadata"]["generation"], 2);
}

/// The Deployment's watch stream of a restart of 3 replicas, from a recording of Kubernetes 1.36.2: replicas, updated,
/// ready, available, unavailable, terminating, and the reason of Progressing.
const RECORDED: [([i64; 6], &str); 14] = [
    ([3, 3, 3, 3, 0, 0], "NewReplicaSetAvailable"),
    ([3, 3, 3, 3, 0, 0], "NewReplicaSetCreated"),
    ([4, 1, 3, 3, 1, 0], "NewReplicaSetCreated"),
    ([4, 1, 4, 4, 0, 0], "ReplicaSetUpdated"),
    ([3, 1, 3, 3, 1, 1], "ReplicaSetUpdated"),
    ([4, 2, 3, 3, 1, 1], "ReplicaSetUpdated"),
    ([4, 2, 4, 4, 0, 1], "ReplicaSetUpdated"),
    ([3, 2, 3, 3, 1, 2], "ReplicaSetUpdated"),
    ([4, 3, 3, 3, 1, 2], "ReplicaSetUpdated"),
    ([4, 3, 4, 4, 0, 2], "ReplicaSetUpdated"),
    ([3, 3, 3, 3, 0, 3], "NewReplicaSetAvailable"),
    ([3, 3, 3, 3, 0, 2], "NewReplicaSetAvailable"),
    ([3, 3, 3, 3, 0, 1], "NewReplicaSetAvailable"),
    ([3, 3, 3, 3, 0, 0], "NewReplicaSetAvailable"),
];

#[tokio::test]
async fn the_status_of_a_restart_changes_as_recorded_on_a_real_cluster() {
    // Slower than real, so that a busy machine does not merge two changes into one.
    let pace = Pace {
        replica_set: Pace::REAL.replica_set * 4,
        deployment: Pace::REAL.deployment * 4,
        new_replica_set: Pace::REAL.new_replica_set * 4,
    };
    let cluster = Cluster::start_at(pace, Duration::from_millis(600), Duration::from_secs(5));
    cluster
        .store
        .create(Kind::Deployment, deployment(3, json!(null)))
        .unwrap();
    cluster.until_complete().await;
    let mut deployments = cluster
        .store
        .watch(Kind::Deployment, cluster.store.version());
    cluster.restart();
    let mut seen = Vec::new();
    while seen.len() < RECORDED.len() {
        let change = timeout(DEADLINE, deployments.next())
            .await
            .unwrap()
            .unwrap();
        let status = &change.object["status"];
        let fields = [
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
        ];
        let counts = fields.map(|field| status[field].as_i64().unwrap_or(0));
        let reason = condition(&change.object, "Progressing").unwrap()["reason"].clone();
        seen.push((counts, reason.as_str().unwrap().to_owned()));
    }
    let recorded = RECORDED.map(|(counts, reason)| (counts, reason.to_owned()));
    assert_eq!(seen, recorded);
}

#[tokio::test]
async fn recreate_waits_until_all_old_pods_are_gone() {
    let cluster = Cluster::start();
    cluster
        .store
        .create(Kind::Deployment, deployment(3, json!({"type": "Recreate"})))
        .unwrap();
    cluster.until_complete().await;
    let from = cluster.store.version();
    cluster.restart();
    cluster.until_complete().await;
    let (most, fewest) = extremes(&cluster.store, from).await;
    assert_eq!((most, fewest), (3, 0));
}

#[tokio::test]
async fn a_paused_deployment_does_not_roll_until_it_is_resumed() {
    let cluster = Cluster::start();
    cluster
        .store
        .create(Kind::Deployment, deployment(2, json!(null)))
        .unwrap();
    cluster.until_complete().await;
    let pause = |paused: bool| {
        cluster
            .store
            .update(Kind::Deployment, "shop", "web", |d| {
                d["spec"]["paused"] = json!(paused)
            })
            .unwrap();
    };
    pause(true);
    cluster.restart();
    cluster
        .until("the paused generation is observed", |store| {
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
    cluster
        .until("ready but not available", |store| {
            let d = store.get(Kind::Deployment, "shop", "web").unwrap();
            d["status"]["readyReplicas"] == 1 && d["status"]["availableReplicas"].is_null()
        })
        .await;
    cluster.until_complete().await;
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
