//! `target: kubernetes`, on a sandbox that runs by itself as the cluster.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rollscope_tests::{Finished, Workdir};

use super::PROGRAM;

/// A cluster of its own, with its kubeconfig in the folder, and the address of its service.
struct Cluster {
    process: Child,
    service: String,
}

impl Cluster {
    fn start(workdir: &Workdir, manifest: &str) -> Self {
        let manifest = format!("scenarios/manifests/{manifest}.yaml");
        let args = ["sandbox", &manifest, "--kubeconfig", "sandbox.kubeconfig"];
        let mut process = workdir
            .command(&args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let told = BufReader::new(process.stdout.take().unwrap());
        let service = told.lines().map_while(Result::ok).find_map(|line| {
            let address = line.strip_prefix("service")?;
            Some(address.trim().to_owned())
        });
        Self {
            process,
            service: service.expect("the address of the service"),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A server that counts who knocks.
fn counted() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    thread::spawn(move || {
        for _ in listener.incoming() {
            seen.fetch_add(1, SeqCst);
        }
    });
    (url, count)
}

fn scenario(workdir: &Workdir, cluster: &Cluster, workload: &str) {
    workdir.write(
        "staging.yaml",
        &format!(
            "name: staging
target:
  kubernetes: {{ allow_contexts: [sandbox], namespace: default, workload: {workload}, services: [web] }}
load:
  base_url: {}
  rate: 100/s
  max_in_flight: 1000
  pod_header: x-pod-name
  requests:
    - {{ name: kept, get: /, weight: 3, connections: reused }}
    - {{ name: new, get: /, connections: new }}
stages: [{{ warmup: 3s }}, {{ restart: {{}}, complete_within: 1m }}, {{ settle: 2s }}]
gate: {{ max_failed: 0 }}
",
            cluster.service
        ),
    );
}

fn run(workdir: &Workdir, kubeconfig: &str, more: &[&str]) -> Finished {
    let mut args = vec![
        "run",
        "staging.yaml",
        "--out",
        "out",
        "--kubeconfig",
        kubeconfig,
    ];
    args.extend(more);
    workdir.rollscope(&args)
}

/// What kubectl prints, as one who is not us sees it.
fn kubectl(workdir: &Workdir, args: &[&str]) -> String {
    let output = Command::new("kubectl")
        .args([
            "--kubeconfig",
            "sandbox.kubeconfig",
            "--cache-dir",
            "kubectl-cache",
        ])
        .args(args)
        .current_dir(workdir.path())
        .output()
        .expect("kubectl");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_restart_on_a_cluster_is_recorded_and_judged_as_in_the_sandbox() {
    let workdir = Workdir::new(PROGRAM);
    let cluster = Cluster::start(&workdir, "early-close");
    scenario(&workdir, &cluster, "deployment/web");
    let finished = run(&workdir, "sandbox.kubeconfig", &[]);
    finished.expect_exit(1);
    let causes: Vec<_> = finished.causes().into_keys().collect();
    assert_eq!(causes, ["early_close"], "{}", finished.stdout);
    let report = finished.report();
    assert_eq!(report["run"]["target"], "kubernetes");
    let old = report["pods"].as_array().unwrap().iter();
    assert_eq!(
        old.filter(|p| p["old"] == true && p["exit"]["code"] == 0)
            .count(),
        3
    );
    let history = kubectl(&workdir, &["rollout", "history", "deployment/web"]);
    let revisions = history
        .lines()
        .filter(|l| l.starts_with(|c: char| c.is_ascii_digit()));
    assert_eq!(revisions.count(), 2, "{history}");
}

#[test]
fn nothing_is_sent_to_a_context_that_the_scenario_does_not_allow() {
    let workdir = Workdir::new(PROGRAM);
    let cluster = Cluster::start(&workdir, "graceful");
    scenario(&workdir, &cluster, "deployment/web");
    let (production, knocked) = counted();
    let own = std::fs::read_to_string(workdir.path().join("sandbox.kubeconfig")).unwrap();
    let both = own
        .replace("current-context: sandbox", "current-context: production")
        .replace("users:\n", &format!("  - name: production\n    cluster: {{ server: \"{production}\" }}\nusers:\n"))
        .replace("contexts:\n", "contexts:\n  - name: production\n    context: { cluster: production, user: sandbox }\n");
    workdir.write("both.kubeconfig", &both);
    for more in [&[][..], &["--context", "production"]] {
        let refused = run(&workdir, "both.kubeconfig", more);
        refused.expect_exit(2);
        assert!(
            refused.stderr.contains("\"production\""),
            "{}",
            refused.stderr
        );
        assert!(
            refused.stderr.contains("allows sandbox"),
            "{}",
            refused.stderr
        );
    }
    let unknown = run(&workdir, "both.kubeconfig", &["--context", "nowhere"]);
    unknown.expect_exit(2);
    assert_eq!(knocked.load(SeqCst), 0, "something was sent to production");
    let history = kubectl(&workdir, &["rollout", "history", "deployment/web"]);
    assert!(
        !history.contains("\n2 "),
        "something was rolled out: {history}"
    );
    let allowed = run(&workdir, "both.kubeconfig", &["--context", "sandbox"]);
    allowed.expect_exit(0);
    assert_eq!(knocked.load(SeqCst), 0);
}

#[test]
fn an_interrupt_says_in_what_state_the_workload_is_left() {
    let workdir = Workdir::new(PROGRAM);
    let cluster = Cluster::start(&workdir, "graceful");
    scenario(&workdir, &cluster, "deployment/web");
    let args = [
        "run",
        "staging.yaml",
        "--out",
        "out",
        "--kubeconfig",
        "sandbox.kubeconfig",
    ];
    let mut run = workdir
        .command(&args)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(run.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok);
    assert!(
        told.any(|line| line.contains("restart 2/3")),
        "the restart began"
    );
    kill(Pid::from_raw(run.id() as i32), Signal::SIGINT).unwrap();
    assert!(told.any(|line| line.contains("deployment/web is left as it is")));
    let undo = "kubectl --kubeconfig sandbox.kubeconfig --context sandbox --namespace default rollout undo deployment/web";
    assert!(told.any(|line| line.ends_with(undo)));
    assert_eq!(run.wait().unwrap().code(), Some(130));
}

#[test]
fn a_workload_that_is_not_there_is_told_before_any_load() {
    let workdir = Workdir::new(PROGRAM);
    let cluster = Cluster::start(&workdir, "graceful");
    scenario(&workdir, &cluster, "deployment/shop");
    let run = run(&workdir, "sandbox.kubeconfig", &[]);
    run.expect_exit(4);
    assert!(run.stderr.contains("shop"), "{}", run.stderr);
}

#[test]
fn a_kubeconfig_that_is_not_there_is_told_by_name() {
    let workdir = Workdir::new(PROGRAM);
    let cluster = Cluster::start(&workdir, "graceful");
    scenario(&workdir, &cluster, "deployment/web");
    let run = run(&workdir, "missing.kubeconfig", &[]);
    run.expect_exit(2);
    assert!(run.stderr.contains("missing.kubeconfig"), "{}", run.stderr);
}

#[test]
fn kubectl_runs_it_as_a_plugin() {
    let workdir = Workdir::new(PROGRAM);
    let plugins = workdir.path().join("plugins");
    std::fs::create_dir(&plugins).unwrap();
    std::os::unix::fs::symlink(PROGRAM, plugins.join("kubectl-rollscope")).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("kubectl")
        .args([
            "rollscope",
            "scenario",
            "check",
            "scenarios/early-close.yaml",
        ])
        .env("PATH", format!("{}:{path}", plugins.display()))
        .current_dir(workdir.path())
        .output()
        .expect("kubectl");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("is good"),
        "{output:?}"
    );
}
