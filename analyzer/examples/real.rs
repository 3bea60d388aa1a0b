//! Development helper: analyses directories in the raw watch format.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use rollscope_analyzer::analyze;
use rollscope_records::*;
use serde_json::Value;

fn load(dir: &Path) -> Recording {
    let meta: Value = serde_json::from_slice(&fs::read(dir.join("meta.json")).unwrap()).unwrap();
    let tl = meta["timeline"].as_array().unwrap();
    let t0 = tl[0]["t_ns"].as_i64().unwrap();
    let off = |ns: i64| RunOffset(ns - t0);
    let mark = |w: &str| {
        tl.iter()
            .find(|m| m["what"].as_str().unwrap().contains(w))
            .map(|m| off(m["t_ns"].as_i64().unwrap()))
            .unwrap()
    };
    let stop = mark("load stop");
    let run = RunRecord {
        format_version: 1,
        run_id: "x".into(),
        name: "import".into(),
        tool: "dev".into(),
        wall_start_unix_nanos: t0,
        target: TargetFacts {
            kind: "kubernetes".into(),
            namespace: Some("shop".into()),
            workload: Some("deployment/web".into()),
            services: vec!["web".into()],
            front_end: None,
            kubelet_version: None,
        },
        gate: GateLimits::default(),
        log_marks: Default::default(),
        requests: vec![],
        rate_per_second: 50.0,
        scenario: Value::Null,
        warnings: vec![],
        end: Some(RunEnd {
            at: stop,
            how: EndKind::Completed,
            reason: None,
        }),
    };
    let mut rec = Recording::new(run);
    let st = |at, stage, kind: &str, event, detail: &str| StageRecord {
        at,
        stage,
        kind: kind.into(),
        event,
        detail: detail.into(),
    };
    let start = mark("restart: start");
    let gone = mark("pods left");
    rec.stages = vec![
        st(RunOffset(0), 0, "warmup", StageEvent::Started, ""),
        st(start, 0, "warmup", StageEvent::Completed, ""),
        st(start, 1, "restart", StageEvent::Started, ""),
        st(
            mark("restart: returned"),
            1,
            "restart",
            StageEvent::Mark,
            marks::ROLLOUT_REQUESTED,
        ),
        st(
            mark("status: returned"),
            1,
            "restart",
            StageEvent::Mark,
            marks::ROLLOUT_COMPLETE,
        ),
        st(gone, 1, "restart", StageEvent::Mark, marks::OLD_PODS_GONE),
        st(gone, 1, "restart", StageEvent::Completed, ""),
        st(gone, 2, "settle", StageEvent::Started, ""),
        st(stop, 2, "settle", StageEvent::Completed, ""),
    ];
    for f in [
        "pods",
        "endpointslices",
        "deployments",
        "replicasets",
        "events",
        "node",
    ] {
        for l in fs::read_to_string(dir.join(format!("{f}.watch")))
            .unwrap()
            .lines()
        {
            let (t, j) = l.split_once(' ').unwrap();
            let e: Value = serde_json::from_str(j).unwrap();
            let o = e["object"].clone();
            let kind = match o["kind"].as_str().unwrap() {
                "Pod" => ObjectKind::Pod,
                "EndpointSlice" => ObjectKind::EndpointSlice,
                "Deployment" => ObjectKind::Deployment,
                "ReplicaSet" => ObjectKind::ReplicaSet,
                "Event" => ObjectKind::Event,
                "Node" => ObjectKind::Node,
                _ => continue,
            };
            let event = match e["type"].as_str().unwrap() {
                "ADDED" => WatchType::Added,
                "MODIFIED" => WatchType::Modified,
                "DELETED" => WatchType::Deleted,
                _ => continue,
            };
            rec.watch.push(WatchRecord::Event {
                at: off(t.parse().unwrap()),
                kind,
                event,
                object: o,
            });
        }
    }
    let hits: Vec<String> = meta["config"]["hits"]
        .as_array()
        .map(|a| {
            a.iter()
                .map(|h| h.as_str().unwrap().split_once(':').unwrap().1.to_owned())
                .collect()
        })
        .unwrap_or_default();
    let mut last: HashMap<u64, RunOffset> = HashMap::new();
    let mut rows: Vec<Value> = fs::read_to_string(dir.join("requests.jsonl"))
        .unwrap()
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    rows.sort_by(|a, b| {
        a["t"]
            .as_f64()
            .unwrap()
            .total_cmp(&b["t"].as_f64().unwrap())
    });
    for (i, r) in rows.iter().enumerate() {
        let at = RunOffset((r["t"].as_f64().unwrap() * 1e6) as i64 - t0);
        let fresh = r["fresh"].as_bool().unwrap_or(r["conn"].is_null());
        let mut q = RequestRecord::scheduled(
            i as u64,
            if fresh { Lane::New } else { Lane::Reused },
            r["path"].as_str().unwrap(),
            at,
        );
        q.dispatched = Some(at);
        let end = at.plus_nanos((r["ms"].as_f64().unwrap() * 1e6) as i64);
        q.ended = Some(end);
        q.connection = r["conn"].as_u64();
        q.reused = r["reused"].as_bool().unwrap_or(false);
        if let Some(c) = q.connection {
            q.idle = last.get(&c).map(|l| at.nanos_since(*l));
            last.insert(c, end);
        }
        q.pod = r["pod"].as_str().map(str::to_owned);
        q.close_received = r["close"].as_bool().unwrap_or(false);
        q.close_requested = fresh;
        q.phase = Phase::Done;
        let phase = r["phase"].as_str().unwrap_or("");
        if let Some(s) = r["out"].as_u64() {
            q.status = Some(s as u16);
            q.outcome = if s / 100 == 2 || hits.contains(&q.name) {
                Outcome::Ok
            } else {
                Outcome::Status
            };
        } else {
            q.outcome = match (r["out"].as_str().unwrap(), phase) {
                ("EOF", "head") => Outcome::EofBeforeHeaders,
                ("ECONNRESET", "head") => Outcome::ResetBeforeHeaders,
                ("ECONNREFUSED", _) => Outcome::ConnectRefused,
                ("TIMEOUT", "connect") => Outcome::ConnectTimeout,
                ("EHOSTUNREACH", _) => Outcome::ConnectUnreachable,
                ("TIMEOUT", _) => Outcome::DeadlineExceeded,
                (o, p) => panic!("{o} {p}"),
            };
        }
        rec.requests.push(q);
    }
    for f in fs::read_dir(dir.join("logs")).unwrap() {
        let f = f.unwrap();
        let name = f.file_name().into_string().unwrap();
        let pod = name.split('.').next().unwrap().to_owned();
        for l in fs::read_to_string(f.path()).unwrap().lines() {
            let mut p = l.splitn(3, ' ');
            let at = off(p.next().unwrap().parse().unwrap());
            let ts = p.next().unwrap();
            if ts == "<EOF>" {
                continue;
            }
            rec.logs.push(LogRecord {
                at,
                source: LogSource::Container {
                    pod: pod.clone(),
                    container: "web".into(),
                },
                timestamp: Some(ts.into()),
                line: p.next().unwrap_or("").into(),
            });
        }
    }
    rec
}

fn strip_ready(rec: &mut Recording, mode: &str) {
    rec.watch.retain(|w| !matches!(w, WatchRecord::Event { kind: ObjectKind::Event, object, .. } if object["reason"] == "Unhealthy"));
    for w in &mut rec.watch {
        let WatchRecord::Event { kind, object, .. } = w else {
            continue;
        };
        match kind {
            ObjectKind::Pod => {
                if let Some(c) = object["status"]["conditions"].as_array_mut() {
                    if mode == "true" {
                        for x in c.iter_mut() {
                            if x["type"] == "Ready" || x["type"] == "ContainersReady" {
                                x["status"] = "True".into();
                            }
                        }
                    } else {
                        c.retain(|x| x["type"] != "Ready" && x["type"] != "ContainersReady");
                    }
                }
                if let Some(c) = object["status"]["containerStatuses"].as_array_mut() {
                    for x in c {
                        x.as_object_mut().unwrap().remove("ready");
                    }
                }
            }
            ObjectKind::EndpointSlice if mode != "keepslices" => {
                if let Some(c) = object["endpoints"].as_array_mut() {
                    for x in c {
                        if mode == "true" {
                            x["conditions"]["serving"] = true.into();
                        } else {
                            x["conditions"] = serde_json::json!({});
                        }
                    }
                }
            }
            _ => {}
        }
    }
    if mode == "drop" {}
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let full = args.iter().any(|a| a == "--full");
    for dir in args.iter().filter(|a| !a.starts_with("--")) {
        let base = load(Path::new(dir));
        println!("==== {dir}");
        let variants: Vec<(&str, Recording)> = if full {
            vec![("full", base)]
        } else {
            let mut v = vec![("full", base.clone())];
            let mut a = base.clone();
            a.logs.clear();
            v.push(("nologs", a.clone()));
            for m in ["remove", "true", "keepslices"] {
                let mut b = base.clone();
                strip_ready(&mut b, m);
                v.push((m, b));
                let mut c = a.clone();
                strip_ready(&mut c, m);
                v.push((m, c));
            }
            let mut h = base.clone();
            for r in &mut h.requests {
                r.pod = None;
            }
            v.push(("noheader", h.clone()));
            let mut h2 = a.clone();
            for r in &mut h2.requests {
                r.pod = None;
            }
            v.push(("noheader-nologs", h2));
            let mut n = base.clone();
            n.watch.clear();
            n.logs.clear();
            n.run.target.kind = "none".into();
            v.push(("none", n));
            v
        };
        for (name, rec) in variants {
            let t = std::time::Instant::now();
            let a = analyze(&rec);
            let took = t.elapsed();
            if full {
                println!("{}", serde_json::to_string_pretty(&a).unwrap());
                continue;
            }
            println!(
                "-- {name} {:?} {:?} {took:?}",
                a.verdict.outcome, a.verdict.reasons
            );
            for b in &a.bursts {
                println!(
                    "   {:5} {:?} n={} conf={} pods={} [{}..{}] {}",
                    b.cause,
                    b.detail,
                    b.failed,
                    b.confidence,
                    b.pods.len(),
                    b.from_ms.0.as_millis_f64() as i64,
                    b.to_ms.0.as_millis_f64() as i64,
                    b.summary
                );
                if name == "full" {
                    for r in &b.ruled_out {
                        println!("        not {}: {}", r.cause, r.why);
                    }
                }
            }
            for f in &a.findings {
                println!(
                    "   FINDING {} {:?} {:?}: {}",
                    f.cause, f.detail, f.pods, f.summary
                );
            }
        }
    }
}
