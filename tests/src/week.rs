//! A week of a service in production, generated: ten deploys of three pods behind nginx, and what is left of it, an access
//! log and watch streams. Three deploys go wrong. It knows which request failed for what, which an import has to find out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

const S: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;

/// Monday, 2026-11-16 00:00 UTC.
const MONDAY: i64 = 1_794_787_200 * S;

/// A route is withdrawn this long after the deletion.
const LAG: i64 = 2 * S;

/// The format of its log.
pub const FORMAT: &str = r#"nginx:$remote_addr:$remote_port $msec $request_time "$request" $status $body_bytes_sent [$upstream_addr] [$upstream_status] [$upstream_connect_time] [$upstream_header_time]"#;

/// How a deploy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goes {
    /// As it should.
    Well,
    /// Old pods end at their signal, while they are routed to.
    EarlyClose,
    /// Old pods answer 500 from their signal on.
    DependencyClosedFirst,
    /// Every old pod goes before the first new one is there.
    NoEndpoints,
}

/// What was generated.
#[derive(Debug)]
pub struct Week {
    /// Requests in the log.
    pub lines: u64,
    /// How each deploy goes.
    pub deploys: Vec<Goes>,
    /// Requests that each of them failed, beyond the noise.
    pub failed: Vec<u64>,
    /// Requests that failed for no reason.
    pub noise: u64,
}

struct Pod {
    name: String,
    ip: String,
    hash: String,
    created: i64,
    ready: i64,
    /// Request of the deletion, and the end.
    deleted: i64,
    ended: i64,
    fails: Goes,
}

const REPLICAS: usize = 3;
const GRACE: i64 = 30;

/// The deploys of a week, each at its hour.
fn plan() -> Vec<(i64, Goes)> {
    let goes = [
        Goes::Well,
        Goes::Well,
        Goes::EarlyClose,
        Goes::Well,
        Goes::Well,
        Goes::DependencyClosedFirst,
        Goes::Well,
        Goes::NoEndpoints,
        Goes::Well,
        Goes::Well,
    ];
    let day = |i: i64| MONDAY + (i * 16 + 7) * 3600 * S;
    (0..).zip(goes).map(|(i, goes)| (day(i), goes)).collect()
}

/// The pods of every generation.
fn pods(plan: &[(i64, Goes)]) -> Vec<Pod> {
    let mut pods = Vec::new();
    for generation in 0..=plan.len() {
        let begins = generation.checked_sub(1).map(|i| plan[i]);
        let ends = plan.get(generation).copied();
        for k in 0..REPLICAS {
            let step = |at: i64, goes: Goes| match goes {
                Goes::NoEndpoints => at,
                _ => at + k as i64 * 20 * S,
            };
            let created = begins.map_or(MONDAY - 3600 * S, |(at, goes)| step(at, goes) + 200 * MS);
            let start = match begins {
                Some((_, Goes::NoEndpoints)) => 9 * S,
                _ => 4 * S,
            };
            let (deleted, goes) = ends.map_or((i64::MAX, Goes::Well), |(at, goes)| {
                let after = if goes == Goes::NoEndpoints { 0 } else { 6 * S };
                (step(at, goes) + after, goes)
            });
            let lives = match goes {
                Goes::EarlyClose => 150 * MS,
                _ => 8 * S,
            };
            let hash = format!("{:010x}", 0x5eed_0000_u64 + generation as u64);
            pods.push(Pod {
                name: format!("web-{hash}-{k}{generation:02}xy"),
                ip: format!("10.1.{generation}.{}", k + 10),
                hash,
                created,
                ready: created + start,
                deleted,
                ended: deleted.saturating_add(lives),
                fails: goes,
            });
        }
    }
    pods
}

/// Writes `access.log.gz`, `access.log` (the later half) and the folder `watch` into `dir`.
pub fn write(dir: &Path, seed: u64) -> Week {
    let plan = plan();
    let pods = pods(&plan);
    streams(&dir.join("watch"), &pods);
    let mut traffic = Traffic {
        rng: StdRng::seed_from_u64(seed),
        pods: &pods,
        failed: vec![0; plan.len()],
        noise: 0,
    };
    let mut lines = Vec::new();
    let mut at = MONDAY;
    while at < MONDAY + 7 * 24 * 3600 * S {
        let near = plan
            .iter()
            .any(|(d, _)| (d - 720 * S..d + 300 * S).contains(&at));
        let gap = if near { 80 * MS } else { 12 * S };
        at += traffic.rng.random_range(gap / 2..gap * 3 / 2);
        lines.push(traffic.line(at));
    }
    let count = lines.len() as u64;
    // As a log that several workers write: not quite in order.
    for pair in (0..lines.len() - 1).step_by(7) {
        lines.swap(pair, pair + 1);
    }
    let (early, late) = lines.split_at(lines.len() / 2);
    let mut zipped = flate2::write::GzEncoder::new(
        fs::File::create(dir.join("access.log.1.gz")).unwrap(),
        flate2::Compression::fast(),
    );
    std::io::Write::write_all(&mut zipped, early.concat().as_bytes()).unwrap();
    zipped.finish().unwrap();
    fs::write(dir.join("access.log"), late.concat()).unwrap();
    Week {
        lines: count,
        deploys: plan.iter().map(|(_, goes)| *goes).collect(),
        failed: traffic.failed,
        noise: traffic.noise,
    }
}

struct Traffic<'a> {
    rng: StdRng,
    pods: &'a [Pod],
    failed: Vec<u64>,
    noise: u64,
}

impl Traffic<'_> {
    /// nginx's line for a request that arrives at `at`.
    fn line(&mut self, at: i64) -> String {
        let pods = self.pods;
        let routed: Vec<(usize, &Pod)> = pods
            .iter()
            .enumerate()
            .filter(|(_, p)| p.ready + LAG / 4 <= at && at < p.deleted.saturating_add(LAG))
            .collect();
        let took = self.rng.random_range(2 * MS..60 * MS);
        if routed.is_empty() {
            let deploy = self.deploy_at(at);
            self.failed[deploy] += 1;
            return self.written(at, MS, 503, "-", "-", "-", "-");
        }
        let (number, pod) = routed[self.rng.random_range(0..routed.len())];
        let to = format!("{}:3000", pod.ip);
        if at >= pod.ended {
            self.failed[number / REPLICAS] += 1;
            return self.written(at, MS, 502, &to, "502", "-", "-");
        }
        if at >= pod.deleted && pod.fails == Goes::DependencyClosedFirst {
            self.failed[number / REPLICAS] += 1;
            return self.written(at, MS, 500, &to, "500", "0.000", "0.001");
        }
        if self.rng.random_range(0..1000) < 2 {
            self.noise += 1;
            return self.written(at, took, 500, &to, "500", "0.001", "0.020");
        }
        self.written(at, took, 200, &to, "200", "0.001", "0.002")
    }

    fn deploy_at(&self, at: i64) -> usize {
        let old = self
            .pods
            .iter()
            .position(|p| p.deleted <= at && at < p.deleted + 60 * S);
        old.unwrap_or(0) / REPLICAS
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a line")]
    fn written(
        &mut self,
        at: i64,
        took: i64,
        status: u16,
        to: &str,
        of: &str,
        connect: &str,
        header: &str,
    ) -> String {
        let over = (at + took) / MS;
        let (path, port) = (
            ["/", "/orders/17", "/cart"][self.rng.random_range(0..3)],
            self.rng.random_range(1024..65_000),
        );
        format!(
            "192.0.2.{}:{port} {}.{:03} {}.{:03} \"GET {path} HTTP/1.1\" {status} 12 [{to}] [{of}] [{connect}] [{header}]\n",
            self.rng.random_range(1..255),
            over / 1000,
            over % 1000,
            took / S,
            took % S / MS,
        )
    }
}

fn rfc3339(nanos: i64) -> String {
    let time = OffsetDateTime::from_unix_timestamp(nanos.div_euclid(S)).unwrap();
    time.format(&Rfc3339).unwrap()
}

/// The watch streams.
fn streams(dir: &Path, pods: &[Pod]) {
    fs::create_dir_all(dir).unwrap();
    let mut files: BTreeMap<&str, Vec<(i64, Value)>> = BTreeMap::new();
    for pod in pods {
        let stream = files.entry("pods.watch").or_default();
        if pod.created < MONDAY {
            stream.push((MONDAY, event("ADDED", pod_object(pod, State::Ready))));
        } else {
            stream.push((
                pod.created,
                event("ADDED", pod_object(pod, State::Starting)),
            ));
            stream.push((pod.ready, event("MODIFIED", pod_object(pod, State::Ready))));
        }
        if pod.deleted < i64::MAX {
            stream.push((
                pod.deleted,
                event("MODIFIED", pod_object(pod, State::Leaving)),
            ));
            stream.push((
                pod.ended + 300 * MS,
                event("MODIFIED", pod_object(pod, State::Ended)),
            ));
            stream.push((
                pod.ended + 400 * MS,
                event("DELETED", pod_object(pod, State::Ended)),
            ));
        }
    }
    let mut moments: Vec<i64> = pods
        .iter()
        .flat_map(|p| [p.ready, p.deleted, p.ended])
        .map(|t| t.max(MONDAY))
        .filter(|t| *t < i64::MAX - S)
        .collect();
    moments.sort_unstable();
    moments.dedup();
    let slices = files.entry("endpointslices.watch").or_default();
    for (i, at) in moments.into_iter().enumerate() {
        let kind = if i == 0 { "ADDED" } else { "MODIFIED" };
        slices.push((at + 5 * MS, event(kind, slice(pods, at))));
    }
    for (file, mut events) in files {
        events.sort_by_key(|(at, _)| *at);
        let mut text = String::new();
        for (at, event) in events {
            writeln!(text, "{at} {event}").unwrap();
        }
        fs::write(dir.join(file), text).unwrap();
    }
}

fn event(kind: &str, object: Value) -> Value {
    json!({"type": kind, "object": object})
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Starting,
    Ready,
    Leaving,
    Ended,
}

fn pod_object(pod: &Pod, state: State) -> Value {
    let ready = matches!(state, State::Ready | State::Leaving);
    let started = rfc3339(pod.ready - S);
    let container = match state {
        State::Starting => json!({"waiting": {"reason": "ContainerCreating"}}),
        State::Ended => {
            json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": started,
            "finishedAt": rfc3339(pod.ended)}})
        }
        _ => json!({"running": {"startedAt": started}}),
    };
    let mut object = json!({"kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": pod.name, "namespace": "shop", "uid": format!("uid-{}", pod.name),
            "creationTimestamp": rfc3339(pod.created),
            "labels": {"app": "web", "pod-template-hash": pod.hash},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("web-{}", pod.hash),
                "uid": pod.hash, "controller": true}]},
        "spec": {"terminationGracePeriodSeconds": GRACE, "nodeName": "node1", "containers": [{"name": "web",
            "ports": [{"containerPort": 3000}],
            "readinessProbe": {"httpGet": {"path": "/healthz/ready", "port": 3000}, "periodSeconds": 2,
                "failureThreshold": 1, "timeoutSeconds": 1}}]},
        "status": {"phase": if state == State::Starting { "Pending" } else { "Running" }, "podIP": pod.ip,
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" },
                "lastTransitionTime": rfc3339(pod.ready)}],
            "containerStatuses": [{"name": "web", "ready": ready, "restartCount": 0, "state": container,
                "lastState": {}}]}});
    if matches!(state, State::Leaving | State::Ended) {
        object["metadata"]["deletionTimestamp"] = rfc3339(pod.deleted + GRACE * S).into();
        object["metadata"]["deletionGracePeriodSeconds"] = GRACE.into();
    }
    object
}

fn slice(pods: &[Pod], at: i64) -> Value {
    let there = pods.iter().filter(|p| p.ready <= at && at < p.ended);
    let endpoints: Vec<Value> = there
        .map(|p| {
            let leaving = at >= p.deleted;
            json!({"addresses": [p.ip], "targetRef": {"kind": "Pod", "namespace": "shop", "name": p.name},
                "conditions": {"ready": !leaving, "serving": true, "terminating": leaving}})
        })
        .collect();
    json!({"kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1", "addressType": "IPv4",
        "metadata": {"name": "web-abc", "namespace": "shop", "uid": "slice",
            "labels": {"kubernetes.io/service-name": "web"}},
        "endpoints": endpoints, "ports": [{"port": 3000, "protocol": "TCP"}]})
}
