//! How pods start and run: status, events, probes, restarts, environment.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::{Cluster, accepts, condition, pod, pod_of, state};

fn reasons(cluster: &Cluster) -> Vec<String> {
    cluster.events().into_iter().map(|e| e.0).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_shows_the_recorded_sequence_of_changes_and_events() {
    let cluster = Cluster::start();
    cluster.create(pod(
        &["sleep", "600"],
        json!({"readinessProbe": {"exec": {"command": ["true"]}}}),
    ));
    cluster.until_ready().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let seen: Vec<_> = cluster
        .changes()
        .iter()
        .map(|(_, c)| {
            let p = &c.object;
            let status = |kind| {
                condition(p, kind)["status"]
                    .as_str()
                    .unwrap_or("-")
                    .to_owned()
            };
            (
                p["status"]["phase"].as_str().unwrap_or("-").to_owned(),
                status("PodReadyToStartContainers"),
                status("Ready"),
                state(p)
                    .as_object()
                    .and_then(|s| s.keys().next().cloned())
                    .unwrap_or_default(),
            )
        })
        .collect();
    let row = |a: &str, b: &str, c: &str, d: &str| {
        (a.to_owned(), b.to_owned(), c.to_owned(), d.to_owned())
    };
    assert_eq!(
        seen,
        [
            row("-", "-", "-", ""),
            row("Pending", "False", "False", "waiting"),
            row("Pending", "True", "False", "waiting"),
            row("Running", "True", "False", "running"),
            row("Running", "True", "True", "running"),
        ]
    );
    assert_eq!(reasons(&cluster), ["Pulled", "Created", "Started"]);
    let event = cluster.store.list(rollscope_sandbox::Kind::Event, None).0[0].clone();
    assert_eq!(
        event["source"],
        json!({"component": "kubelet", "host": "node1"})
    );
    assert_eq!(event["involvedObject"]["fieldPath"], "spec.containers{app}");
    let pod = cluster.pod().unwrap();
    assert_eq!(pod["status"]["hostIP"], "127.0.0.1");
    assert_eq!(pod["status"]["qosClass"], "BestEffort");
    assert!(pod["status"]["podIP"].as_str().unwrap().starts_with("127."));
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_follows_the_probe_and_its_events_fold() {
    let cluster = Cluster::start();
    let flag = std::env::temp_dir().join(format!("rollscope-ready-{}", std::process::id()));
    std::fs::write(&flag, "").unwrap();
    let path = flag.to_str().unwrap();
    let probe = json!({"exec": {"command": ["test", "-e", path]}, "periodSeconds": 1, "failureThreshold": 1});
    cluster.create(pod(&["sleep", "600"], json!({"readinessProbe": probe})));
    cluster.until_ready().await;
    std::fs::remove_file(&flag).unwrap();
    let unready = |p: &Value| condition(p, "Ready")["reason"] == "ContainersNotReady";
    let pod = cluster.until("unready", unready).await;
    assert_eq!(
        condition(&pod, "Ready")["message"],
        "containers with unready status: [app]"
    );
    cluster
        .wait("folded", || cluster.event("Unhealthy").filter(|e| e.1 >= 3))
        .await;
    std::fs::write(&flag, "").unwrap();
    cluster.until_ready().await;
    std::fs::remove_file(&flag).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn http_and_tcp_probes_reach_the_server_on_the_pods_own_address_and_port() {
    let cluster = Cluster::start();
    let with = json!({
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 1},
        "livenessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1},
    });
    cluster.create(pod(&["rollscope", "serve"], with));
    let pod = cluster.until_ready().await;
    let port = pod["metadata"]["annotations"]["sandbox.rollscope.dev/port"]
        .as_str()
        .unwrap();
    let port: u16 = port.parse().unwrap();
    let ip = pod["status"]["podIP"].as_str().unwrap().to_owned();
    assert!((10_000..30_000).contains(&port));
    assert!(accepts(&ip, port));
    cluster.delete(1);
    cluster.until_gone().await;
    assert!(!accepts(&ip, port));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_readiness_probe_is_told_as_the_kubelet_does() {
    let cluster = Cluster::start();
    let with = json!({"readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}}});
    cluster.create(pod(&["sleep", "600"], with));
    let event = cluster
        .wait("Unhealthy", || cluster.event("Unhealthy"))
        .await;
    let pod = cluster.pod().unwrap();
    let ip = pod["status"]["podIP"].as_str().unwrap();
    let port = pod["metadata"]["annotations"]["sandbox.rollscope.dev/port"]
        .as_str()
        .unwrap();
    assert_eq!(
        event.2,
        format!(
            "Readiness probe failed: Get \"http://{ip}:{port}/ready\": dial tcp {ip}:{port}: connect: connection refused"
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_liveness_probe_restarts_the_container_in_place() {
    let cluster = Cluster::start();
    let with = json!({"livenessProbe": {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 2}});
    let script = "trap 'exit 7' TERM; while :; do sleep 0.02; done";
    cluster.create(pod(&["sh", "-c", script], with));
    let restarted = |p: &Value| p["status"]["containerStatuses"][0]["restartCount"] == 1;
    let pod = cluster.until("restarted", restarted).await;
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(status["lastState"]["terminated"]["exitCode"], 7);
    let killing = cluster.event("Killing").unwrap();
    assert_eq!(
        killing.2,
        "Container app failed liveness probe, will be restarted"
    );
    assert_eq!(pod["status"]["phase"], "Running");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashing_container_restarts_at_once_and_then_backs_off() {
    let cluster = Cluster::start();
    cluster.create(pod(&["sh", "-c", "echo crash; exit 5"], json!({})));
    let backing_off = |p: &Value| state(p)["waiting"]["reason"] == "CrashLoopBackOff";
    let pod = cluster.until("backing off", backing_off).await;
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(status["restartCount"], 1);
    assert_eq!(status["lastState"]["terminated"]["exitCode"], 5);
    assert_eq!(pod["status"]["phase"], "Running");
    cluster.wait("BackOff", || cluster.event("BackOff")).await;
    let previous = rollscope_sandbox::logs::LogOptions {
        previous: true,
        ..Default::default()
    };
    let mut reader = cluster.logs.read("shop", "web", "app", &previous).unwrap();
    assert_eq!(&*reader.next().await.unwrap().text, "crash");
    cluster.delete(30);
    cluster.until_gone().await;
    assert_eq!(state(&cluster.last_modified())["terminated"]["exitCode"], 5);
}

/// Kills the process with this command line, as the kernel does without memory: from outside its namespace.
fn kill(command_line: &str) {
    let wanted = command_line.replace(' ', "\0") + "\0";
    let pid = std::fs::read_dir("/proc").unwrap().flatten().find(|entry| {
        let found = std::fs::read_to_string(entry.path().join("cmdline"));
        found.is_ok_and(|line| line == wanted)
    });
    let pid = pid.unwrap().file_name().into_string().unwrap();
    let pid = nix::unistd::Pid::from_raw(pid.parse().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_killed_by_others_was_out_of_memory_if_it_has_a_limit() {
    for (seconds, with, reason) in [
        (
            "600.0625",
            json!({"resources": {"limits": {"memory": "64Mi"}}}),
            "OOMKilled",
        ),
        ("600.03125", json!({}), "Error"),
    ] {
        let cluster = Cluster::start();
        cluster.create(pod(&["sleep", seconds], with));
        cluster.until_ready().await;
        kill(&format!("sleep {seconds}"));
        let last =
            |p: &Value| p["status"]["containerStatuses"][0]["lastState"]["terminated"].clone();
        let pod = cluster.until("restarted", |p| last(p).is_object()).await;
        assert_eq!(last(&pod)["exitCode"], 137);
        assert_eq!(last(&pod)["reason"], reason);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_does_not_exist_is_a_start_error_with_its_name() {
    let cluster = Cluster::start();
    cluster.create(pod(&["no-such-program"], json!({})));
    let failed = |p: &Value| state(p)["waiting"]["reason"] == "RunContainerError";
    let pod = cluster.until("start error", failed).await;
    let last = &pod["status"]["containerStatuses"][0]["lastState"]["terminated"];
    assert_eq!(
        (&last["exitCode"], &last["reason"]),
        (&json!(128), &json!("StartError"))
    );
    let message = state(&pod)["waiting"]["message"].as_str().unwrap();
    assert!(message.contains("exec: \"no-such-program\": executable file not found in $PATH"));
    cluster.wait("Failed", || cluster.event("Failed")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_without_a_command_says_that_images_are_ignored() {
    let cluster = Cluster::start();
    cluster.create(pod(&[], json!({"args": ["serve"]})));
    let failed = |p: &Value| state(p)["waiting"]["reason"] == "CreateContainerConfigError";
    let pod = cluster.until("refused", failed).await;
    let message = state(&pod)["waiting"]["message"].as_str().unwrap();
    assert!(message.contains("the sandbox ignores images; give `command`"));
    cluster.delete(30);
    cluster.until_gone().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_is_the_containers_own_and_variables_expand() {
    let cluster = Cluster::start();
    let with = json!({
        "args": ["echo \"$1 $GREETING $HOSTNAME $POD_NAMESPACE [$CARGO_MANIFEST_DIR] $(hostname) $$$$ $(pwd)\"; sleep 600", "sh", "$(WHO)-$(POD_NAME)"],
        "workingDir": "/usr",
        "env": [
            {"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "GREETING", "value": "hello-$(WHO)"},
        ],
    });
    cluster.create(pod(&["sh", "-c"], with));
    cluster
        .until_logged("web-web hello-web web shop [] web 1 /usr")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_rollscope_is_the_sandboxs_own_program_also_within_a_shell() {
    let cluster = Cluster::start();
    cluster.create(pod(
        &["sh", "-c", "readlink -f $(command -v rollscope); sleep 600"],
        json!({}),
    ));
    let program = support::program().canonicalize().unwrap();
    cluster.until_logged(program.to_str().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn init_containers_run_to_completion_before_the_main_one() {
    let cluster = Cluster::start();
    cluster.create(pod_of(json!({
        "initContainers": [{"name": "migrate", "image": "i", "command": ["sh", "-c", "echo migrating; sleep 0.3"]}],
        "containers": [{"name": "app", "image": "i", "command": ["sleep", "600"]}],
    })));
    let waiting = |p: &Value| condition(p, "Initialized")["reason"] == "ContainersNotInitialized";
    cluster.until("initialising", waiting).await;
    let pod = cluster.until_ready().await;
    let init = &pod["status"]["initContainerStatuses"][0];
    assert_eq!(init["state"]["terminated"]["reason"], "Completed");
    let started = &pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"];
    assert!(started.as_str() >= init["state"]["terminated"]["finishedAt"].as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_startup_probe_holds_readiness_back_and_a_passing_one_frees_it() {
    let cluster = Cluster::start();
    let script = "sleep 1.5; touch /tmp/rollscope-started-$POD_IP; trap 'rm /tmp/rollscope-started-$POD_IP; exit 0' TERM; while :; do sleep 0.05; done";
    let check = json!({"exec": {"command": ["sh", "-c", "test -e /tmp/rollscope-started-$POD_IP"]}, "periodSeconds": 1, "failureThreshold": 10});
    cluster.create(pod(&["sh", "-c", script], json!({"startupProbe": check})));
    let running = |p: &Value| !state(p)["running"].is_null();
    let early = cluster.until("running", running).await;
    assert_eq!(early["status"]["containerStatuses"][0]["started"], false);
    let pod = cluster.until_ready().await;
    assert_eq!(pod["status"]["containerStatuses"][0]["started"], true);
    cluster.delete(10);
    cluster.until_gone().await;
}
