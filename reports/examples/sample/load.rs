//! The recording of the hand-made run.

use rollscope_records::{
    GeneratorRecord, Lane, Lateness, LogRecord, LogSource, ObjectKind, Outcome, Phase, Recording,
    RequestFacts, RequestRecord, RunRecord, TargetFacts, WatchRecord, WatchType,
};
use serde_json::json;

use super::offset;

/// When each old pod is told to end, s.
pub(crate) const ENDS: [f64; 3] = [6.2, 9.1, 12.4];
/// For how long after it new connections still come, s.
pub(crate) const LAGS: [f64; 3] = [1.9, 2.9, 2.3];

/// The name of an old pod.
pub(crate) fn old(i: usize) -> String {
    format!("checkout-7d9f6bb8c4-{}", ["4xk2p", "b7nrl", "zq8vd"][i])
}

/// The name of a new pod.
pub(crate) fn new(i: usize) -> String {
    format!("checkout-5bd44df76c-{}", ["c8cdx", "h2m4t", "w9s6j"][i])
}

/// The recording, with failures or without.
pub(crate) fn recording(slots: u64, failing: bool) -> Recording {
    let mut recording = Recording::new(run());
    let mut chance = Chance(7);
    for seq in 0..slots {
        recording
            .requests
            .push(request(seq, failing, &mut chance).view());
    }
    recording.generator = Some(GeneratorRecord {
        planned: slots,
        sent: slots,
        lateness_us: Lateness {
            p50: 61,
            p99: 402,
            p999: 911,
            max: 1_720,
        },
        cpu_us: 1_310_000,
        max_in_flight: 23,
        to: offset(slots as f64 / 200.0),
        ..GeneratorRecord::default()
    });
    for i in 0..3 {
        logs(&mut recording, i, failing);
        watch(&mut recording, i, failing);
    }
    recording.logs.sort_by_key(|l| l.at);
    recording
}

fn run() -> RunRecord {
    RunRecord {
        requests: vec![RequestFacts {
            name: "list".to_owned(),
            method: "GET".to_owned(),
            path: "/orders".to_owned(),
            deadline_nanos: 5_000_000_000,
        }],
        rate_per_second: 200.0,
        scenario: json!({}),
        ..RunRecord::new(
            "01k8f3v7q0x9",
            "checkout-restart",
            "rollscope 0.1.0",
            1_796_037_607_018_033_502,
            TargetFacts {
                namespace: Some("shop".to_owned()),
                workload: Some("deployment/checkout".to_owned()),
                services: vec!["checkout".to_owned()],
                front_end: Some("l4".to_owned()),
                ..TargetFacts::of("sandbox")
            },
        )
    }
}

/// A small linear congruential generator: the same run every time.
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

fn request(seq: u64, failing: bool, chance: &mut Chance) -> RequestRecord {
    let lane = if seq.is_multiple_of(5) {
        Lane::New
    } else {
        Lane::Reused
    };
    let scheduled = offset(seq as f64 / 200.0);
    let mut r = RequestRecord::scheduled(
        seq,
        lane,
        if seq % 10 == 3 { "export" } else { "list" },
        scheduled,
    );
    let at = seq as f64 / 200.0;
    let dispatched = scheduled.plus_nanos(40_000 + chance.next(300_000) as i64);
    r.dispatched = Some(dispatched);
    r.peer = Some("10.96.202.108:80".to_owned());
    r.local_port = Some(40_000 + (seq % 20_000) as u16);
    r.bytes_sent = 112;
    let slow = r.name == "export";
    let pod = pod_of(seq, at, chance);
    let closed = (0..3)
        .find(|i| old(*i) == pod)
        .is_some_and(|i| at > ENDS[i] + 0.1);
    if failing && closed && lane == Lane::New {
        return refused(r, chance);
    }
    let pod = if closed {
        new(chance.next(3) as usize % alive_new(at))
    } else {
        pod
    };
    r.connection = Some(if lane == Lane::New {
        1_000 + seq
    } else {
        seq % 16
    });
    r.ordinal = Some(if lane == Lane::New {
        0
    } else {
        (seq / 20) as u32
    });
    r.reused = lane == Lane::Reused;
    r.connection_age = Some((at * 1e9) as i64);
    r.idle = r.reused.then(|| 3_000_000 + chance.next(90_000_000) as i64);
    let took = if slow {
        700_000_000 + chance.next(200_000_000)
    } else {
        1_500_000 + chance.next(4_000_000)
    };
    let cut = failing
        && (0..3)
            .any(|i| old(i) == pod && slow && at < ENDS[i] + 0.1 && at > ENDS[i] - 0.2 && i == 1);
    if cut {
        r.ended = Some(offset(ENDS[1] + 0.12));
        r.outcome = Outcome::EofBeforeHeaders;
        r.phase = Phase::Head;
        r.maskable = r.reused;
        return r;
    }
    r.written = Some(dispatched.plus_nanos(30_000));
    r.first_byte = Some(dispatched.plus_nanos(took as i64 - 20_000));
    r.ended = Some(dispatched.plus_nanos(took as i64));
    r.status = Some(200);
    r.outcome = Outcome::Ok;
    r.phase = Phase::Done;
    r.bytes_received = 824;
    r.pod = Some(pod);
    r
}

fn refused(mut r: RequestRecord, chance: &mut Chance) -> RequestRecord {
    r.ended = r
        .dispatched
        .map(|t| t.plus_nanos(210_000 + chance.next(200_000) as i64));
    r.outcome = Outcome::ConnectRefused;
    r.phase = Phase::Connect;
    r.errno = Some(111);
    r.bytes_sent = 0;
    r
}

/// The pod that the front end picks: old ones until their lag is over.
fn pod_of(seq: u64, at: f64, chance: &mut Chance) -> String {
    let mut routed: Vec<String> = (0..3)
        .filter(|i| at < ENDS[*i] + LAGS[*i])
        .map(old)
        .collect();
    routed.extend((0..3).filter(|i| at > ENDS[*i] - 0.4).map(new));
    let pick = (seq + chance.next(7)) as usize % routed.len();
    routed[pick].clone()
}

fn alive_new(at: f64) -> usize {
    (0..3).filter(|i| at > ENDS[*i] - 0.4).count().max(1)
}

fn logs(recording: &mut Recording, i: usize, failing: bool) {
    let steps: &[(f64, &str)] = if failing {
        &[
            (0.02, "SIGTERM received"),
            (0.03, "listener closed"),
            (0.94, "drained, exit 0"),
        ]
    } else {
        &[
            (0.02, "SIGTERM received"),
            (0.03, "readiness off"),
            (4.03, "listener closed"),
            (4.9, "drained, exit 0"),
        ]
    };
    for (after, line) in steps {
        recording.logs.push(LogRecord {
            at: offset(ENDS[i] + after),
            source: LogSource::Container {
                pod: old(i),
                container: "web".to_owned(),
            },
            timestamp: Some("2026-11-30T11:20:13.049734613Z".to_owned()),
            line: format!("{{\"ev\":\"{line}\",\"inflight\":3}}"),
        });
    }
}

fn watch(recording: &mut Recording, i: usize, failing: bool) {
    let exit = ENDS[i] + if failing { 0.94 } else { 4.9 };
    let state = |phase: &str, ready: &str, deletion: bool, state: serde_json::Value| {
        let mut object = json!({
            "metadata": { "name": old(i), "uid": format!("uid-old-{i}") },
            "status": { "phase": phase, "conditions": [{ "type": "Ready", "status": ready }],
                "containerStatuses": [{ "name": "web", "restartCount": 0, "state": state }] }
        });
        if deletion {
            object["metadata"]["deletionTimestamp"] = json!("2026-11-30T11:20:43Z");
            object["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        }
        object
    };
    let ended = json!({ "terminated": { "exitCode": 0, "reason": "Completed", "finishedAt": "2026-11-30T11:20:14Z" } });
    let events = [
        (
            0.0,
            WatchType::Added,
            state("Running", "True", false, json!({ "running": {} })),
        ),
        (
            ENDS[i] + 0.004,
            WatchType::Modified,
            state("Running", "True", true, json!({ "running": {} })),
        ),
        (
            exit + 0.2,
            WatchType::Modified,
            state("Succeeded", "False", true, ended.clone()),
        ),
        (
            exit + 0.6,
            WatchType::Deleted,
            state("Succeeded", "False", true, ended),
        ),
    ];
    for (at, event, object) in events {
        recording.watch.push(WatchRecord::Event {
            at: offset(at),
            kind: ObjectKind::Pod,
            event,
            object,
        });
    }
    recording.watch.push(WatchRecord::Event {
        at: offset(ENDS[i] + 0.01),
        kind: ObjectKind::Event,
        event: WatchType::Added,
        object: json!({ "involvedObject": { "kind": "Pod", "name": old(i), "uid": format!("uid-old-{i}") },
            "reason": "Killing", "message": "Stopping container web", "count": 1 }),
    });
}
