//! The sandbox with a command of the user's own: a rollout of it, locally.

use rollscope_tests::{Finished, Workdir};

use super::program::{log, workdir};

fn manifest(command: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{ name: shop }}
spec:
  replicas: 2
  strategy: {{ rollingUpdate: {{ maxSurge: 1, maxUnavailable: 0 }} }}
  selector: {{ matchLabels: {{ app: shop }} }}
  template:
    metadata: {{ labels: {{ app: shop }} }}
    spec:
      terminationGracePeriodSeconds: 6
      containers:
        - name: shop
          command: {command}
          env: [{{ name: DELAY, value: '2000' }}]
          ports: [{{ name: http, containerPort: 8080 }}]
          readinessProbe: {{ tcpSocket: {{ port: http }}, periodSeconds: 1, failureThreshold: 1 }}
---
apiVersion: v1
kind: Service
metadata: {{ name: shop }}
spec:
  selector: {{ app: shop }}
  ports: [{{ port: 80, targetPort: http }}]
"
    )
}

const SCENARIO: &str = "name: own
target: { sandbox: { manifest: shop.yaml, front_end: l4, endpoint_lag: 300ms..600ms } }
load:
  rate: 40/s
  limits: { in_time: 5s }        # what is tested is the command, not the machine
  requests:
    - { name: kept, get: /, connections: reused }
    - { name: fresh, get: /, connections: new }
    - { name: slow, get: '/?ms=300', connections: reused }    # so that there always is one in flight
stages:
  - warmup: 2s
  - restart: {}
    complete_within: 1m
  - settle: 1s
";

fn rollout(workdir: &Workdir, command: &str) -> Finished {
    workdir.write("shop.yaml", &manifest(command));
    workdir.write("own.yaml", SCENARIO);
    workdir.run("own.yaml")
}

#[test]
fn node_server_js_is_rolled_out_with_a_port_of_its_own_for_each_pod() {
    let workdir = workdir();
    let run = rollout(&workdir, "[node, server.js]");
    run.expect_exit(0);
    let log = log(&run.recording_dir());
    let ports: std::collections::BTreeSet<&str> = log
        .split("listening on ")
        .skip(1)
        .map(|rest| &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap()])
        .collect();
    assert_eq!(
        ports.len(),
        4,
        "two old and two new pods, each on its PORT: {ports:?}"
    );
    assert_eq!(log.matches("drained").count(), 2, "both old pods drained");
}

#[test]
fn a_shell_in_front_of_it_swallows_the_signal() {
    let workdir = workdir();
    let run = rollout(&workdir, "[sh, -c, 'node server.js; true']");
    run.expect_exit(1);
    assert_eq!(
        run.causes().keys().collect::<Vec<_>>(),
        ["unforwarded_signal"],
        "{:?}",
        run.causes()
    );
    assert!(!log(&run.recording_dir()).contains("drained"));
}

#[test]
fn npm_start_is_run_as_it_is() {
    let workdir = workdir();
    workdir.write(
        "package.json",
        r#"{ "name": "shop", "version": "1.0.0", "scripts": { "start": "node server.js" } }"#,
    );
    let run = rollout(&workdir, "[npm, start]");
    // What npm does with the signal is npm's: whatever it is, no drained line may go with a failed request unnamed.
    let report = run.report();
    let log = log(&run.recording_dir());
    assert!(log.contains("listening on"), "{log}");
    let failed = report["requests"]["failed"].as_u64().unwrap();
    let named: u64 = run
        .causes()
        .into_iter()
        // An npm that ends with code 1 can look like a program that gave up.
        .filter(|(cause, _)| cause == "unforwarded_signal" || cause == "several")
        .map(|(_, n)| n)
        .sum();
    if log.matches("drained").count() < 2 {
        run.expect_exit(1);
        assert!(
            named > 0 && named * 10 >= failed * 9,
            "{:?} of {failed}",
            run.causes()
        );
    } else {
        run.expect_exit(0);
    }
}
