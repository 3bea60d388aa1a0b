//! Starts a follower for each container as soon as its pod is seen.

use std::collections::HashSet;

use rollscope_records::{RecordingWriter, RunClock};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::LogTail;
use super::follower::{Container, Follower};
use crate::{ApiServer, ClusterState};

/// Lines of the past that are taken over from a container that ran before we came.
const PAST_LINES: i64 = 20;

/// Follows the containers of every pod that shows up, until `stop` turns true.
pub(crate) async fn keep_following(
    api: ApiServer,
    namespace: String,
    clock: RunClock,
    recorder: RecordingWriter,
    tail: LogTail,
    mut state: watch::Receiver<ClusterState>,
    mut stop: watch::Receiver<bool>,
) {
    let mut followed: HashSet<(String, String)> = HashSet::new();
    let mut followers = JoinSet::new();
    let mut past_lines = Some(PAST_LINES);
    loop {
        let new = unfollowed(&state.borrow_and_update(), &mut followed);
        for container in new {
            let follower = Follower {
                api: api.clone(),
                namespace: namespace.clone(),
                clock,
                recorder: recorder.clone(),
                tail: tail.clone(),
                container,
                past_lines,
            };
            followers.spawn(follower.run(state.clone(), stop.clone()));
        }
        // Pods that come later are followed from their first line.
        past_lines = None;
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => break,
            changed = state.changed() => if changed.is_err() { break },
            Some(_) = followers.join_next(), if !followers.is_empty() => {}
        }
    }
    while followers.join_next().await.is_some() {}
}

fn unfollowed(state: &ClusterState, followed: &mut HashSet<(String, String)>) -> Vec<Container> {
    let mut new = Vec::new();
    for pod in state.pods.values() {
        for container in &pod.containers {
            if followed.insert((pod.uid.clone(), container.name.clone())) {
                new.push(Container {
                    pod_uid: pod.uid.clone(),
                    pod: pod.name.clone(),
                    name: container.name.clone(),
                });
            }
        }
    }
    new
}
