//! Nothing outlives the sandbox.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod support;

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getuid};
use serde_json::{Value, json};
use support::{Cluster, accepts, mark, pod, processes, program, until_no_process};

/// A server that leaves a second process in a session of its own.
fn server(mark: &str) -> Value {
    let script = format!("setsid sleep 600 & rollscope serve; : {mark}");
    let check = format!("grep -q {mark} /proc/1/cmdline && rollscope connect");
    let probe =
        json!({"exec": {"command": ["sh", "-c", check]}, "periodSeconds": 1, "timeoutSeconds": 5});
    pod(&["sh", "-c", &script], json!({"readinessProbe": probe}))
}

/// A sandbox in a process of its own.
struct Sandbox {
    process: Child,
    status: Value,
    dir: PathBuf,
}

impl Sandbox {
    fn start(pod: &Value, mut command: Command) -> Self {
        let dir = std::env::temp_dir().join(mark());
        std::fs::create_dir(&dir).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(&dir, open).unwrap();
        let file = dir.join("pod.json");
        std::fs::write(&file, pod.to_string()).unwrap();
        let process = command.arg("hold").arg(&file).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let status = loop {
            if let Ok(text) = std::fs::read_to_string(dir.join("pod.json.status")) {
                break serde_json::from_str(&text).unwrap();
            }
            assert!(Instant::now() < deadline, "the pod never got ready");
            std::thread::sleep(Duration::from_millis(10));
        };
        Self {
            process,
            status,
            dir,
        }
    }

    fn address(&self) -> (String, u16) {
        let pod = &self.status["pod"];
        let port = &pod["metadata"]["annotations"]["sandbox.rollscope.dev/port"];
        let ip = pod["status"]["podIP"].as_str().unwrap().to_owned();
        (ip, port.as_str().unwrap().parse().unwrap())
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

async fn a_killed_sandbox_leaves_nothing(command: Command) -> Value {
    let mark = mark();
    let mut sandbox = Sandbox::start(&server(&mark), command);
    let (ip, port) = sandbox.address();
    assert!(accepts(&ip, port));
    let there = processes(&mark);
    assert!(!there.is_empty());
    let descendants = descendants(sandbox.process.id());
    assert!(
        descendants.len() >= 3,
        "shim, shell, server: {descendants:?}"
    );
    sandbox.kill();
    until_no_process(&mark).await;
    let deadline = Instant::now() + Duration::from_secs(5);
    while accepts(&ip, port) || descendants.iter().any(|pid| is_alive(*pid)) {
        assert!(Instant::now() < deadline, "left: {descendants:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    sandbox.status["warnings"].clone()
}

/// The tree below a process, from the process table.
fn descendants(of: u32) -> Vec<i32> {
    let mut tree = vec![i32::try_from(of).unwrap()];
    let mut found = Vec::new();
    while let Some(parent) = tree.pop() {
        for (pid, stat) in all_stats() {
            let ppid = stat
                .rsplit_once(')')
                .unwrap()
                .1
                .split_whitespace()
                .nth(1)
                .unwrap()
                .to_owned();
            if ppid == parent.to_string() {
                found.push(pid);
                tree.push(pid);
            }
        }
    }
    found
}

fn all_stats() -> Vec<(i32, String)> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| {
            Some((
                pid,
                std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?,
            ))
        })
        .collect()
}

fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[tokio::test]
async fn sigkill_of_the_sandbox_leaves_no_process_and_no_port() {
    a_killed_sandbox_leaves_nothing(Command::new(program())).await;
}

#[tokio::test]
async fn sigkill_of_an_unprivileged_sandbox_leaves_nothing_either() {
    let mut command = Command::new(program());
    if getuid().is_root() {
        command.uid(65534).gid(65534);
    }
    let warnings = a_killed_sandbox_leaves_nothing(command).await;
    assert_eq!(warnings, json!([]), "a user namespace serves as well");
}

#[tokio::test]
async fn sigkill_of_a_shim_ends_its_container_and_the_kubelet_restarts_it() {
    let cluster = Cluster::start();
    let mark = mark();
    cluster.create(pod(
        &["sh", "-c", &format!("sleep 600; : {mark}")],
        json!({}),
    ));
    cluster.until_ready().await;
    let (pid, _) = processes(&mark)[0];
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let shim = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    kill(Pid::from_raw(shim), Signal::SIGKILL).unwrap();
    let restarted = |p: &Value| p["status"]["containerStatuses"][0]["restartCount"] == 1;
    let pod = cluster.until("restarted", restarted).await;
    let last = &pod["status"]["containerStatuses"][0]["lastState"]["terminated"];
    assert_eq!(last["exitCode"], 137);
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn a_container_starts_without_inherited_ignored_or_blocked_signals() {
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' HUP INT QUIT PIPE; exec \"$@\"", "sh"])
        .arg(program());
    // Not a shell: that blocks signals for moments while it starts a program.
    let mark = format!("600.{:05}", std::process::id());
    let sandbox = Sandbox::start(&pod(&["sleep", &mark], json!({})), command);
    let (pid, _) = processes(&mark)[0];
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let set = |field: &str| {
        let line = status.lines().find_map(|l| l.strip_prefix(field)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    // 32 and 33 belong to the C library: no program can set them.
    let settable = !(0b11 << 31);
    assert_eq!(set("SigIgn:") & settable, 0);
    assert_eq!(set("SigBlk:") & settable, 0);
    drop(sandbox);
    until_no_process(&mark).await;
}

#[test]
fn outside_a_pid_namespace_only_caught_signals_are_sent() {
    use rollscope_sandbox::process::{Isolation, ProcessHandle};
    let handle = |process: &Child| ProcessHandle {
        pid: i32::try_from(process.id()).unwrap(),
        isolation: Isolation::Unavailable {
            reason: String::new(),
        },
    };
    let mut bare = Command::new("sleep").arg("600").spawn().unwrap();
    handle(&bare).signal(Signal::SIGTERM).unwrap();
    let script = "trap 'exit 9' TERM; touch /proc/self/fd/1; while :; do sleep 0.02; done";
    let mut catching = Command::new("sh").args(["-c", script]).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    let code = loop {
        assert!(Instant::now() < deadline);
        handle(&catching).signal(Signal::SIGTERM).unwrap();
        if let Some(status) = catching.try_wait().unwrap() {
            break status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(code, Some(9));
    assert!(bare.try_wait().unwrap().is_none(), "it has no handler");
    handle(&bare).signal(Signal::SIGKILL).unwrap();
    bare.wait().unwrap();
}

#[tokio::test]
async fn stop_kills_everything_and_waits_for_it() {
    let cluster = Cluster::start();
    let mark = mark();
    cluster.create(server(&mark));
    cluster.until_ready().await;
    let cluster = std::sync::Arc::try_unwrap(cluster);
    // The recorder of changes holds it for moments only.
    let Ok(cluster) = cluster else { panic!("held") };
    let shims = descendants(std::process::id());
    cluster.kubelet.stop().await;
    assert_eq!(processes(&mark), []);
    assert!(shims.iter().all(|pid| !is_alive(*pid)));
}

#[tokio::test]
async fn a_dropped_kubelet_takes_its_processes_along() {
    let cluster = Cluster::start();
    let mark = mark();
    cluster.create(server(&mark));
    cluster.until_ready().await;
    drop(cluster);
    until_no_process(&mark).await;
}

#[tokio::test]
async fn without_namespaces_pods_run_with_a_warning_and_pid_1s_treatment_of_signals() {
    let limits = "echo 0 > /proc/sys/user/max_pid_namespaces && echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "sh", "-c", limits, "sh"])
        .arg(program());
    let mark = mark();
    let script = format!("sleep 600; : {mark}");
    let probe = json!({"readinessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 1}});
    let sandbox = Sandbox::start(&pod(&["sh", "-c", &script], probe), command);
    let warnings = sandbox.status["warnings"].as_array().unwrap();
    assert!(
        warnings[0]
            .as_str()
            .unwrap()
            .contains("no PID namespace available"),
        "{warnings:?}"
    );
    assert!(!processes(&mark).is_empty());
    drop(sandbox);
    until_no_process(&mark).await;
}
