#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use serde_json::json;

use super::*;

fn pod(uid: &str, hash: &str, deleted: bool) -> Value {
    let mut pod = json!({
        "metadata": {"uid": uid, "name": format!("web-{uid}"), "labels": {"app": "web", "pod-template-hash": hash}},
        "spec": {"containers": [{"name": "web"}], "terminationGracePeriodSeconds": 7},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    });
    if deleted {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:30Z");
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(9);
    }
    pod
}

fn template(stamp: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}, "annotations": {"restartedAt": stamp}},
           "spec": {"containers": [{"name": "web"}]}})
}

fn deployment(generation: i64, stamp: &str) -> Value {
    json!({"metadata": {"uid": "d", "name": "web", "generation": generation},
           "spec": {"replicas": 2, "template": template(stamp)}, "status": {}})
}

fn replica_set(hash: &str, stamp: &str) -> Value {
    let mut template = template(stamp);
    template["metadata"]["labels"]["pod-template-hash"] = json!(hash);
    json!({"metadata": {"uid": hash, "name": format!("web-{hash}"), "labels": {"pod-template-hash": hash},
                        "ownerReferences": [{"uid": "d", "controller": true}]},
           "spec": {"template": template}})
}

fn state(events: &[(ObjectKind, WatchType, Value)]) -> ClusterState {
    let mut state = ClusterState::default();
    for (kind, event, object) in events {
        state.apply(*kind, *event, object);
    }
    state
}

fn two_old_pods() -> ClusterState {
    use ObjectKind::{Deployment, Pod, ReplicaSet};
    state(&[
        (Deployment, WatchType::Added, deployment(1, "then")),
        (ReplicaSet, WatchType::Added, replica_set("aaa", "then")),
        (Pod, WatchType::Added, pod("1", "aaa", false)),
        (Pod, WatchType::Added, pod("2", "aaa", false)),
    ])
}

fn rolled(state: &mut ClusterState) {
    use ObjectKind::{Deployment, Pod, ReplicaSet};
    state.apply(Deployment, WatchType::Modified, &deployment(2, "now"));
    state.apply(ReplicaSet, WatchType::Added, &replica_set("bbb", "now"));
    state.apply(Pod, WatchType::Added, &pod("3", "bbb", false));
}

#[test]
fn before_a_rollout_all_pods_count_as_old_and_none_is_left_to_wait_for() {
    let state = two_old_pods();
    let baseline = state.baseline();
    assert_eq!(state.counts(&baseline.template).old, 2);
    assert!(state.old_pods(&baseline).is_empty());
    assert_eq!(baseline.longest_grace_seconds, 30, "the template's default");
}

#[test]
fn old_pods_are_those_of_the_baseline_that_are_not_of_the_new_template() {
    let mut state = two_old_pods();
    let baseline = state.baseline();
    rolled(&mut state);
    let names: Vec<_> = state.old_pods(&baseline).iter().map(|p| &p.name).collect();
    assert_eq!(names, ["web-1", "web-2"]);
    state.apply(ObjectKind::Pod, WatchType::Modified, &pod("1", "aaa", true));
    let counts = state.counts(&baseline.template);
    assert_eq!((counts.old, counts.new, counts.terminating), (1, 1, 1));
    for uid in ["1", "2"] {
        state.apply(ObjectKind::Pod, WatchType::Deleted, &pod(uid, "aaa", true));
    }
    assert!(state.old_pods(&baseline).is_empty());
    assert_eq!(state.counts(&baseline.template).new, 1);
}

#[test]
fn until_the_new_replica_set_exists_every_pod_of_the_baseline_is_old() {
    let mut state = two_old_pods();
    let baseline = state.baseline();
    let changed = deployment(2, "now");
    state.apply(ObjectKind::Deployment, WatchType::Modified, &changed);
    assert_eq!(state.old_pods(&baseline).len(), 2);
}

#[test]
fn a_pod_scaled_down_without_a_new_template_is_waited_for_too() {
    let mut state = two_old_pods();
    let baseline = state.baseline();
    state.apply(ObjectKind::Pod, WatchType::Modified, &pod("2", "aaa", true));
    assert_eq!(state.old_pods(&baseline).len(), 1);
}

#[test]
fn each_template_is_kept_once_in_order() {
    let mut state = two_old_pods();
    for (generation, stamp) in [(1, "then"), (2, "now"), (3, "now"), (4, "then")] {
        let object = deployment(generation, stamp);
        state.apply(ObjectKind::Deployment, WatchType::Modified, &object);
    }
    let seen: Vec<i64> = state.templates.iter().map(|t| t.generation).collect();
    assert_eq!(seen, [1, 2, 4]);
}

#[test]
fn a_repeated_event_replaces_its_earlier_count() {
    let event = |count: i64| {
        json!({"metadata": {"uid": "e"}, "involvedObject": {"kind": "Pod", "name": "web-1"},
               "type": "Warning", "reason": "Unhealthy", "message": "503", "count": count})
    };
    let state = state(&[
        (ObjectKind::Event, WatchType::Added, event(1)),
        (ObjectKind::Event, WatchType::Modified, event(4)),
    ]);
    assert_eq!(state.events.len(), 1);
    assert_eq!(state.events.front().unwrap().count, 4);
}

#[test]
fn container_states_and_grace_of_the_deletion_are_read() {
    let mut object = pod("1", "aaa", true);
    object["status"]["containerStatuses"] = json!([{"name": "web", "restartCount": 2, "ready": false,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}]);
    let view = PodView::read(&object);
    assert_eq!(view.grace_seconds, 9);
    assert_eq!(view.containers[0].restarts, 2);
    assert!(matches!(&view.containers[0].state,
        crate::ContainerState::Waiting { reason, .. } if reason == "CrashLoopBackOff"));
}
