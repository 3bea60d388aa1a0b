//! What users meet, and what is recorded of it.

use std::collections::BTreeMap;

use rollscope_records::{Lane, Outcome, Phase, Recording, RequestRecord};
use rollscope_tests::{Finished, Workdir};
use serde_json::Value;

use super::server::Server;
use super::{PROGRAM, scenario};

/// A run and the folder in which it has left its reports.
fn run(server: &Server, max_failed: u64, journeys: &str) -> (Finished, Workdir) {
    run_at(&server.address, max_failed, journeys)
}

fn run_at(address: &str, max_failed: u64, journeys: &str) -> (Finished, Workdir) {
    let workdir = Workdir::new(PROGRAM);
    workdir.write(
        "scenario.yaml",
        &scenario(address, max_failed, "'true'", journeys),
    );
    (workdir.run("scenario.yaml"), workdir)
}

/// The requests of users.
pub(crate) fn steps(recording: &Recording) -> Vec<RequestRecord> {
    let all = recording.requests.iter();
    let steps = all.filter(|r| r.lane == Lane::Journey);
    steps.map(|r| r.to_record()).collect()
}

fn of_name<'r>(
    steps: &'r [RequestRecord],
    name: &'r str,
) -> impl Iterator<Item = &'r RequestRecord> {
    steps.iter().filter(move |r| r.name == name)
}

/// Every failure that a step can meet on the wire, and what must be recorded of it.
const FAILURES: &[(&str, Outcome, Phase)] = &[
    ("eof", Outcome::EofBeforeHeaders, Phase::Head),
    ("rst", Outcome::ResetBeforeHeaders, Phase::Head),
    ("garbage", Outcome::Protocol, Phase::Head),
    ("cut", Outcome::TruncatedBody, Phase::Body),
    ("busy", Outcome::Status, Phase::Done),
    ("stall", Outcome::DeadlineExceeded, Phase::Head),
    ("impatient", Outcome::GaveUp, Phase::Head),
    ("wrong", Outcome::BodyMismatch, Phase::Done),
    ("redirect", Outcome::Ok, Phase::Done),
];

const UNLUCKY: &str = r#"
  users: 1
  journeys:
    - name: unlucky
      think: 1ms..3ms
      steps:
        - { name: eof, get: /eof }
        - { name: rst, get: /rst }
        - { name: garbage, get: /garbage }
        - { name: cut, get: /cut }
        - { name: busy, get: /busy }
        - { name: stall, get: /stall, deadline: 100ms }
        - { name: impatient, get: /silent, abort_after: 50ms }
        - { name: wrong, get: /wrong, expect_body: { contains: something else } }
        - { name: redirect, get: /redirect, expect: [302] }
"#;

#[test]
fn every_way_to_fail_is_recorded_and_nothing_is_sent_twice_or_followed() {
    let server = Server::start();
    let (run, _folder) = run(&server, 1_000_000, UNLUCKY);
    run.expect_exit(0);
    let steps = steps(&run.recording());
    for (name, outcome, phase) in FAILURES {
        let full = format!("unlucky/{name}");
        let mut sent = 0;
        for r in of_name(&steps, &full) {
            assert_eq!((r.outcome, r.phase), (*outcome, *phase), "{r:?}");
            sent += 1;
        }
        let path = match *name {
            "impatient" => "/silent".to_owned(),
            name => format!("/{name}"),
        };
        assert!(sent > 0, "{full} was never sent");
        assert_eq!(server.asked(&path), sent, "{full}: sent and seen");
    }
    for r in of_name(&steps, "unlucky/rst") {
        assert_eq!(r.errno, Some(104), "{r:?}");
    }
    assert!(of_name(&steps, "unlucky/eof").all(|r| r.errno.is_none()));
    assert_eq!(server.asked("/elsewhere"), 0, "a redirect was followed");
    assert_eq!(server.with(|seen| seen.kept), 0, "a connection was kept");
    agreed(&run.report()["journeys"]);
    identities(&run);
}

/// What goose's client cannot see is absent; the rest is there.
#[test]
fn steps_are_closed_loop_and_have_what_their_client_can_see() {
    let server = Server::start();
    let (run, _folder) = run(&server, 1_000_000, UNLUCKY);
    run.expect_exit(0);
    for r in steps(&run.recording()) {
        assert!(r.seq >= RequestRecord::FIRST_JOURNEY, "{r:?}");
        assert_eq!(Some(r.scheduled), r.dispatched, "{r:?}");
        assert_eq!((r.written, r.connection, r.ordinal), (None, None, None));
        assert_eq!((r.connection_age, r.idle, r.reused), (None, None, false));
        assert!(!r.maskable, "{r:?}");
        assert_eq!(r.peer.as_deref(), Some(server.address.as_str()), "{r:?}");
        let times = [r.dispatched, r.connected, r.first_byte, r.ended];
        let known: Vec<_> = times.into_iter().flatten().collect();
        assert!(known.is_sorted(), "{r:?}");
        assert!(r.connected.is_some() && r.ended.is_some(), "{r:?}");
        // A client that gives up takes its connection with it.
        let timed_out = matches!(r.outcome, Outcome::DeadlineExceeded | Outcome::GaveUp);
        assert_eq!(r.local_port.is_none(), timed_out, "{r:?}");
        assert_eq!(r.first_byte.is_some(), r.status.is_some(), "{r:?}");
        if r.name == "unlucky/wrong" {
            assert_eq!((r.pod.as_deref(), r.bytes_received), (Some("web-1"), 2));
        }
    }
}

#[test]
fn every_user_keeps_cookies_of_its_own_and_journeys_share_the_users() {
    let server = Server::start();
    let journeys = r"
  users: 5
  journeys:
    - name: buyer
      weight: 4
      think: 5ms..20ms
      steps:
        - { name: login, get: /login }
        - { name: who, get: /who }
        - { request: home }
        - { request: home, name: again }
    - { name: reader, think: 5ms, steps: [{ name: page, get: /page }] }
";
    let (run, _folder) = run(&server, 0, journeys);
    run.expect_exit(0);
    let walked = steps(&run.recording());
    let count = |name: &str| of_name(&walked, name).count() as u64;
    assert!(count("buyer/who") > 20, "{}", count("buyer/who"));
    assert_eq!(count("buyer/who"), server.asked("/who"));
    assert_eq!(count("buyer/login"), server.asked("/login"));
    assert_eq!(count("reader/page"), server.asked("/page"));
    server.with(|seen| {
        assert_eq!(seen.strangers, 0, "a user lost its cookie");
        assert_eq!(seen.users.len(), 4, "{:?}", seen.users);
    });
    assert!(count("buyer/home") >= count("buyer/again"));
    let slots = run.recording();
    let slots = slots.requests.iter().filter(|r| r.lane.has_slot()).count() as u64;
    let sent = slots + count("buyer/home") + count("buyer/again");
    assert_eq!(sent, server.asked("/home"));
    agreed(&run.report()["journeys"]);
    identities(&run);
    let summary = std::fs::read_to_string(run.out.join("timeline.html")).unwrap();
    assert!(summary.contains("goose counted the same") && summary.contains("buyer/who"));
    assert!(
        run.stdout.contains("goose counted the same"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_step_that_fails_is_a_failed_request_for_the_gate() {
    let server = Server::start();
    let journeys = r"
  users: 1
  journeys:
    - { name: unlucky, think: 10ms, steps: [{ name: busy, get: /busy }] }
";
    let (run, _folder) = run(&server, 0, journeys);
    run.expect_exit(1);
    let report = run.report();
    let failed = report["requests"]["failed"].as_u64().unwrap();
    assert_eq!(failed, server.asked("/busy"));
    assert_eq!(report["journeys"]["steps"][0]["goose"]["failed"], failed);
}

/// Where the endpoint is chosen for each connection, the parent chooses it for journeys too.
#[test]
fn steps_that_a_rollout_fails_have_its_cause() {
    let workdir = Workdir::new(PROGRAM);
    let changes = [
        ("front_end: http", "front_end: l4"),
        ("manifests/graceful.yaml", "manifests/early-close.yaml"),
    ];
    workdir.variant("journeys", "cut", &changes);
    let run = workdir.run("scenarios/cut.yaml");
    run.expect_exit(1);
    let report = run.report();
    let causes: Vec<_> = run.causes().into_keys().collect();
    assert_eq!(causes, ["early_close"], "{}", run.stdout);
    assert_eq!(report["unattributed"], 0, "{}", run.stdout);
    let recording = run.recording();
    let steps = steps(&recording);
    let failed = steps.iter().filter(|r| r.outcome.is_failure());
    let refused = failed.filter(|r| r.outcome == Outcome::ConnectRefused);
    assert!(refused.count() > 0, "{}", run.stdout);
    let answered = steps.iter().filter(|r| r.outcome == Outcome::Ok);
    assert!(answered.clone().count() > 0);
    assert!(answered.clone().all(|r| r.pod.is_some()), "by its header");
    agreed(&report["journeys"]);
    identities(&run);
}

#[test]
fn a_refused_connection_is_told_with_its_address() {
    // Nobody listens there any more.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let journeys = r"
  users: 1
  journeys:
    - { name: lost, think: 20ms, steps: [{ name: home, get: /home }] }
";
    let (run, _folder) = run_at(&address, 1_000_000, journeys);
    let steps = steps(&run.recording());
    assert!(!steps.is_empty());
    for r in steps {
        assert_eq!(
            (r.outcome, r.phase),
            (Outcome::ConnectRefused, Phase::Connect)
        );
        assert_eq!((r.errno, r.connected), (Some(111), None));
        assert_eq!(r.peer.as_deref(), Some(address.as_str()));
    }
    agreed(&run.report()["journeys"]);
}

/// goose's aggregate is ours: in every count, and in the times as far as whole milliseconds tell them.
fn agreed(journeys: &Value) {
    assert_eq!(journeys["agree"], true, "{journeys:#}");
    assert_eq!(journeys["failure"], Value::Null);
    for step in journeys["steps"].as_array().unwrap() {
        let (goose, ours) = (&step["goose"], &step["ours"]);
        for key in ["count", "failed", "by_status"] {
            assert_eq!(goose[key], ours[key], "{step:#}");
        }
        let mean = |of: &Value| of["mean_ms"].as_f64().unwrap();
        assert!((mean(goose) - mean(ours)).abs() < 20.0, "{step:#}");
    }
}

/// The counts of the run add up, and the slots alone are what was planned.
fn identities(run: &Finished) {
    let report = run.report();
    let of = |name: &str| report["requests"][name].as_u64().unwrap();
    assert_eq!(of("planned"), of("sent") + of("dropped"));
    assert_eq!(of("sent"), of("ok") + of("failed") + of("aborted"));
    let recording = run.recording();
    let mut by_lane: BTreeMap<Lane, u64> = BTreeMap::new();
    for r in recording.requests.iter() {
        *by_lane.entry(r.lane).or_default() += 1;
    }
    let steps = by_lane.remove(&Lane::Journey).unwrap_or(0);
    let slots: u64 = by_lane.values().sum();
    let generator = recording.generator.as_ref().unwrap();
    assert_eq!(generator.planned, slots);
    assert_eq!(of("planned"), slots + steps);
}
