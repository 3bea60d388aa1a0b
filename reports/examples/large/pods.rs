//! The pods of the large run: what was recorded of them and what an analyzer would say.

use std::collections::BTreeMap;

use rollscope_analyzer::{
    Advice, Burst, EndpointState, Evidence, FailureReport, LogMark, Ms, MsInterval, MsLength,
    PodExit, PodPhase, PodReport, RuledOut, Sign,
};
use rollscope_records::{
    Interval, LogRecord, LogSource, ObjectKind, Recording, Request, RunOffset, WatchRecord,
    WatchType,
};
use serde_json::{Value, json};

use super::Size;
use super::requests::FAILING;

const SECOND: i64 = 1_000_000_000;
/// From its deletion to the end of an old pod.
const ENDING: i64 = 6 * SECOND;

fn name(size: &Size, pod: usize) -> String {
    let hash = if pod < size.old() {
        "7d9f6bb8c4"
    } else {
        "5bd44df76c"
    };
    format!("checkout-{hash}-{:05x}", (pod * 40_503 + 7_919) % 0xf_ffff)
}

/// The pod's address.
pub(crate) fn address(pod: usize) -> String {
    format!("10.244.{}.{}:8080", pod / 250, pod % 250 + 2)
}

/// A pod that answers at `at`: a new one that has started, or an old one that has not ended.
pub(crate) fn answering(size: &Size, at: RunOffset, pick: usize) -> String {
    let gone = (0..size.old()).partition_point_by(|i| size.ends(*i) <= at);
    name(size, gone + pick % size.old())
}

/// The number of leading numbers of a range for which a condition holds.
trait PartitionPoint {
    fn partition_point_by(self, holds: impl Fn(&usize) -> bool) -> usize;
}

impl PartitionPoint for std::ops::Range<usize> {
    fn partition_point_by(self, holds: impl Fn(&usize) -> bool) -> usize {
        let (mut low, mut high) = (self.start, self.end);
        while low < high {
            let middle = usize::midpoint(low, high);
            if holds(&middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// When a pod was first seen, and for an old one when it was told to end.
fn life(size: &Size, pod: usize) -> (RunOffset, Option<RunOffset>) {
    if pod < size.old() {
        (RunOffset::ZERO, Some(size.ends(pod)))
    } else {
        let starts = size.ends((pod - size.old()).min(size.old() - 1));
        (starts.plus_nanos(-5 * SECOND), None)
    }
}

/// Watch events and log lines of every pod, in order of time.
pub(crate) fn records(size: &Size, recording: &mut Recording) {
    for pod in 0..size.pods {
        let (from, ends) = life(size, pod);
        let states: &[(i64, &str, &str, bool)] = &[
            (0, "Pending", "False", false),
            (SECOND, "Running", "False", false),
            (4 * SECOND, "Running", "True", false),
        ];
        for (after, phase, ready, ending) in states {
            watch(
                size,
                recording,
                from.plus_nanos(*after),
                pod,
                (phase, ready, *ending),
            );
        }
        let Some(ends) = ends else { continue };
        for (after, phase, ready, ending) in [
            (4_000_000, "Running", "True", true),
            (SECOND, "Running", "False", true),
            (ENDING + 200_000_000, "Succeeded", "False", true),
        ] {
            watch(
                size,
                recording,
                ends.plus_nanos(after),
                pod,
                (phase, ready, ending),
            );
        }
        for nth in 0..400 {
            recording.logs.push(LogRecord {
                at: ends.plus_nanos((nth - 100) * 15_000_000),
                source: LogSource::Container { pod: name(size, pod), container: "web".to_owned() },
                timestamp: Some("2026-11-30T11:20:13.049734613Z".to_owned()),
                line: format!("{{\"level\":\"info\",\"msg\":\"request served\",\"nth\":{nth},\"path\":\"/orders\",\"ms\":{}}}", nth % 7),
            });
        }
    }
    recording.logs.sort_by_key(|log| log.at);
    recording.watch.sort_by_key(|record| match record {
        WatchRecord::Event { at, .. } => *at,
        WatchRecord::Gap(gap) => gap.from,
    });
}

fn watch(
    size: &Size,
    recording: &mut Recording,
    at: RunOffset,
    pod: usize,
    state: (&str, &str, bool),
) {
    recording.watch.push(WatchRecord::Event {
        at,
        kind: ObjectKind::Pod,
        event: if state.0 == "Pending" {
            WatchType::Added
        } else {
            WatchType::Modified
        },
        object: object(size, pod, at, state),
    });
    recording.watch.push(WatchRecord::Event {
        at: at.plus_nanos(8_000_000),
        kind: ObjectKind::EndpointSlice,
        event: WatchType::Modified,
        object: json!({ "metadata": { "name": format!("checkout-{}", pod / 100) }, "addressType": "IPv4", "endpoints": [{
            "addresses": [address(pod)], "targetRef": { "kind": "Pod", "name": name(size, pod), "uid": format!("uid-{pod}") },
            "conditions": { "ready": state.1 == "True" && !state.2, "serving": state.1 == "True", "terminating": state.2 } }] }),
    });
}

/// A pod as an API server sends it, about as large.
fn object(
    size: &Size,
    pod: usize,
    at: RunOffset,
    (phase, ready, ending): (&str, &str, bool),
) -> Value {
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "lastProbeTime": "1970-01-01T00:00:00Z", "lastTransitionTime": "2026-11-30T11:20:07Z", "observedGeneration": 1 });
    let mut object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name(size, pod), "namespace": "shop", "uid": format!("uid-{pod}"), "resourceVersion": at.nanos().to_string(),
            "labels": { "app": "checkout", "pod-template-hash": if pod < size.old() { "7d9f6bb8c4" } else { "5bd44df76c" } },
            "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "checkout", "uid": "9d7f4e2a", "controller": true }] },
        "spec": { "nodeName": format!("node-{}", pod % 12), "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "serviceAccountName": "default",
            "containers": [{ "name": "web", "image": "registry.example/checkout:1.42.0", "ports": [{ "containerPort": 8080, "protocol": "TCP" }],
                "resources": { "requests": { "cpu": "250m", "memory": "256Mi" }, "limits": { "memory": "512Mi" } },
                "readinessProbe": { "httpGet": { "path": "/ready", "port": 8080, "scheme": "HTTP" }, "periodSeconds": 1, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3 } }],
            "tolerations": [{ "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }] },
        "status": { "phase": phase, "podIP": address(pod).replace(":8080", ""), "hostIP": "10.0.0.4", "qosClass": "Burstable",
            "conditions": [condition("PodScheduled", "True"), condition("Initialized", "True"), condition("Ready", ready), condition("ContainersReady", ready)],
            "containerStatuses": [{ "name": "web", "ready": ready == "True", "restartCount": 0, "image": "registry.example/checkout:1.42.0", "state": if phase == "Succeeded" {
                json!({ "terminated": { "exitCode": 0, "reason": "Completed", "finishedAt": "2026-11-30T11:20:14Z" } }) } else { json!({ "running": { "startedAt": "2026-11-30T11:20:08Z" } }) } }] }
    });
    if ending {
        object["metadata"]["deletionTimestamp"] = json!("2026-11-30T11:20:43Z");
        object["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    }
    object
}

/// What an analyzer would say of each pod.
pub(crate) fn reports(size: &Size) -> Vec<PodReport> {
    (0..size.pods).map(|pod| report(size, pod)).collect()
}

fn within(from: RunOffset, lo: i64, hi: i64) -> MsInterval {
    MsInterval(Interval::new(from.plus_nanos(lo), from.plus_nanos(hi)))
}

fn report(size: &Size, pod: usize) -> PodReport {
    let (from, ends) = life(size, pod);
    let after = |nanos: i64| Ms(from.plus_nanos(nanos));
    let end = ends.map(|at| at.plus_nanos(ENDING));
    let phase = |phase, from_ms, to_ms| PodPhase {
        phase,
        from_ms,
        to_ms,
    };
    let mut phases = vec![
        phase("pending", after(0), Some(after(SECOND))),
        phase("not_ready", after(SECOND), Some(after(4 * SECOND))),
        phase("ready", after(4 * SECOND), ends.map(Ms)),
    ];
    let state = |from_ms, to_ms, ready, serving, terminating| EndpointState {
        from_ms,
        to_ms,
        ready,
        serving,
        terminating,
    };
    let mut endpoint = vec![state(after(4 * SECOND), ends.map(Ms), true, true, false)];
    if let (Some(at), Some(end)) = (ends, end) {
        phases.push(phase("terminating", Ms(at), Some(Ms(end))));
        phases.push(phase("ended", Ms(end), None));
        endpoint.push(state(Ms(at), Some(Ms(end)), false, false, true));
    }
    PodReport {
        name: name(size, pod),
        uid: format!("uid-{pod}"),
        template_hash: if ends.is_some() {
            "7d9f6bb8c4"
        } else {
            "5bd44df76c"
        }
        .to_owned(),
        old: ends.is_some(),
        first_seen_ms: Ms(from),
        phases,
        endpoint,
        grace_seconds: Some(30),
        pre_stop: None,
        deletion_requested_ms: ends.map(|at| within(at, -3_000_000, 4_000_000)),
        pre_stop_took_ms: None,
        signal_ms: ends.map(|at| within(at, 10_000_000, 40_000_000)),
        deadline_ms: ends.map(|at| within(at, 30 * SECOND, 30 * SECOND + 40_000_000)),
        first_drain_sign: ends.map(|at| Sign {
            at_ms: within(at, 40_000_000, 41_000_000),
            kind: "listener_closed",
            what: "a connection was refused".to_owned(),
        }),
        not_ready_ms: ends.map(|at| Ms(at.plus_nanos(SECOND))),
        endpoint_not_ready_ms: ends.map(Ms),
        endpoint_not_serving_ms: None,
        endpoint_removed_ms: end.map(Ms),
        listener_closed_ms: ends.map(|at| Ms(at.plus_nanos(40_000_000))),
        last_new_connection_ms: ends.map(|at| Ms(at.plus_nanos(FAILING))),
        propagation_lag_ms: ends.map(|_| MsLength(FAILING)),
        last_reused_request_ms: ends.map(|at| Ms(at.plus_nanos(SECOND))),
        in_flight_at_signal: ends.map(|_| 3),
        in_flight_at_exit: ends.map(|_| 0),
        cut: 0,
        served: size.requests / size.pods as u64,
        failed: if ends.is_some() {
            size.failed / size.old() as u64
        } else {
            0
        },
        exit: end.map(|at| PodExit {
            code: 0,
            reason: "Completed".to_owned(),
            at_ms: within(at, -100_000_000, 200_000_000),
        }),
        earlier_exits: Vec::new(),
        margin_to_deadline_ms: end.map(|_| MsLength(24 * SECOND)),
        log_marks: ends
            .map(|at| LogMark {
                at_ms: Ms(at.plus_nanos(20_000_000)),
                mark: "shutdown".to_owned(),
                line: "SIGTERM received".to_owned(),
            })
            .into_iter()
            .collect(),
        shutdown: None,
    }
}

/// One burst for each old pod on which requests failed.
pub(crate) fn bursts(size: &Size, recording: &Recording) -> Vec<Burst> {
    let mut by_pod: BTreeMap<&str, Vec<Request<'_>>> = BTreeMap::new();
    for request in recording.requests.iter().filter(|r| r.outcome.is_failure()) {
        by_pod
            .entry(request.peer.unwrap_or_default())
            .or_default()
            .push(request);
    }
    let in_order =
        (0..size.old()).filter_map(|pod| Some((pod, by_pod.remove(address(pod).as_str())?)));
    (1..)
        .zip(in_order)
        .map(|(id, (pod, requests))| burst(size, id, pod, &requests))
        .collect()
}

/// Each failed request of the bursts at its burst's pod.
pub(crate) fn failures(bursts: &[Burst]) -> Vec<FailureReport> {
    let mut all: Vec<_> = bursts
        .iter()
        .flat_map(|b| {
            b.requests.iter().map(|seq| FailureReport {
                seq: *seq,
                pod: b.pods.first().cloned(),
                how: "peer".to_owned(),
                burst: Some(b.id),
            })
        })
        .collect();
    all.sort_by_key(|f| f.seq);
    all
}

fn burst(size: &Size, id: u32, pod: usize, requests: &[Request<'_>]) -> Burst {
    let pod_name = name(size, pod);
    let at = size.ends(pod);
    let n = requests.len() as u64;
    let mut by_outcome = BTreeMap::new();
    for r in requests {
        *by_outcome.entry(r.outcome.as_str().to_owned()).or_insert(0) += 1;
    }
    let evidence = |id: &str, text: &str, lo: i64, hi: i64| Evidence {
        id: id.to_owned(),
        text: format!("{pod_name}: {text}"),
        at_ms: Some(within(at, lo, hi)),
        pod: Some(pod_name.clone()),
    };
    let ends = requests.iter().filter_map(|r| r.ended);
    Burst {
        id,
        from_ms: Ms(requests.first().map_or(at, |r| r.scheduled)),
        to_ms: Ms(ends.max().unwrap_or(at)),
        failed: n,
        by_outcome,
        pods: vec![pod_name.clone()],
        requests: requests.iter().map(|r| r.seq).collect(),
        cause: "early_close".to_owned(),
        detail: Some("refused".to_owned()),
        stage: None,
        summary: format!("{n} requests refused by {pod_name}: it closed its listener 30 ms after SIGTERM and traffic came for 2 s more"),
        confidence: 0.96,
        evidence: vec![
            evidence("after_deletion", "the failures began 40 ms after its deletion", -3_000_000, 40_000_000),
            evidence("closed_after_signal", "the first failure came 30 ms after its signal", 10_000_000, 40_000_000),
            evidence("ended_early", "it ended by itself (exit code 0 (Completed)) 6 s after its deletion, its grace was 30 s", ENDING - 100_000_000, ENDING + 200_000_000),
            evidence("log_line", "its own log says at the signal: SIGTERM received", 20_000_000, 20_000_000),
        ],
        against: Vec::new(),
        ruled_out: ["oom_kill", "liveness_kill", "crash", "stale_route", "no_endpoints", "background", "unforwarded_signal"]
            .map(|cause| RuledOut { cause: cause.to_owned(), why: format!("{pod_name}: nothing of it was seen at that time") })
            .into(),
        advice: vec![
            Advice { field: "spec.template.spec.containers[].lifecycle.preStop.sleep.seconds".to_owned(), text: "preStop sleep >= 2.5 s: the last new connection reached a terminating pod 2 s after its deletion (maximum of 250 pods); now: none".to_owned() },
            Advice { field: "the program".to_owned(), text: "on SIGTERM, keep the listener open for the propagation delay, then close it".to_owned() },
        ],
    }
}
