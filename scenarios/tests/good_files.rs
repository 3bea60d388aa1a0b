//! Scenarios that are right: what they say, what is filled in, and that they survive being written down.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use rollscope_records::Lane;
use rollscope_scenarios::{
    Arrivals, BodyCheck, BodySource, DurationRange, ExecCommand, FrontEnd, HeaderSource, JobSource,
    JobsSpec, Limits, Pacing, PoolSpec, Rate, RateStep, ResolveOverride, Scenario, StageKind,
    StatusRange, StreamKind, Target, Template, TlsSpec, parse, redacted,
};

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn good(text: &str) -> Scenario {
    match parse(text, "good.yaml", folder()) {
        Ok(scenario) => scenario,
        Err(errors) => panic!("{errors}"),
    }
}

fn shipped() -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder()).unwrap();
    let mut files: Vec<_> = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .collect();
    files.sort();
    files
}

const FULL: &str = r#"
name: checkout-restart
target:
  sandbox:
    manifest: manifests/graceful.yaml
    front_end: l4
    endpoint_lag: 500ms..2s
    seed: 7
load:
  rate: 30/m
  max_in_flight: 40
  deadline: 7s
  pod_header: X-Pod-Name
  requests:
    - { name: list, get: /orders, weight: 8, connections: reused, expect: [200, 3xx] }
    - name: export
      post: /export?all=1
      headers: { Authorization: { env: TOKEN }, accept: text/plain }
      body: { inline: '{"id": 1}' }
      connections: new
      deadline: 20s
stages:
  - warmup: 10s
  - restart: {}
    complete_within: 1m30s
  - exec: [kubectl, apply, -f, x.yaml]
  - exec: echo done
  - settle: 15s
gate: { max_failed: 3, assertions: fail }
logs: { marks: { drain_started: 'shutdown started', drained: '(?i)drained (?P<cut>\d+) cut' } }
"#;

#[test]
fn everything_that_is_written_is_in_the_scenario() {
    let scenario = good(FULL);
    assert_eq!(scenario.name, "checkout-restart");
    let Target::Sandbox(sandbox) = &scenario.target else {
        panic!("{:?}", scenario.target);
    };
    assert_eq!(sandbox.manifest, folder().join("manifests/graceful.yaml"));
    assert_eq!((sandbox.front_end, sandbox.seed), (FrontEnd::L4, 7));
    let lag = DurationRange {
        min: Duration::from_millis(500),
        max: Duration::from_secs(2),
    };
    assert_eq!(sandbox.endpoint_lag, lag);

    let load = &scenario.load;
    assert_eq!(
        (
            load.rate.clone(),
            load.max_in_flight,
            load.base_url.as_deref()
        ),
        (Rate::Constant(0.5), 40, None)
    );
    assert_eq!(load.pod_header.as_deref(), Some("x-pod-name"));
    let [list, export] = load.requests.as_slice() else {
        panic!("{:?}", load.requests);
    };
    assert_eq!(
        (list.method.as_str(), list.path.as_str(), list.weight),
        ("GET", "/orders", 8)
    );
    assert_eq!(
        (list.connections, list.deadline),
        (Lane::Reused, Duration::from_secs(7))
    );
    assert!(list.expects(200) && list.expects(302) && !list.expects(201));
    assert_eq!(
        (export.method.as_str(), export.path.as_str(), export.weight),
        ("POST", "/export?all=1", 1)
    );
    assert_eq!(
        (export.connections, export.deadline),
        (Lane::New, Duration::from_secs(20))
    );
    assert_eq!(
        export.body,
        Some(BodySource::Inline(r#"{"id": 1}"#.to_owned()))
    );
    assert_eq!(
        export.headers,
        [
            (
                "authorization".to_owned(),
                HeaderSource::Env("TOKEN".to_owned())
            ),
            (
                "accept".to_owned(),
                HeaderSource::Literal("text/plain".to_owned())
            ),
        ]
    );
    assert_eq!(
        (scenario.gate.max_failed, scenario.gate.assertions_fail),
        (3, true)
    );
    assert_eq!(scenario.log_marks["drain_started"], "shutdown started");
}

const LOAD: &str = r#"
name: every-key-of-the-load
target: { none: {} }
load:
  base_url: https://[::1]:8443
  rate: { steps: [{ rate: 60/m, for: 30s }, { rate: 5000/s }] }
  arrivals: poisson
  seed: 9
  pacing: { tolerance: 300us, catch_up: 2, threads: 3 }
  limits: { in_time: 20ms, min_in_time: 95, max_dropped: 7 }
  abort_after: 2s
  pool: { size: 12, max_age: 1m, max_requests: 100, max_idle: 30s }
  resolve: ['Shop.example:8443:127.0.0.1,[::1]', 'shop.example:80:::1']
  tls: { ca: manifests/graceful.yaml, server_name: shop.internal, insecure: true }
  requests:
    - name: multiplexed
      put: /a
      connections: http2
      headers: { authorization: { file: manifests/graceful.yaml } }
      body: { template: '{{seq}}' }
      expect_body: { contains: ok, json_pointer: /status, equals: 3 }
    - { name: impatient, post: /b, abort_after: 50ms, body: { file: manifests/graceful.yaml } }
stages:
  - exec: x
"#;

#[test]
fn every_key_of_the_load_is_in_the_scenario_and_survives_being_written_down() {
    let scenario = good(LOAD);
    let load = &scenario.load;
    let step = |per_second, lasts: Option<u64>| RateStep {
        per_second,
        lasts: lasts.map(Duration::from_secs),
    };
    let steps = vec![step(1.0, Some(30)), step(5_000.0, None)];
    assert_eq!(load.rate, Rate::Steps(steps));
    assert_eq!(load.rate.shape().unwrap(), "1/s for 30s, then 5000/s");
    assert_eq!((load.arrivals, load.seed), (Arrivals::Poisson, 9));
    let pacing = Pacing {
        tolerance: Some(Duration::from_micros(300)),
        catch_up: 2,
        threads: Some(3),
    };
    assert_eq!(load.pacing, pacing);
    let limits = Limits {
        in_time: Duration::from_millis(20),
        min_in_time: 95,
        max_dropped: 7,
    };
    assert_eq!(load.limits, limits);
    let pool = PoolSpec {
        size: Some(12),
        max_age: Some(Duration::from_secs(60)),
        max_requests: Some(100),
        max_idle: Some(Duration::from_secs(30)),
    };
    assert_eq!(load.pool, pool);
    let given = |port, addresses: &[&str]| ResolveOverride {
        host: "shop.example".to_owned(),
        port,
        addresses: addresses.iter().map(|a| a.parse().unwrap()).collect(),
    };
    assert_eq!(
        load.resolve,
        [given(8443, &["127.0.0.1", "::1"]), given(80, &["::1"])]
    );
    let file = folder().join("manifests/graceful.yaml");
    let tls = TlsSpec {
        ca: Some(file.clone()),
        server_name: Some("shop.internal".to_owned()),
        insecure: true,
        ..TlsSpec::default()
    };
    assert_eq!(load.tls, tls);
    let [multiplexed, impatient] = load.requests.as_slice() else {
        panic!("{:?}", load.requests);
    };
    assert_eq!(multiplexed.connections, Lane::Http2);
    assert_eq!(multiplexed.abort_after, Some(Duration::from_secs(2)));
    assert_eq!(multiplexed.headers[0].1, HeaderSource::File(file.clone()));
    let template = Template::parse("{{seq}}").unwrap();
    assert_eq!(multiplexed.body, Some(BodySource::Template(template)));
    let check = BodyCheck {
        contains: Some("ok".to_owned()),
        json_pointer: Some("/status".to_owned()),
        equals: Some("3".to_owned()),
    };
    assert_eq!(multiplexed.expect_body, Some(check));
    assert_eq!(impatient.abort_after, Some(Duration::from_millis(50)));
    assert_eq!(impatient.body, Some(BodySource::File(file)));
    assert!(scenario.warnings().iter().any(|w| w.contains("insecure")));

    // Bodies are not recorded, only what is known of them.
    let mut without_bodies = scenario.clone();
    for request in &mut without_bodies.load.requests {
        (request.body, request.expect_body) = (None, None);
    }
    let written = good(&redacted(&without_bodies).to_string()).load;
    assert_eq!(
        (&written.rate, &written.pacing, &written.limits),
        (&load.rate, &load.pacing, &load.limits)
    );
    assert_eq!(
        (&written.pool, &written.resolve, &written.tls),
        (&load.pool, &load.resolve, &load.tls)
    );
    assert_eq!(written.requests, without_bodies.load.requests);
}

#[test]
fn a_ramp_and_exact_precision_are_read_as_they_are_written() {
    let text = LOAD
        .replace(
            "{ steps: [{ rate: 60/m, for: 30s }, { rate: 5000/s }] }",
            "{ ramp: { from: 10/s, to: 500/s, over: 1m30s } }",
        )
        .replace("tolerance: 300us", "precision: exact");
    let load = good(&text).load;
    let ramp = Rate::Ramp {
        from: 10.0,
        to: 500.0,
        over: Duration::from_secs(90),
    };
    assert_eq!(load.rate, ramp);
    assert_eq!(load.rate.shape().unwrap(), "from 10/s to 500/s over 1m30s");
    assert_eq!(load.rate.highest(), 500.0);
    assert_eq!(load.pacing.tolerance, Some(Duration::ZERO));
}

#[test]
fn stages_keep_their_order_and_their_deadlines() {
    let stages: Vec<_> = good(FULL)
        .stages
        .into_iter()
        .map(|s| (s.kind, s.complete_within.as_secs()))
        .collect();
    let argv = ["kubectl", "apply", "-f", "x.yaml"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(
        stages,
        [
            (StageKind::Warmup(Duration::from_secs(10)), 10),
            (StageKind::Restart, 90),
            (StageKind::Exec(ExecCommand::Argv(argv)), 120),
            (
                StageKind::Exec(ExecCommand::Shell("echo done".to_owned())),
                120
            ),
            (StageKind::Settle(Duration::from_secs(15)), 15),
        ]
    );
}

#[test]
fn what_is_left_out_has_its_documented_default() {
    let scenario = good(
        "name: a\ntarget: { sandbox: { manifest: manifests/graceful.yaml } }\n\
         load: { rate: 1/s, requests: [{ name: r, get: / }] }\nstages: [{ restart: }]\n",
    );
    let Target::Sandbox(sandbox) = &scenario.target else {
        panic!("{:?}", scenario.target);
    };
    let lag = DurationRange {
        min: Duration::from_millis(500),
        max: Duration::from_millis(1500),
    };
    assert_eq!(
        (sandbox.front_end, sandbox.endpoint_lag, sandbox.seed),
        (FrontEnd::Http, lag, 1)
    );
    let load = &scenario.load;
    assert_eq!(
        (load.max_in_flight, load.pod_header.as_deref()),
        (500, None)
    );
    let request = &load.requests[0];
    assert_eq!(
        (request.weight, request.connections, request.deadline),
        (1, Lane::Reused, Duration::from_secs(5))
    );
    assert_eq!(request.expect, [StatusRange { from: 200, to: 299 }]);
    assert!(request.headers.is_empty() && request.body.is_none());
    assert_eq!(scenario.stages[0].complete_within, Duration::from_secs(120));
    assert_eq!(
        (scenario.gate.max_failed, scenario.gate.assertions_fail),
        (0, false)
    );
    assert!(scenario.log_marks.is_empty());
}

#[test]
fn a_cluster_is_described_whole() {
    let scenario = good(
        "name: a\ntarget:\n  kubernetes: { allow_contexts: [staging, kind-x], namespace: shop, workload: deployment/checkout, services: [checkout] }\n\
         load: { base_url: 'https://shop.example.com/', rate: 1/s, requests: [{ name: r, get: / }] }\nstages: [{ restart: {} }]\n",
    );
    let Target::Kubernetes(cluster) = &scenario.target else {
        panic!("{:?}", scenario.target);
    };
    assert_eq!(cluster.allow_contexts, ["staging", "kind-x"]);
    assert_eq!(
        (cluster.namespace.as_str(), cluster.workload.as_str()),
        ("shop", "deployment/checkout")
    );
    assert_eq!(cluster.services, ["checkout"]);
    assert_eq!(
        scenario.load.base_url.as_deref(),
        Some("https://shop.example.com")
    );
}

#[test]
fn a_byte_order_mark_and_carriage_returns_do_not_matter() {
    let windows = format!("\u{feff}{}", FULL.replace('\n', "\r\n"));
    assert_eq!(good(&windows), good(FULL));
}

#[test]
fn a_scenario_without_secrets_survives_being_written_down() {
    for file in shipped() {
        let scenario = Scenario::load(&file).unwrap();
        assert_eq!(
            good(&redacted(&scenario).to_string()),
            scenario,
            "{}",
            file.display()
        );
    }
}

#[test]
fn every_shipped_scenario_is_valid_named_as_its_file_and_short() {
    let files = shipped();
    let names: Vec<_> = files
        .iter()
        .map(|f| f.file_stem().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "early-close",
            "graceful-l4",
            "graceful",
            "haproxy-retries",
            "haproxy",
            "health-checked-no-flip",
            "health-checked",
            "journeys",
            "keepalive-hang",
            "nginx-retries",
            "nginx",
            "shell-wrapped",
            "sigkill-overrun",
            "unforwarded-signal"
        ]
    );
    for (file, name) in files.iter().zip(names) {
        let scenario = Scenario::load(file).unwrap();
        assert_eq!(scenario.name, name);
        assert_eq!(scenario.warnings(), Vec::<String>::new(), "{name}");
        assert_eq!(
            (scenario.load.rate.clone(), scenario.gate.max_failed),
            (Rate::Constant(200.0), 0)
        );
        assert!(
            scenario
                .load
                .requests
                .iter()
                .any(|r| r.connections == Lane::New)
        );
        assert!(
            scenario
                .load
                .requests
                .iter()
                .any(|r| r.connections == Lane::Reused)
        );
        let fixed: Duration = scenario
            .stages
            .iter()
            .map(|s| match s.kind {
                StageKind::Warmup(d) | StageKind::Settle(d) => d,
                StageKind::Restart | StageKind::Exec(_) | StageKind::Signal => Duration::ZERO,
            })
            .sum();
        assert!(fixed <= Duration::from_secs(10), "{name}: {fixed:?}");
    }
}

#[test]
fn every_shipped_manifest_has_a_neutral_deployment_and_service() {
    for entry in std::fs::read_dir(folder().join("manifests")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let objects: Vec<serde_json::Value> = serde_saphyr::from_multiple(&text).unwrap();
        let [deployment, service] = objects.as_slice() else {
            panic!("{}: {} objects", path.display(), objects.len());
        };
        assert_eq!(deployment["kind"], "Deployment");
        assert_eq!(service["kind"], "Service");
        for object in [deployment, service] {
            assert_eq!(object["metadata"]["name"], "web");
        }
        let pod = &deployment["spec"]["template"]["spec"];
        let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
        assert!(grace <= 10, "{}: {grace} s", path.display());
        let container = &pod["containers"][0];
        assert_eq!(
            (&container["name"], &container["image"]),
            (&"web".into(), &"example/web:1".into())
        );
        assert_eq!(
            service["spec"]["selector"],
            deployment["spec"]["selector"]["matchLabels"]
        );
        assert_eq!(
            service["spec"]["ports"][0]["targetPort"],
            container["ports"][0]["name"]
        );
    }
}

#[test]
fn a_cap_that_is_too_low_and_a_run_without_settle_are_warnings() {
    let scenario = good(
        "name: a\ntarget: { none: {} }\nload:\n  base_url: http://h\n  rate: 200/s\n  requests:\n\
         \x20   - { name: r, get: /, headers: { authorization: 'Bearer s3cret' } }\nstages: [{ exec: x }]\n",
    );
    assert_eq!(
        scenario.warnings(),
        [
            "load: 200 requests/s with a mean deadline of 5.0 s can have 1000 requests in flight, `max_in_flight` is 500: \
             when the service hangs, requests will be dropped and the run be invalid",
            "stages: the run ends with `exec`; failures that come after it are only seen with a `settle` stage",
            "request `r`: the value of the header `authorization` is written in the scenario; take it from the environment \
             with `authorization: { env: VARIABLE }`",
        ]
    );
}

#[test]
fn streams_are_held_with_these_defaults() {
    let scenario = good(
        r#"
name: held
target: { none: {} }
load:
  base_url: http://127.0.0.1:8080
  rate: 10/s
  deadline: 7s
  requests:
    - { name: list, get: / }
  streams:
    - { name: feed, sse: /events, cadence: 2s }
    - { name: tail, chunked: /tail, cadence: 1s, max_silence: 3s, retry: 100ms, count: 8, deadline: 2s }
    - { name: chat, websocket: /ws, cadence: 1s, expect: open, headers: { authorization: { env: TOKEN } } }
stages:
  - exec: ./deploy.sh
"#,
    );
    let [feed, tail, chat] = scenario.load.streams.as_slice() else {
        panic!("{:?}", scenario.load.streams);
    };
    assert_eq!((feed.kind, feed.count), (StreamKind::Sse, 1));
    assert_eq!(feed.max_silence, Duration::from_secs(10));
    assert_eq!(feed.retry, Duration::from_secs(1));
    assert_eq!(feed.request.deadline, Duration::from_secs(7));
    assert!(feed.may_end && feed.request.expects(200) && !feed.request.expects(302));
    assert_eq!((tail.kind, tail.count), (StreamKind::Chunked, 8));
    assert_eq!(tail.max_silence, Duration::from_secs(3));
    assert_eq!(tail.request.deadline, Duration::from_secs(2));
    assert_eq!(chat.kind, StreamKind::WebSocket);
    assert!(!chat.may_end && chat.request.expects(101));
    assert_eq!(scenario.load.all_requests().count(), 4);
    let recorded = redacted(&scenario)["load"]["streams"].to_string();
    assert!(recorded.contains(r#""websocket":"/ws""#), "{recorded}");
    assert!(recorded.contains(r#""env":"TOKEN""#), "{recorded}");
}

#[test]
fn journeys_are_walked_with_these_defaults() {
    let scenario = good(
        r#"
name: walked
target: { none: {} }
load:
  base_url: http://127.0.0.1:8080
  rate: 10/s
  deadline: 7s
  requests:
    - { name: list, get: /, connections: http2, weight: 8, expect: [200, 304] }
  users: 3
  journeys:
    - name: buyer
      weight: 2
      think: 500ms..2s
      steps:
        - { request: list }
        - { request: list, name: again }
        - { name: pay, post: /pay, body: { inline: '{}' }, headers: { authorization: { env: TOKEN } }, deadline: 2s }
    - { name: reader, steps: [{ request: list }] }
stages:
  - exec: ./deploy.sh
"#,
    );
    let load = &scenario.load;
    let [buyer, reader] = load.journeys.as_slice() else {
        panic!("{:?}", load.journeys);
    };
    assert_eq!((load.users, buyer.weight, reader.weight), (3, 2, 1));
    let names: Vec<_> = load.steps().map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        ["buyer/list", "buyer/again", "buyer/pay", "reader/list"]
    );
    assert!(load.steps().all(|s| s.connections == Lane::Journey));
    assert!(buyer.steps[0].expects(304) && !buyer.steps[2].expects(304));
    assert_eq!(buyer.steps[0].deadline, Duration::from_secs(7));
    assert_eq!(buyer.steps[2].deadline, Duration::from_secs(2));
    assert_eq!(buyer.steps[2].method, "POST");
    assert_eq!(reader.think.min, Duration::from_secs(1));
    assert_eq!(reader.think.max, Duration::from_secs(3));
    assert_eq!(load.all_requests().count(), 5);
    let recorded = redacted(&scenario)["load"]["journeys"].to_string();
    assert!(recorded.contains(r#""think":"500ms..2s""#), "{recorded}");
    assert!(recorded.contains(r#""env":"TOKEN""#), "{recorded}");
}

const WITH_JOBS: &str = r#"
name: jobs
target: { none: {} }
load:
  base_url: http://127.0.0.1:8080
  rate: 10/s
  requests:
    - { name: enqueue, post: /jobs }
jobs:
  submit: enqueue
  redis: { url: "redis://queue", list: "jobs:events" }
  lease: 5s
stages:
  - exec: ./deploy.sh
"#;

#[test]
fn jobs_have_their_defaults_and_survive_being_written_down() {
    let scenario = good(WITH_JOBS);
    let expected = JobsSpec {
        submit: "enqueue".to_owned(),
        rate: None,
        key_header: "idempotency-key".to_owned(),
        source: JobSource::Redis {
            address: "queue:6379".to_owned(),
            list: "jobs:events".to_owned(),
        },
        poll: Duration::from_millis(500),
        complete_within: Duration::from_secs(30),
        max_repeats: 0,
        lease: Some(Duration::from_secs(5)),
    };
    assert_eq!(scenario.jobs.as_ref(), Some(&expected));
    let again = good(&redacted(&scenario).to_string());
    assert_eq!(again.jobs, scenario.jobs);
    assert_eq!(good(FULL).jobs, None);
}

/// The same with another request beside it, a rate of its own and that source.
fn with_source(source: &str) -> Scenario {
    let text = WITH_JOBS
        .replace(
            "    - { name: enqueue, post: /jobs }",
            "    - { name: home, get: / }\n    - { name: enqueue, post: /jobs }",
        )
        .replace("  submit: enqueue", "  submit: enqueue\n  rate: 2/s")
        .replace(
            r#"  redis: { url: "redis://queue", list: "jobs:events" }"#,
            source,
        );
    let scenario = good(&text);
    let again = good(&redacted(&scenario).to_string());
    assert_eq!(
        (&again.jobs, &again.load.own_rate),
        (&scenario.jobs, &scenario.load.own_rate)
    );
    scenario
}

#[test]
fn jobs_with_a_rate_of_their_own_are_none_of_the_mix() {
    let load = with_source("  logs: 'done (?P<job>.+)'").load;
    assert_eq!(load.highest_rate(), 12.0);
    let mixed: Vec<bool> = load.requests.iter().map(|r| load.is_mixed(r)).collect();
    assert_eq!(mixed, [true, false]);
}

#[test]
fn jobs_in_a_document_and_in_a_database_survive_being_written_down_without_their_secrets() {
    let source =
        "  http: { url: /jobs/events, headers: { authorization: { env: TOKEN } }, list: /items }";
    let Some(JobSource::Http(http)) = with_source(source).jobs.map(|j| j.source) else {
        panic!("no document");
    };
    assert_eq!(
        (http.list.as_str(), http.fields.job.as_str()),
        ("/items", "/job")
    );
    let source = "  postgresql: { url: 'postgresql://reader@db:5432/shop?sslmode=require', password: { env: TOKEN }, query: 'SELECT job FROM done; ' }";
    let Some(JobSource::Postgresql(query)) = with_source(source).jobs.map(|j| j.source) else {
        panic!("no query");
    };
    assert!(query.is_secured());
    assert_eq!(query.query, "SELECT job FROM done");
}

#[test]
fn every_scenario_of_a_node_subject_is_valid_named_as_its_file_and_survives_being_written_down() {
    let files = std::fs::read_dir(folder().join("node")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.extension().is_some_and(|e| e == "yaml")) {
        let scenario = Scenario::load(&file).unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap();
        assert_eq!(scenario.name, format!("node-{stem}"));
        assert_eq!(scenario.warnings(), Vec::<String>::new(), "{stem}");
        assert_eq!(good(&redacted(&scenario).to_string()), scenario, "{stem}");
    }
}
