//! What becomes of pods, endpoints and ReplicaSets.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::cluster::{Cluster, DEADLINE, deployment, service};
use crate::Kind;
use crate::controllers::{NODE, delete_pod};

#[tokio::test]
async fn a_pod_keeps_its_generation_when_bound_and_gets_the_next_when_deleted() {
    let cluster = Cluster::start();
    cluster
        .store
        .create(Kind::Deployment, deployment(1, json!(null)))
        .unwrap();
    cluster.until_complete().await;
    let (pods, _) = cluster.store.list(Kind::Pod, None);
    assert_eq!(pods[0]["spec"]["nodeName"], NODE);
    assert_eq!(pods[0]["metadata"]["generation"], 1);
    assert_eq!(
        pods[0]["metadata"]["ownerReferences"][0]["kind"],
        "ReplicaSet"
    );
    let name = pods[0]["metadata"]["name"].as_str().unwrap();
    let deleted = delete_pod(&cluster.store, "shop", name, None)
        .unwrap()
        .into_pod();
    assert_eq!(deleted["metadata"]["generation"], 2);
    cluster
        .until("another pod took its place", |store| {
            let (pods, _) = store.list(Kind::Pod, None);
            pods.len() == 1 && pods[0]["metadata"]["name"] != name
        })
        .await;
}

#[tokio::test]
async fn an_endpoint_flips_once_when_its_pod_is_deleted_and_goes_with_the_terminal_phase() {
    let cluster = Cluster::start();
    cluster.store.create(Kind::Service, service()).unwrap();
    cluster
        .store
        .create(Kind::Deployment, deployment(1, json!(null)))
        .unwrap();
    cluster.until_complete().await;
    let (pods, _) = cluster.store.list(Kind::Pod, None);
    let uid = pods[0]["metadata"]["uid"].clone();
    let from = cluster.store.version();
    cluster.restart();
    cluster.until_complete().await;
    cluster
        .until("the endpoint is gone", |store| {
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
async fn scaling_keeps_the_replica_set() {
    let cluster = Cluster::start();
    cluster
        .store
        .create(Kind::Deployment, deployment(2, json!(null)))
        .unwrap();
    cluster.until_complete().await;
    for replicas in [5, 1, 0, 2] {
        cluster
            .store
            .update(Kind::Deployment, "shop", "web", |d| {
                d["spec"]["replicas"] = json!(replicas)
            })
            .unwrap();
        cluster.until_complete().await;
    }
    assert_eq!(cluster.store.list(Kind::ReplicaSet, None).0.len(), 1);
}

#[tokio::test]
async fn going_back_to_an_old_template_reuses_its_replica_set() {
    let cluster = Cluster::start();
    cluster
        .store
        .create(Kind::Deployment, deployment(2, json!(null)))
        .unwrap();
    cluster.until_complete().await;
    let first = cluster.deployment()["spec"]["template"].clone();
    cluster.restart();
    cluster.until_complete().await;
    cluster
        .store
        .update(Kind::Deployment, "shop", "web", |d| {
            d["spec"]["template"] = first
        })
        .unwrap();
    cluster.until_complete().await;
    let (sets, _) = cluster.store.list(Kind::ReplicaSet, None);
    assert_eq!(sets.len(), 2);
    let active = sets.iter().find(|s| s["spec"]["replicas"] == 2).unwrap();
    let annotations = &active["metadata"]["annotations"];
    assert_eq!(annotations["deployment.kubernetes.io/revision"], "3");
    assert_eq!(
        annotations["deployment.kubernetes.io/revision-history"],
        "1"
    );
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
    cluster
        .until("one old ReplicaSet is left", |store| {
            store.list(Kind::ReplicaSet, None).0.len() == 2
        })
        .await;
}

#[tokio::test]
async fn what_a_deleted_deployment_owned_goes_too() {
    let cluster = Cluster::start();
    cluster
        .store
        .create(Kind::Deployment, deployment(2, json!(null)))
        .unwrap();
    cluster.until_complete().await;
    cluster
        .store
        .remove(Kind::Deployment, "shop", "web")
        .unwrap();
    let mut written = cluster.store.subscribe();
    let gone = timeout(DEADLINE, async {
        while !cluster.store.list(Kind::Pod, None).0.is_empty() {
            written.changed().await.unwrap();
        }
    });
    gone.await.unwrap();
    assert!(cluster.store.list(Kind::ReplicaSet, None).0.is_empty());
}
