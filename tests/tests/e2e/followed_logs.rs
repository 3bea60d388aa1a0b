//! The access log of somebody else's balancer, followed while a deploy command runs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use rollscope_tests::{Nginx, Workdir};
use serde_json::Value;

use super::PROGRAM;

const FORMAT: &str = r#"$remote_addr:$remote_port $msec $request_time "$request" $status [$upstream_addr] [$upstream_status] [$upstream_connect_time] [$upstream_header_time]"#;

/// Answers every connection once.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok",
                );
            });
        }
    });
    address
}

/// Where nobody listens.
fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn its_log_decides_who_failed_and_is_followed_through_a_rotation() {
    let workdir = Workdir::new(PROGRAM);
    let (good, gone) = (upstream(), nobody());
    let http = format!(
        "log_format told '{FORMAT}'; access_log DIR/access.log told;
         upstream pods {{ server {good} max_fails=0; server {gone} max_fails=0; }}
         server {{
           listen 127.0.0.1:PORT;
           location / {{ proxy_pass http://pods; proxy_next_upstream off; }}
           location /again {{ proxy_pass http://pods; proxy_next_upstream error; }}
         }}"
    );
    let nginx = Nginx::start(workdir.path(), &http);
    let port = nginx.port;
    workdir.write(
        "scenario.yaml",
        &format!(
            r#"
name: edge
target: {{ none: {{}} }}
load:
  base_url: http://127.0.0.1:{port}
  rate: 40/s
  requests:
    - {{ name: once, get: /once, connections: new }}
    - {{ name: again, get: /again, connections: reused }}
balancers:
  - name: edge
    file: access.log
    format: 'nginx:{FORMAT}'
stages:
  - warmup: 1s
  - exec: 'mv access.log access.log.1 && kill -USR1 $(cat nginx.pid)'
  - settle: 1s
gate: {{ max_failed: 1000000 }}
"#
        ),
    );
    let run = workdir.run("scenario.yaml");
    run.expect_exit(0);
    drop(nginx);
    let read = |name: &str| fs::read_to_string(workdir.path().join(name)).unwrap();
    let (before, after) = (read("access.log.1"), read("access.log"));
    assert!(
        !before.is_empty() && !after.is_empty(),
        "it was rotated in the middle"
    );
    // The test's own look whether it listens is no request.
    let lines: Vec<_> = before
        .lines()
        .chain(after.lines())
        .filter(|l| l.contains("GET /"))
        .collect();
    let report = run.report();
    let balancer = &report["balancers"][0];
    assert_eq!(balancer["name"], "edge", "{balancer:#}");
    assert_eq!(number(&balancer["requests"]), lines.len() as u64);
    assert_eq!(
        number(&balancer["joined"]),
        lines.len() as u64,
        "{balancer:#}"
    );
    assert_eq!(number(&report["requests"]["sent"]), lines.len() as u64);
    let mut by_status: BTreeMap<&str, u64> = BTreeMap::new();
    for line in &lines {
        *by_status
            .entry(line.split(' ').nth(6).unwrap())
            .or_default() += 1;
    }
    assert_eq!(balancer["by_status"], serde_json::json!(by_status));
    let refused = lines
        .iter()
        .filter(|l| l.contains(&gone.to_string()))
        .count() as u64;
    assert!(refused > 0);
    assert_eq!(
        number(&balancer["tries"]["refused"]),
        refused,
        "{balancer:#}"
    );
    let near = lines
        .iter()
        .filter(|l| l.contains(&format!("[{gone}, {good}]")))
        .count() as u64;
    assert!(near > 0);
    assert_eq!(number(&balancer["near_misses"]), near, "{balancer:#}");
}

#[test]
fn a_log_that_cannot_be_followed_is_told_before_any_load() {
    let workdir = Workdir::new(PROGRAM);
    let scenario = |file: &str, format: &str| {
        format!(
            "name: edge\ntarget: {{ none: {{}} }}\nload:\n  base_url: http://127.0.0.1:1\n  rate: 1/s\n  requests: [{{ name: a, get: / }}]\n\
             balancers: [{{ name: edge, file: {file}, format: '{format}' }}]\n\
             stages: [{{ warmup: 1s }}, {{ exec: 'true' }}, {{ settle: 1s }}]\n"
        )
    };
    workdir.write("missing.yaml", &scenario("missing.log", "nginx"));
    let run = workdir.rollscope(&["run", "missing.yaml", "--out", "a"]);
    run.expect_exit(4);
    assert!(run.stderr.contains("missing.log"), "{}", run.stderr);
    workdir.write("access.log", "");
    workdir.write("format.yaml", &scenario("access.log", "apache"));
    let run = workdir.rollscope(&["run", "format.yaml", "--out", "b"]);
    run.expect_exit(2);
    assert!(run.stderr.contains("apache"), "{}", run.stderr);
}
