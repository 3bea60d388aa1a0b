//! Scenarios that `init` writes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use rollscope_tests::Workdir;

use super::PROGRAM;

#[test]
fn the_scenario_of_a_manifest_runs_as_it_is() {
    let workdir = Workdir::new(PROGRAM);
    let made = workdir.rollscope(&[
        "init",
        "scenarios/manifests/early-close.yaml",
        "--out",
        "scenarios/own.yaml",
    ]);
    made.expect_exit(0);
    let run = workdir.run("scenarios/own.yaml");
    run.expect_exit(1);
    let causes: Vec<_> = run.causes().into_keys().collect();
    assert_eq!(causes, ["early_close"], "{}", run.stdout);
    let again = workdir.rollscope(&[
        "init",
        "scenarios/manifests/early-close.yaml",
        "--out",
        "scenarios/own.yaml",
    ]);
    again.expect_exit(2);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
}

/// A run, whose sandbox is a cluster for as long as it goes on, and the address of its API.
struct Cluster(Child);

impl Cluster {
    fn start(workdir: &Workdir) -> (Self, String) {
        let mut command = workdir.command(&["run", "scenarios/graceful.yaml", "--out", "cluster"]);
        let mut run = command.stderr(Stdio::piped()).spawn().unwrap();
        let told = BufReader::new(run.stderr.take().unwrap());
        let url = told.lines().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("--server ")?;
            rest.split(' ').next().map(str::to_owned)
        });
        (Self(run), url.expect("the address of the API"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_scenario_of_a_live_workload_names_its_context_and_its_service() {
    let workdir = Workdir::new(PROGRAM);
    let (_cluster, url) = Cluster::start(&workdir);
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: staging\n\
         clusters: [{{ name: c, cluster: {{ server: '{url}' }} }}]\nusers: [{{ name: u, user: {{}} }}]\n\
         contexts: [{{ name: staging, context: {{ cluster: c, user: u, namespace: default }} }}]\n"
    );
    workdir.write("kubeconfig", &kubeconfig);
    let made = workdir.rollscope(&[
        "init",
        "deployment/web",
        "--kubeconfig",
        "kubeconfig",
        "--out",
        "live.yaml",
    ]);
    made.expect_exit(0);
    workdir
        .rollscope(&["scenario", "check", "live.yaml"])
        .expect_exit(0);
    let text = std::fs::read_to_string(workdir.path().join("live.yaml")).unwrap();
    for line in [
        "allow_contexts: [staging]",
        "workload: deployment/web",
        "services: [web]",
    ] {
        assert!(text.contains(line), "{line} is not in:\n{text}");
    }
    let missing = workdir.rollscope(&["init", "deployment/shop", "--kubeconfig", "kubeconfig"]);
    missing.expect_exit(4);
    assert!(missing.stderr.contains("shop"), "{}", missing.stderr);
}
