//! A small workload on the stand-in, and a collector that observes it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rollscope_collector::{Collector, Scope, WatchTiming, connect};
use rollscope_records::{
    Gap, ObjectKind, Recording, RecordingWriter, RunClock, RunRecord, TargetFacts, WatchRecord,
    WatchType,
};
use serde_json::{Value, json};

use crate::standin::Standin;

pub(crate) const PODS: &str = "/api/v1/namespaces/shop/pods";
pub(crate) const EVENTS: &str = "/api/v1/namespaces/shop/events";
pub(crate) const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/shop/deployments";
pub(crate) const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/shop/replicasets";
pub(crate) const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";

pub(crate) fn template(stamp: Option<&str>) -> Value {
    let mut template = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "web", "env": [{"name": "TOKEN", "value": "s3cret"}]}]},
    });
    if let Some(stamp) = stamp {
        template["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/restartedAt": stamp});
    }
    template
}

pub(crate) fn deployment(generation: i64, template: Value, updated: i64) -> Value {
    json!({
        "kind": "Deployment", "apiVersion": "apps/v1",
        "metadata": {"name": "web", "namespace": "shop", "uid": "uid-web", "generation": generation},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template},
        "status": {"observedGeneration": generation, "replicas": 1, "updatedReplicas": updated, "availableReplicas": updated},
    })
}

pub(crate) fn replica_set(hash: &str, mut template: Value) -> Value {
    template["metadata"]["labels"]["pod-template-hash"] = json!(hash);
    json!({
        "kind": "ReplicaSet", "apiVersion": "apps/v1",
        "metadata": {"name": format!("web-{hash}"), "namespace": "shop", "uid": format!("uid-{hash}"),
                     "labels": {"app": "web", "pod-template-hash": hash},
                     "ownerReferences": [{"uid": "uid-web", "controller": true}]},
        "spec": {"template": template},
    })
}

pub(crate) fn pod(name: &str, hash: &str, ready: bool) -> Value {
    json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
                     "labels": {"app": "web", "pod-template-hash": hash}},
        "spec": {"terminationGracePeriodSeconds": 1, "nodeName": "node1",
                 "containers": [{"name": "web", "env": [{"name": "TOKEN", "value": "s3cret"}]}]},
        "status": {"phase": "Running",
                   "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}],
                   "containerStatuses": [{"name": "web", "restartCount": 0, "ready": ready, "state": {"running": {}}}]},
    })
}

/// A stand-in with a Deployment of one pod, observed and recorded.
pub(crate) struct World {
    pub(crate) standin: Standin,
    pub(crate) collector: Collector,
    pub(crate) recorder: RecordingWriter,
    pub(crate) clock: RunClock,
    dir: tempfile::TempDir,
}

/// A stand-in with a Deployment of one pod.
pub(crate) async fn standin() -> Standin {
    let standin = Standin::start().await;
    standin.put(DEPLOYMENTS, deployment(1, template(None), 1));
    standin.put(REPLICA_SETS, replica_set("aaa", template(None)));
    standin.put(PODS, pod("web-aaa-1", "aaa", true));
    standin.put(
        EVENTS,
        json!({"metadata": {"name": "e1", "uid": "uid-e1"}, "reason": "Started"}),
    );
    standin.put(
        SLICES,
        json!({"kind": "EndpointSlice", "metadata": {"name": "web-x", "uid": "uid-x"}}),
    );
    standin
}

pub(crate) fn scope() -> Scope {
    Scope {
        namespace: "shop".to_owned(),
        deployment: "web".to_owned(),
        services: vec!["web".to_owned()],
    }
}

pub(crate) fn run_record(clock: &RunClock) -> RunRecord {
    RunRecord::new(
        "test",
        "test",
        "test",
        clock.wall_start_unix_nanos(),
        TargetFacts::of("kubernetes"),
    )
}

/// A recording in a temporary folder.
pub(crate) fn recorder(clock: &RunClock) -> (RecordingWriter, PathBuf, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.rollscope");
    let writer = RecordingWriter::create(&path, &run_record(clock)).unwrap();
    (writer, path, dir)
}

/// Waits for a condition; a test that waits in vain fails.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "in vain waited for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::start_with(WatchTiming::default()).await
    }

    pub(crate) async fn start_with(timing: WatchTiming) -> Self {
        let standin = standin().await;
        let clock = RunClock::start();
        let (recorder, _, dir) = recorder(&clock);
        let api = connect(&standin.url).unwrap();
        let collector = Collector::start_with(api, scope(), timing, clock, recorder.clone());
        let collector = collector.await.unwrap();
        let world = Self {
            standin,
            collector,
            recorder,
            clock,
            dir,
        };
        for collection in [PODS, EVENTS, DEPLOYMENTS, REPLICA_SETS, SLICES] {
            world.watched(collection).await;
        }
        world
    }

    /// Waits until exactly one watch of the collection is open.
    pub(crate) async fn watched(&self, collection: &str) {
        let what = format!("a watch of {collection}");
        eventually(&what, || self.standin.watchers(collection) == 1).await;
    }

    /// Waits until the collector knows (or no longer knows) the pod.
    pub(crate) async fn pod_known(&self, name: &str, known: bool) {
        let state = self.collector.state();
        let what = format!("pod {name} known: {known}");
        eventually(&what, || {
            state.borrow().pods.values().any(|p| p.name == name) == known
        })
        .await;
    }

    /// Stops and reads the recording.
    pub(crate) async fn finish(self) -> Recording {
        self.collector.stop().await;
        let clock = self.clock;
        let path = self.dir.path().join("run.rollscope");
        let recorder = self.recorder;
        tokio::task::spawn_blocking(move || recorder.finish(None, &run_record(&clock)))
            .await
            .unwrap()
            .unwrap();
        Recording::open(&path).unwrap()
    }
}

/// The events of a kind, as `ADDED web-1`.
pub(crate) fn events(recording: &Recording, wanted: ObjectKind) -> Vec<String> {
    let events = recording.watch.iter().filter_map(|record| match record {
        WatchRecord::Event {
            kind,
            event,
            object,
            ..
        } if *kind == wanted => {
            let event = match event {
                WatchType::Added => "ADDED",
                WatchType::Modified => "MODIFIED",
                WatchType::Deleted => "DELETED",
            };
            Some(format!(
                "{event} {}",
                object["metadata"]["name"].as_str().unwrap()
            ))
        }
        _ => None,
    });
    events.collect()
}

pub(crate) fn gaps<'a>(recording: &'a Recording, source: &'a str) -> Vec<&'a Gap> {
    recording.gaps().filter(|g| g.source == source).collect()
}
