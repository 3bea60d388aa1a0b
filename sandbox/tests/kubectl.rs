//! The API as kubectl, an independent client, sees it: real pods of `/bin/sh`, real signals.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rollscope_sandbox::{Sandbox, SandboxConfig, SandboxError};
use rollscope_scenarios::{DurationRange, FrontEnd, HealthCheck, SandboxTarget};
use serde_json::Value;

const DEADLINE: Duration = Duration::from_secs(30);

/// Prints, then ends by itself on SIGTERM.
const SHELL: &str = "echo started; trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done";

fn manifest(replicas: u32, script: &str) -> String {
    format!(
        r#"
apiVersion: v1
kind: Service
metadata: {{ name: web, namespace: shop }}
spec:
  selector: {{ app: web }}
  ports: [ {{ name: http, port: 80, targetPort: http }} ]
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {{ app: web }}
spec:
  replicas: {replicas}
  selector: {{ matchLabels: {{ app: web }} }}
  template:
    metadata: {{ labels: {{ app: web }} }}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
        - name: web
          image: local/web:1
          command: ["/bin/sh", "-c", {script:?}]
          env: [ {{ name: MODE, value: a }} ]
          ports: [ {{ name: http, containerPort: 3000 }} ]
"#
    )
}

fn config(folder: &Path, manifest: &str) -> SandboxConfig {
    let file = folder.join("web.yaml");
    std::fs::write(&file, manifest).unwrap();
    let target = SandboxTarget {
        manifest: file,
        front_end: FrontEnd::L4,
        endpoint_lag: DurationRange {
            min: Duration::ZERO,
            max: Duration::ZERO,
        },
        seed: 7,
        retries: 0,
        health_check: HealthCheck::default(),
    };
    SandboxConfig::new(target, PathBuf::from(env!("CARGO_BIN_EXE_sandbox-shim")))
}

/// A sandbox whose pods are available.
struct Cluster {
    sandbox: Sandbox,
    url: String,
    _folder: tempfile::TempDir,
}

impl Cluster {
    /// A sandbox to try kubectl on. `None` where there is no kubectl; in CI that is a failure.
    async fn start(replicas: u32) -> Option<Self> {
        if Command::new("kubectl").arg("help").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "CI needs kubectl in PATH");
            #[expect(clippy::print_stderr, reason = "whoever runs the tests should know")]
            {
                eprintln!("left out: there is no kubectl in PATH");
            }
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::start(config(folder.path(), &manifest(replicas, SHELL)))
            .await
            .unwrap();
        sandbox.wait_available(DEADLINE).await.unwrap();
        Some(Self {
            url: sandbox.api_url().to_owned(),
            sandbox,
            _folder: folder,
        })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command
            .args(["--server", &self.url, "--namespace", "shop", "--cache-dir"])
            .arg(self._folder.path().join("cache"))
            .args(arguments)
            .env("KUBECONFIG", "/dev/null")
            .env("HOME", self._folder.path());
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Standard output of a command that must succeed.
    fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "kubectl {arguments:?}: {errors}\n{text}"
        );
        text
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.extend(["-o", "json"]);
        serde_json::from_str(&self.kubectl(&all)).unwrap()
    }

    /// Names of the pods that are not being deleted.
    fn pods(&self) -> Vec<String> {
        let pods = self.json(&["get", "pods"]);
        pods["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|p| p["metadata"]["deletionTimestamp"].is_null())
            .map(|p| p["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    }

    fn follow(&self, arguments: &[&str]) -> Following {
        let mut child = self
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            out.lines()
                .map_while(Result::ok)
                .try_for_each(|l| sender.send(l))
        });
        Following {
            child,
            lines,
            seen: Vec::new(),
        }
    }
}

/// A kubectl that goes on; killed when dropped.
struct Following {
    child: Child,
    lines: mpsc::Receiver<String>,
    seen: Vec<String>,
}

impl Following {
    /// Reads until a line contains `text`.
    fn until(&mut self, text: &str) {
        let end = Instant::now() + DEADLINE;
        loop {
            match self
                .lines
                .recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(line) => {
                    self.seen.push(line);
                    if self.seen.last().unwrap().contains(text) {
                        return;
                    }
                }
                Err(e) => panic!("no line with {text:?} ({e}):\n{:#?}", self.seen),
            }
        }
    }

    /// Reads to the end.
    fn finish(&mut self) {
        let end = Instant::now() + DEADLINE;
        while let Ok(line) = self
            .lines
            .recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            self.seen.push(line);
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[tokio::test]
async fn kubectl_shows_what_is_there() {
    let Some(cluster) = Cluster::start(3).await else {
        return;
    };
    let table = cluster.kubectl(&["get", "pods,deploy,endpointslices"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines[0]
            .split_whitespace()
            .eq(["NAME", "READY", "STATUS", "RESTARTS", "AGE"]),
        "{table}"
    );
    let pods: Vec<&&str> = lines.iter().filter(|l| l.starts_with("pod/web-")).collect();
    assert_eq!(pods.len(), 3, "{table}");
    assert!(
        pods.iter()
            .all(|p| p.contains("1/1") && p.contains("Running")),
        "{table}"
    );
    assert!(
        table.contains("deployment.apps/web   3/3     3            3"),
        "{table}"
    );
    assert!(
        table.contains("endpointslice.discovery.k8s.io/web-"),
        "{table}"
    );
    let wide = cluster.kubectl(&["get", "pods", "-o", "wide"]);
    assert!(
        wide.contains("NOMINATED NODE") && wide.contains("node1") && wide.contains("127."),
        "{wide}"
    );
    assert_eq!(
        cluster.json(&["get", "pods"])["items"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let selected = cluster.kubectl(&[
        "get",
        "pods",
        "-l",
        "app=web",
        "--field-selector",
        "status.phase=Running",
        "--no-headers",
    ]);
    assert_eq!(selected.lines().count(), 3, "{selected}");
    assert!(
        cluster
            .kubectl(&["get", "all"])
            .contains("replicaset.apps/web-")
    );
    assert!(cluster.kubectl(&["get", "nodes"]).contains("v1.36"));
    assert!(cluster.kubectl(&["get", "pods", "-A"]).contains("shop"));
    assert!(
        cluster
            .kubectl(&["version"])
            .contains("Server Version: v1.36.0+rollscope")
    );
    assert!(
        cluster
            .kubectl(&["auth", "can-i", "delete", "pods"])
            .contains("yes")
    );
    cluster.sandbox.stop().await;
}

#[tokio::test]
async fn kubectl_restarts_and_follows_a_rollout() {
    let Some(cluster) = Cluster::start(2).await else {
        return;
    };
    let before = cluster.pods();
    let mut watch = cluster.follow(&["get", "pods", "--watch"]);
    watch.until("Running");
    cluster.kubectl(&["rollout", "restart", "deployment/web"]);
    let status = cluster.kubectl(&["rollout", "status", "deployment/web", "--timeout=30s"]);
    assert!(status.contains("successfully rolled out"), "{status}");
    for state in ["ContainerCreating", "Terminating", "Completed"] {
        if !watch.seen.iter().any(|l| l.contains(state)) {
            watch.until(state);
        }
    }
    let headers = watch.seen.iter().filter(|l| l.starts_with("NAME")).count();
    assert_eq!(headers, 1, "{:#?}", watch.seen);
    wait_until("the old pods are gone", || {
        let after = cluster.pods();
        after.len() == 2 && before.iter().all(|b| !after.contains(b))
    });
    let history = cluster.kubectl(&["rollout", "history", "deployment/web"]);
    assert!(
        history.contains("\n1 ") && history.contains("\n2 "),
        "{history}"
    );
    cluster.kubectl(&["rollout", "undo", "deployment/web"]);
    cluster.kubectl(&["rollout", "status", "deployment/web", "--timeout=30s"]);
    let deployment = cluster.json(&["get", "deployment", "web"]);
    assert_eq!(
        deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "3"
    );
    cluster.sandbox.stop().await;
}

#[tokio::test]
async fn kubectl_follows_logs_to_the_end_of_the_pod() {
    let Some(cluster) = Cluster::start(1).await else {
        return;
    };
    let pod = cluster.pods().remove(0);
    let mut logs = cluster.follow(&["logs", "-f", "--timestamps", &pod]);
    logs.until("started");
    let start = logs.seen[0].clone();
    assert!(
        start.starts_with("20")
            && start.ends_with("Z started")
            && start.len() == "2026-01-01T00:00:00.123456789Z started".len(),
        "{start}"
    );
    cluster.kubectl(&["delete", "pod", &pod, "--wait=false"]);
    logs.finish();
    assert!(
        logs.seen.last().unwrap().ends_with("Z bye"),
        "{:?}",
        logs.seen
    );
    wait_until("only the next pod is left", || {
        let pods = cluster.json(&["get", "pods"]);
        pods["items"].as_array().unwrap().len() == 1
    });
    cluster.kubectl(&["rollout", "status", "deployment/web", "--timeout=30s"]);
    let of_deployment = cluster.kubectl(&["logs", "deployment/web", "--tail=1"]);
    assert_eq!(of_deployment, "started\n");
    cluster.sandbox.stop().await;
}

#[tokio::test]
async fn a_deleted_pod_ends_within_its_grace_and_is_replaced() {
    let Some(cluster) = Cluster::start(1).await else {
        return;
    };
    let pod = cluster.pods().remove(0);
    let said = cluster.kubectl(&["delete", "pod", &pod]);
    assert!(said.contains("deleted"), "{said}");
    assert!(!cluster.output(&["get", "pod", &pod]).status.success());
    wait_until("it was replaced", || cluster.pods().len() == 1);
    let events = cluster.kubectl(&["get", "events"]);
    assert!(
        events.contains("Killing")
            && events.contains("Scheduled")
            && events.contains("ScalingReplicaSet"),
        "{events}"
    );
    cluster.sandbox.stop().await;
}

#[tokio::test]
async fn kubectl_scales_and_patches() {
    let Some(cluster) = Cluster::start(1).await else {
        return;
    };
    cluster.kubectl(&["scale", "deployment/web", "--replicas=3"]);
    cluster.kubectl(&["rollout", "status", "deployment/web", "--timeout=30s"]);
    wait_until("three pods", || cluster.pods().len() == 3);
    cluster.kubectl(&[
        "patch",
        "deployment",
        "web",
        "-p",
        r#"{"spec":{"replicas":1}}"#,
    ]);
    wait_until("one pod", || cluster.pods().len() == 1);
    cluster.kubectl(&[
        "patch",
        "deployment",
        "web",
        "--type=merge",
        "-p",
        r#"{"metadata":{"annotations":{"x":"y"}}}"#,
    ]);
    cluster.kubectl(&["set", "env", "deployment/web", "MODE=b", "EXTRA=1"]);
    cluster.kubectl(&["set", "image", "deployment/web", "web=local/web:2"]);
    cluster.kubectl(&["rollout", "status", "deployment/web", "--timeout=30s"]);
    let deployment = cluster.json(&["get", "deployment", "web"]);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "local/web:2");
    assert_eq!(
        container["env"],
        serde_json::json!([{"name": "MODE", "value": "b"}, {"name": "EXTRA", "value": "1"}])
    );
    assert_eq!(container["command"][0], "/bin/sh");
    assert_eq!(deployment["metadata"]["annotations"]["x"], "y");
    let refused = cluster.output(&[
        "patch",
        "deployment",
        "web",
        "-p",
        r#"{"spec":{"replicas":-1}}"#,
    ]);
    assert!(!refused.status.success());
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("is invalid"),
        "{refused:?}"
    );
    cluster.sandbox.stop().await;
}

#[tokio::test]
async fn kubectl_describes_objects_with_their_events() {
    let Some(cluster) = Cluster::start(1).await else {
        return;
    };
    let deployment = cluster.kubectl(&["describe", "deployment", "web"]);
    assert!(
        deployment.contains("25% max unavailable, 25% max surge")
            && deployment.contains("ScalingReplicaSet"),
        "{deployment}"
    );
    let pod = cluster.kubectl(&["describe", "pod", &cluster.pods()[0]]);
    assert!(
        pod.contains("Scheduled") && pod.contains("Started") && pod.contains("node1"),
        "{pod}"
    );
    let service = cluster.kubectl(&["describe", "service", "web"]);
    assert!(
        service.contains("Endpoints:") && service.contains(":3000"),
        "{service}"
    );
    cluster.sandbox.stop().await;
}

#[tokio::test]
async fn a_taken_api_port_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path(), &manifest(1, SHELL));
    config.api_port = taken.local_addr().unwrap().port();
    let error = Sandbox::start(config).await.unwrap_err();
    assert!(matches!(error, SandboxError::Api(_)), "{error}");
    assert!(
        error
            .to_string()
            .contains(&taken.local_addr().unwrap().to_string()),
        "{error}"
    );
}

#[tokio::test]
async fn a_pod_that_never_gets_ready_is_told_with_its_last_words() {
    let folder = tempfile::tempdir().unwrap();
    let text = manifest(1, "echo out of luck; exit 3")
        + "          readinessProbe: { exec: { command: [\"false\"] } }\n";
    let sandbox = Sandbox::start(config(folder.path(), &text)).await.unwrap();
    let error = sandbox
        .wait_available(Duration::from_secs(4))
        .await
        .unwrap_err()
        .to_string();
    for part in [
        "deployment/web did not become available within 4s",
        "out of luck",
        "exit code 3",
        "BackOff",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = manifest(1, SHELL).replace("\"/bin/sh\"", "\"/no/such/command\"");
    let sandbox = Sandbox::start(config(folder.path(), &text)).await.unwrap();
    let begun = Instant::now();
    let error = sandbox
        .wait_available(Duration::from_secs(60))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("cannot be started") && error.contains("/no/such/command"),
        "{error}"
    );
    assert!(begun.elapsed() < Duration::from_secs(20));
    sandbox.stop().await;
}

#[tokio::test]
async fn no_process_and_no_port_outlives_a_stopped_sandbox() {
    let Some(cluster) = Cluster::start(2).await else {
        return;
    };
    let api = cluster.url.trim_start_matches("http://").to_owned();
    let marker = format!("SANDBOX_TEST_{}", std::process::id());
    cluster.kubectl(&["set", "env", "deployment/web", &format!("MARKER={marker}")]);
    cluster.kubectl(&["rollout", "status", "deployment/web", "--timeout=30s"]);
    assert!(processes_with(&marker) >= 2);
    cluster.sandbox.stop().await;
    wait_until("no process is left", || processes_with(&marker) == 0);
    assert!(std::net::TcpStream::connect(api).is_err());
}

#[tokio::test]
async fn no_process_outlives_a_dropped_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let marker = format!("dropped-{}", std::process::id());
    let text = manifest(2, SHELL).replace("value: a", &format!("value: {marker}"));
    let sandbox = Sandbox::start(config(folder.path(), &text)).await.unwrap();
    sandbox.wait_available(DEADLINE).await.unwrap();
    assert!(processes_with(&marker) >= 2);
    drop(sandbox);
    wait_until("no process is left", || processes_with(&marker) == 0);
}

/// How many processes have `text` in their environment.
fn processes_with(text: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let environments = processes.filter_map(|p| std::fs::read(p.path().join("environ")).ok());
    environments
        .filter(|e| String::from_utf8_lossy(e).contains(text))
        .count()
}
