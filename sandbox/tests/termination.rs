//! How pods end: the termination contract, with the process table and the wall clock as witnesses.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod support;

use std::time::{Duration, Instant};

use rollscope_sandbox::ChangeType;
use serde_json::json;
use support::{Cluster, condition, mark, pod, processes, state, until_no_process};

/// When the pod's deletion was first seen, and the changes since then with their delay.
fn since_deletion(
    cluster: &Cluster,
) -> Vec<(Duration, ChangeType, std::sync::Arc<serde_json::Value>)> {
    let changes = cluster.changes();
    let deleted =
        |c: &rollscope_sandbox::Change| !c.object["metadata"]["deletionTimestamp"].is_null();
    let t0 = changes.iter().find(|(_, c)| deleted(c)).unwrap().0;
    changes
        .into_iter()
        .filter(|(_, c)| deleted(c))
        .map(|(at, c)| (at - t0, c.change, c.object))
        .collect()
}

/// When the terminated state was seen, from the deletion's first sight.
fn terminated_after(cluster: &Cluster) -> Duration {
    let changes = since_deletion(cluster);
    let end = changes
        .iter()
        .find(|(_, _, p)| !state(p)["terminated"].is_null());
    end.unwrap().0
}

fn millis(range: std::ops::Range<u64>) -> std::ops::Range<Duration> {
    Duration::from_millis(range.start)..Duration::from_millis(range.end)
}

#[tokio::test(flavor = "multi_thread")]
async fn pid_1_without_a_handler_ignores_sigterm_and_dies_of_sigkill_at_the_deadline() {
    let cluster = Cluster::start();
    let mark = mark();
    cluster.create(pod(
        &["sh", "-c", &format!("sleep 600; : {mark}")],
        json!({}),
    ));
    cluster.until_ready().await;
    // A shell's child has the shell's command line until it becomes the program.
    cluster
        .wait("one process", || {
            (processes(&mark).len() == 1).then_some(())
        })
        .await;
    cluster.delete(3);
    cluster.until_gone().await;
    assert!(millis(3_100..3_700).contains(&terminated_after(&cluster)));
    let last = cluster.last_modified();
    assert_eq!(last["status"]["phase"], "Failed");
    assert_eq!(state(&last)["terminated"]["exitCode"], 137);
    assert_eq!(state(&last)["terminated"]["reason"], "Error");
    assert_eq!(condition(&last, "Ready")["reason"], "PodFailed");
    assert!(processes(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trap_handler_that_exits_0_makes_the_pod_succeed_with_the_recorded_sequence_of_changes() {
    let cluster = Cluster::start();
    let script = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done";
    cluster.create(pod(&["sh", "-c", script], json!({})));
    cluster.until_logged("up").await;
    cluster.until_ready().await;
    cluster.delete(30);
    cluster.until_gone().await;
    let seen: Vec<_> = since_deletion(&cluster)
        .iter()
        .map(|(_, change, p)| {
            (
                *change,
                p["status"]["phase"].as_str().unwrap().to_owned(),
                p["metadata"]["deletionGracePeriodSeconds"]
                    .as_i64()
                    .unwrap(),
                p["status"]["observedGeneration"].as_i64().unwrap(),
                condition(p, "Ready")["status"] == "True",
                state(p).as_object().unwrap().keys().next().unwrap().clone(),
            )
        })
        .collect();
    let row = |change, phase: &str, grace, generation, ready, state: &str| {
        (
            change,
            phase.to_owned(),
            grace,
            generation,
            ready,
            state.to_owned(),
        )
    };
    // As in the recordings of a real cluster.
    assert_eq!(
        seen,
        [
            row(ChangeType::Modified, "Running", 30, 1, true, "running"),
            row(ChangeType::Modified, "Running", 30, 2, true, "running"),
            row(
                ChangeType::Modified,
                "Succeeded",
                30,
                2,
                false,
                "terminated"
            ),
            row(ChangeType::Modified, "Succeeded", 0, 2, false, "terminated"),
            row(ChangeType::Deleted, "Succeeded", 0, 2, false, "terminated"),
        ]
    );
    let times: Vec<_> = since_deletion(&cluster).iter().map(|c| c.0).collect();
    assert!(millis(190..1_100).contains(&(times[4] - times[2])));
    let last = cluster.last_modified();
    assert_eq!(state(&last)["terminated"]["reason"], "Completed");
    assert_eq!(condition(&last, "Initialized")["reason"], "PodCompleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_that_dies_of_sigterm_by_itself_has_exit_code_143() {
    let cluster = Cluster::start();
    let script = "trap 'exit 143' TERM; echo up; while :; do sleep 0.05; done";
    cluster.create(pod(&["sh", "-c", script], json!({})));
    cluster.until_logged("up").await;
    cluster.delete(30);
    cluster.until_gone().await;
    assert_eq!(
        state(&cluster.last_modified())["terminated"]["exitCode"],
        143
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_signal_comes_after_the_pre_stop_sleep_and_killing_before_it() {
    let cluster = Cluster::start();
    let script = "trap 'echo signal; exit 0' TERM; echo up; while :; do sleep 0.02; done";
    let hook = json!({"lifecycle": {"preStop": {"sleep": {"seconds": 2}}}});
    cluster.create(pod(&["sh", "-c", script], hook));
    cluster.until_logged("up").await;
    cluster.delete(30);
    let deleted = Instant::now();
    cluster.wait("Killing", || cluster.event("Killing")).await;
    assert!(deleted.elapsed() < Duration::from_millis(100));
    let signal = cluster.until_logged("signal").await;
    assert!(millis(1_990..2_300).contains(&(signal - deleted)));
    cluster.until_gone().await;
    assert_eq!(cluster.event("FailedPreStopHook"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overrunning_exec_hook_leaves_two_seconds_and_its_event_comes_with_the_death() {
    let cluster = Cluster::start();
    let script = "trap 'echo signal' TERM; echo up; while :; do sleep 0.02; done";
    let mark = mark();
    let slow = format!("sleep 30; : {mark}");
    let hook = json!({"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", slow]}}}});
    cluster.create(pod(&["sh", "-c", script], hook));
    cluster.until_logged("up").await;
    cluster.delete(2);
    let deleted = Instant::now();
    let signal = cluster.until_logged("signal").await;
    assert!(millis(1_990..2_300).contains(&(signal - deleted)));
    assert_eq!(cluster.event("FailedPreStopHook"), None);
    assert_eq!(processes(&mark).len(), 1, "the hook runs on");
    cluster.until_gone().await;
    assert!(millis(4_100..4_700).contains(&terminated_after(&cluster)));
    cluster
        .wait("FailedPreStopHook", || cluster.event("FailedPreStopHook"))
        .await;
    until_no_process(&mark).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_exec_hook_makes_an_event_and_the_signal_comes_at_once() {
    let cluster = Cluster::start();
    let script = "trap 'echo signal; exit 0' TERM; echo up; while :; do sleep 0.02; done";
    let hook = json!({"lifecycle": {"preStop": {"exec": {"command": ["false"]}}}});
    cluster.create(pod(&["sh", "-c", script], hook));
    cluster.until_logged("up").await;
    cluster.delete(30);
    let deleted = Instant::now();
    let signal = cluster.until_logged("signal").await;
    assert!(signal - deleted < Duration::from_millis(900));
    cluster
        .wait("FailedPreStopHook", || cluster.event("FailedPreStopHook"))
        .await;
    cluster.until_gone().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_and_exec_probes_see_the_containers_processes_and_environment() {
    let cluster = Cluster::start();
    let script = "trap 'exit 0' TERM; echo up; while :; do sleep 0.02; done";
    // Within the namespace the application is process 1, and signals from the hook reach it.
    let check = "grep -q up /proc/1/cmdline && test \"$POD_NAME\" = web && kill -TERM 1";
    let with = json!({
        "readinessProbe": {"exec": {"command": ["sh", "-c", "grep -q up /proc/1/cmdline"]}, "periodSeconds": 1},
        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", check]}}},
    });
    cluster.create(pod(&["sh", "-c", script], with));
    cluster.until_ready().await;
    cluster.delete(30);
    cluster.until_gone().await;
    assert_eq!(state(&cluster.last_modified())["terminated"]["exitCode"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_deletion_shortens_the_grace() {
    let cluster = Cluster::start();
    cluster.create(pod(&["sleep", "600"], json!({})));
    cluster.until_ready().await;
    cluster.delete(60);
    tokio::time::sleep(Duration::from_millis(500)).await;
    cluster.delete(1);
    cluster.until_gone().await;
    // 0.5 s, then the minimum of 2 s, then the way to the status.
    assert!(millis(2_600..3_200).contains(&terminated_after(&cluster)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_removed_at_once_is_killed_within_two_seconds() {
    let cluster = Cluster::start();
    let mark = mark();
    cluster.create(pod(
        &["sh", "-c", &format!("sleep 600; : {mark}")],
        json!({}),
    ));
    cluster.until_ready().await;
    cluster
        .store
        .remove(rollscope_sandbox::Kind::Pod, "shop", "web")
        .unwrap();
    let removed = Instant::now();
    until_no_process(&mark).await;
    assert!(millis(1_900..2_500).contains(&removed.elapsed()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_deleted_before_its_container_runs_ends_without_running_it() {
    let cluster = Cluster::start();
    let mark = mark();
    cluster.create(pod(
        &["sh", "-c", &format!("sleep 600; : {mark}")],
        json!({}),
    ));
    cluster
        .until("pending", |p| p["status"]["phase"] == "Pending")
        .await;
    cluster.delete(30);
    cluster.until_gone().await;
    assert_eq!(cluster.event("Started"), None);
    assert_eq!(
        state(&cluster.last_modified())["terminated"]["reason"],
        "ContainerStatusUnknown"
    );
    assert!(processes(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_http_hook_reaches_the_application_and_readiness_goes_on_until_the_end() {
    let cluster = Cluster::start();
    let with = json!({
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 1, "failureThreshold": 1},
        "livenessProbe": {"httpGet": {"path": "/live", "port": 8080}, "periodSeconds": 1},
        "lifecycle": {"preStop": {"httpGet": {"path": "/stop", "port": "http"}}},
    });
    cluster.create(pod(&["rollscope", "serve"], with));
    cluster.until_ready().await;
    cluster.until_logged("/live").await;
    cluster.delete(4);
    let unready = |p: &serde_json::Value| condition(p, "Ready")["reason"] == "ContainersNotReady";
    cluster.until("unready", unready).await;
    let lines: Vec<_> = cluster.logs.lines("shop", "web", "app");
    let follow = rollscope_sandbox::logs::LogOptions {
        follow: true,
        ..Default::default()
    };
    let mut reader = cluster.logs.read("shop", "web", "app", &follow).unwrap();
    let mut after = Vec::new();
    while let Some(line) = reader.next().await {
        after.push(line.text.to_string());
    }
    let stop = after.iter().position(|l| l == "/stop").unwrap();
    assert!(after[stop..].iter().filter(|l| *l == "/ready").count() >= 2);
    assert!(
        !after[stop + 1..].contains(&"/live".to_owned()),
        "{lines:?}"
    );
    cluster.until_gone().await;
    assert_eq!(
        state(&cluster.last_modified())["terminated"]["exitCode"],
        137
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stop_signal_of_the_manifest_is_used() {
    let cluster = Cluster::start();
    let script = "trap 'echo quit; exit 3' QUIT; echo up; while :; do sleep 0.02; done";
    let with = json!({"lifecycle": {"stopSignal": "SIGQUIT"}});
    cluster.create(pod(&["sh", "-c", script], with));
    cluster.until_logged("up").await;
    cluster.delete(10);
    cluster.until_gone().await;
    assert_eq!(state(&cluster.last_modified())["terminated"]["exitCode"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_keeps_the_last_line_before_sigkill_and_followers_end() {
    let cluster = Cluster::start();
    let script = "trap 'echo stuck' TERM; echo up; i=0; while :; do i=$((i+1)); sleep 0.02; done";
    cluster.create(pod(&["sh", "-c", script], json!({})));
    cluster.until_logged("up").await;
    let follow = rollscope_sandbox::logs::LogOptions {
        follow: true,
        ..Default::default()
    };
    let mut reader = cluster.logs.read("shop", "web", "app", &follow).unwrap();
    cluster.delete(2);
    let mut lines = Vec::new();
    while let Some(line) = reader.next().await {
        lines.push(line.text.to_string());
    }
    assert_eq!(lines, ["up", "stuck"]);
    cluster.until_gone().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_application_leaves_behind_dies_with_its_namespace() {
    let cluster = Cluster::start();
    let mark = mark();
    let script = format!(
        "trap 'exit 0' TERM; setsid sh -c 'trap \"\" TERM HUP; sleep 600; : {mark}' & echo up; while :; do sleep 0.02; done"
    );
    cluster.create(pod(&["sh", "-c", &script], json!({})));
    cluster.until_logged("up").await;
    cluster
        .wait("child", || (processes(&mark).len() > 1).then_some(()))
        .await;
    cluster.delete(30);
    cluster.until_gone().await;
    assert!(processes(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_is_signalled_after_the_main_container_has_ended() {
    let cluster = Cluster::start();
    let script = |name: &str, wait: &str| {
        format!(
            "trap 'echo {name} signal; sleep {wait}; echo {name} end; exit 0' TERM; echo up; while :; do sleep 0.02; done"
        )
    };
    cluster.create(support::pod_of(json!({
        "initContainers": [{
            "name": "proxy", "image": "i", "restartPolicy": "Always",
            "command": ["sh", "-c", script("proxy", "0")],
        }],
        "containers": [{"name": "app", "image": "i", "command": ["sh", "-c", script("app", "1")]}],
    })));
    cluster.until_ready().await;
    cluster.until_logged("up").await;
    cluster.delete(30);
    let read = |container| {
        cluster.logs.read(
            "shop",
            "web",
            container,
            &rollscope_sandbox::logs::LogOptions {
                follow: true,
                ..Default::default()
            },
        )
    };
    let (mut app, mut proxy) = (read("app").unwrap(), read("proxy").unwrap());
    let (mut app_lines, mut proxy_lines) = (Vec::new(), Vec::new());
    while let Some(line) = app.next().await {
        app_lines.push((line.text.to_string(), line.time));
    }
    while let Some(line) = proxy.next().await {
        proxy_lines.push((line.text.to_string(), line.time));
    }
    let time = |lines: &[(String, jiff::Timestamp)], text: &str| {
        lines.iter().find(|l| l.0 == text).unwrap().1
    };
    assert!(time(&proxy_lines, "proxy signal") >= time(&app_lines, "app end"));
    cluster.until_gone().await;
    assert_eq!(cluster.last_modified()["status"]["phase"], "Succeeded");
}
