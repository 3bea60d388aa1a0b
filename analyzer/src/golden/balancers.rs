//! What a balancer's own log decides.

use rollscope_records::{BalancerLog, BalancerRecord, RunOffset, WatchRecord};
use serde_json::json;

use super::{analysed, new_pod, quiet};
use crate::testing::{Scene, WALL};

const FORMAT: &str = r#"nginx:$remote_addr:$remote_port $msec $request_time "$request" $status [$upstream_addr] [$upstream_status] [$upstream_connect_time] [$upstream_header_time]"#;

/// Two pods leave at 6 s and close their listeners; only their addresses tell them apart. nginx is in front.
fn two_leave() -> Scene {
    let mut scene = quiet();
    new_pod(&mut scene);
    for name in ["old-a", "old-b"] {
        let pod = scene.pod(name, "h1").deleted(6_000);
        pod.exit(6_900, 0, "Completed").add(&mut scene);
        scene.ok_new(5_700, 3, name);
    }
    for (name, ip) in [("old-a", "10.0.0.1"), ("old-b", "10.0.0.2")] {
        for record in &mut scene.recording.watch {
            if let WatchRecord::Event { object, .. } = record
                && object["metadata"]["name"] == name
            {
                object["status"]["podIP"] = json!(ip);
            }
        }
    }
    scene.recording.run.target.front_end = Some("nginx".to_owned());
    scene
        .recording
        .balancers
        .push(BalancerRecord::Log(BalancerLog {
            log: 0,
            balancer: "nginx".to_owned(),
            format: Some(FORMAT.to_owned()),
            clock: None,
        }));
    scene
}

/// nginx's line for a request that ended at `at` ms on our port.
fn line(scene: &mut Scene, at: i64, port: u16, rest: &str) {
    let ms = WALL / 1_000_000 + at;
    let (seconds, part) = (ms / 1000, ms % 1000);
    scene.recording.balancers.push(BalancerRecord::Line {
        request: None,
        log: 0,
        at: RunOffset::from_millis(at + 5),
        line: format!(r#"127.0.0.1:{port} {seconds}.{part:03} 0.002 "GET / HTTP/1.1" {rest}"#),
    });
}

#[test]
fn a_failure_is_laid_to_the_pod_whose_address_the_log_names() {
    let mut scene = two_leave();
    for (i, ip) in (0..).zip(["10.0.0.1", "10.0.0.2", "10.0.0.1"]) {
        let (at, port) = (6_200 + i * 100, 5_001 + i as u16);
        let r = scene.status(at, 2, 502, None);
        r.local_port = Some(port);
        line(
            &mut scene,
            at + 2,
            port,
            &format!("502 [{ip}:80] [502] [-] [-]"),
        );
    }
    let a = analysed(&scene);
    let laid: Vec<_> = a
        .failures
        .iter()
        .map(|f| (f.pod.as_deref(), f.how.as_str()))
        .collect();
    let by_log = |pod| (Some(pod), "balancer_log");
    assert_eq!(laid, [by_log("old-a"), by_log("old-b"), by_log("old-a")]);
    assert!(a.bursts.iter().all(|b| b.cause == "early_close"));
    assert_eq!((a.balancers[0].requests, a.balancers[0].joined), (3, 3));
    assert_eq!(a.balancers[0].tries["refused"], 3);
}

/// The pod may have ended before: a 502 in its name is no sign of its life, as an answer of its own would be.
#[test]
fn a_status_that_the_balancer_made_does_not_prove_that_the_pod_lived() {
    let end_of_old_a = |tried: &str| {
        let mut scene = two_leave();
        scene.status(6_500, 2, 502, None).local_port = Some(5_001);
        line(&mut scene, 6_502, 5_001, tried);
        let a = analysed(&scene);
        let pod = a.pods.iter().find(|p| p.name == "old-a");
        let exit = pod.and_then(|p| p.exit.as_ref());
        exit.map(|e| e.at_ms.0.lo.as_millis_f64())
    };
    let refused = end_of_old_a("502 [10.0.0.1:80] [502] [-] [-]");
    assert!(refused.is_some_and(|at| at < 6_400.0), "{refused:?}");
    let answered = end_of_old_a("502 [10.0.0.1:80] [502] [0.000] [0.001]");
    assert!(
        answered.is_some_and(|at| (at - 6_500.0).abs() < 1.0),
        "{answered:?}"
    );
}

#[test]
fn tries_that_failed_under_a_200_have_the_cause_that_failures_would_have() {
    let mut scene = two_leave();
    for i in 0..3 {
        let (at, port) = (6_200 + i * 100, 5_001 + i as u16);
        scene.ok_new(at, 2, "new");
        if let Some(r) = scene.requests.last_mut() {
            r.local_port = Some(port);
        }
        let tried = "200 [10.0.0.1:80, 10.0.0.9:80] [502, 200] [-, 0.000] [-, 0.001]";
        line(&mut scene, at + 2, port, tried);
    }
    let a = analysed(&scene);
    assert_eq!((a.requests.failed, a.bursts.len()), (0, 0));
    let balancer = &a.balancers[0];
    assert_eq!(balancer.near_misses, 3);
    let near = &balancer.near[0];
    assert_eq!((near.count, near.cause.as_str()), (3, "early_close"));
    assert_eq!(
        (near.detail.as_deref(), near.pods.as_slice()),
        (Some("refused"), ["old-a".to_owned()].as_slice())
    );
}

#[test]
fn the_log_tells_a_balancer_without_endpoints_from_an_application_that_answers_503() {
    let mut scene = two_leave();
    scene.status(6_300, 2, 503, None).local_port = Some(5_001);
    line(
        &mut scene,
        6_302,
        5_001,
        "503 [10.0.0.1:80] [503] [0.000] [0.001]",
    );
    let a = analysed(&scene);
    assert_eq!(a.balancers[0].by_emitter["upstream"], 1);
    assert_ne!(a.bursts[0].cause, "no_endpoints");
    assert_eq!(a.failures[0].pod.as_deref(), Some("old-a"));
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_shown() {
    let mut scene = two_leave();
    line(&mut scene, 6_302, 5_001, "not a status");
    line(
        &mut scene,
        6_303,
        5_999,
        "200 [10.0.0.9:80] [200] [0.000] [0.001]",
    );
    let a = analysed(&scene);
    let balancer = &a.balancers[0];
    assert_eq!(
        (balancer.malformed, balancer.requests, balancer.joined),
        (1, 1, 0)
    );
    assert!(
        a.notes.iter().any(|n| n.contains("line 1")),
        "{:?}",
        a.notes
    );
}
