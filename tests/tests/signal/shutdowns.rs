//! Shutdowns good and bad: the verdict, and what the program itself says of it.

use rollscope_tests::{Finished, Ledgers, Workdir};
use serde_json::{Value, json};

use super::PROGRAM;
use super::program::{log, nothing_is_left, signal, workdir};

const SLOW: [&str; 2] = ["--slow-path", "/work?ms=700"];

/// A run of a subject, its own account, and the folder of both.
fn subject(name: &str, more: &[&str]) -> (Finished, Ledgers, Workdir) {
    let workdir = workdir();
    let ledger = format!(
        "SUBJECT_LEDGER={}",
        workdir.path().join("ledgers").display()
    );
    let subject = format!("SUBJECT={name}");
    let mut flags = vec![
        "--env",
        &subject,
        "--env",
        &ledger,
        "--env",
        "DRAIN_DELAY_MS=2000",
        "--env",
        "DRAIN_DEADLINE_MS=3000",
        "--pod-header",
        "x-pod-name",
    ];
    flags.extend(SLOW);
    if !more.contains(&"--grace") {
        flags.extend(["--grace", "8s"]);
    }
    flags.extend(more);
    let run = signal(&workdir, &flags, &[PROGRAM, "subject"]);
    nothing_is_left(&workdir);
    let ledgers = workdir.ledgers();
    (run, ledgers, workdir)
}

#[test]
fn a_graceful_server_passes_with_every_request_answered() {
    let (run, ledgers, _dir) = subject("graceful", &["--ready", "/healthz/ready"]);
    run.expect_exit(0);
    let report = run.report();
    let signal = &report["signal"];
    assert_eq!(signal["effect"], "handled", "{signal:#}");
    assert_eq!(
        (&signal["exit_code"], &signal["killed"]),
        (&json!(0), &json!(false))
    );
    assert!(
        signal["in_flight"]["at_signal"].as_u64() > Some(0),
        "{signal:#}"
    );
    assert_eq!(
        signal["in_flight"]["answered"],
        signal["in_flight"]["at_signal"]
    );
    assert_eq!(signal["processes"][0]["pid"], 1);
    assert_eq!(signal["processes"][0]["action"], "handler");
    assert!(
        signal["new_connections"]["answered"].as_u64() > Some(0),
        "{signal:#}"
    );
    // The subject's own account: what it answered is what the load counted (and each path once before it), and what was unrouted never came.
    let requests = &report["requests"];
    let tried = 2;
    assert_eq!(
        ledgers.answered(200),
        requests["ok"].as_u64().unwrap() + tried
    );
    assert_eq!(ledgers.total(|l| l.cut), 0);
    assert_eq!(requests["aborted"], signal["new_connections"]["unrouted"]);
    assert!(run.stdout.contains("SIGTERM reached"), "{}", run.stdout);
    let held = |id: &str| {
        let all = report["assertions"].as_array().unwrap();
        all.iter().find(|a| a["id"] == id).unwrap()["held"].clone()
    };
    assert_eq!(held("ended_by_itself"), true);
    assert_eq!(held("readiness_before_listener"), true);
}

#[test]
fn a_server_that_closes_at_once_refuses_while_it_is_still_routed_to() {
    let (run, _, _dir) = subject("early-close", &[]);
    run.expect_exit(1);
    assert_eq!(
        run.causes().keys().collect::<Vec<_>>(),
        ["early_close"],
        "{:#}",
        run.report()["bursts"]
    );
    let signal = &run.report()["signal"];
    assert_eq!(signal["effect"], "handled");
    assert!(
        signal["new_connections"]["failed"].as_u64() > Some(0),
        "{signal:#}"
    );
}

#[test]
fn with_a_pre_stop_sleep_longer_than_the_lag_the_same_server_passes() {
    let (run, _, _dir) = subject("early-close", &["--pre-stop", "2s"]);
    run.expect_exit(0);
    let signal = &run.report()["signal"];
    assert_eq!(signal["new_connections"]["failed"], 0);
    // The route was gone before the signal: nothing new was attempted after it.
    assert_eq!(signal["new_connections"]["attempted"], 0, "{signal:#}");
}

#[test]
fn a_server_that_exits_in_its_handler_cuts_what_its_ledger_says() {
    let (run, ledgers, _dir) = subject("exit-now", &[]);
    run.expect_exit(1);
    let signal = &run.report()["signal"];
    let cut = ledgers.total(|l| l.cut);
    assert!(cut > 0);
    // It may have received a request more after the signal; others came too late for it to know of them.
    let count = |value: &Value| value.as_u64().unwrap();
    let report = run.report();
    assert!(
        count(&signal["in_flight"]["failed"]) <= cut,
        "{cut}: {signal:#}"
    );
    assert!(cut <= count(&report["pods"][0]["cut"]), "{cut}: {signal:#}");
    let tried = 2;
    let received = ledgers.total(|l| l.received);
    assert_eq!(received, count(&report["requests"]["ok"]) + tried + cut);
    assert_eq!(signal["in_flight"]["answered"], 0);
}

#[test]
fn a_server_without_a_handler_has_to_be_killed_and_fails_the_gate_by_that_alone() {
    let (run, _, _dir) = subject("no-handler", &["--grace", "3s", "--max-failed", "1000"]);
    run.expect_exit(1);
    let report = run.report();
    let signal = &report["signal"];
    assert_eq!(
        (&signal["effect"], &signal["killed"]),
        (&json!("ignored"), &json!(true))
    );
    assert_eq!(signal["exit_code"], 137);
    assert_eq!(signal["processes"][0]["action"], "default");
    let took = signal["took_ms"].as_f64().unwrap();
    assert!((2_900.0..4_500.0).contains(&took), "{took} ms");
    let reasons = report["verdict"]["reasons"].to_string();
    assert!(reasons.contains("ended_by_itself"), "{reasons}");
    assert!(run.stdout.contains("has no handler"), "{}", run.stdout);
}

#[test]
fn a_killed_program_is_only_told_of_where_assertions_warn() {
    let (run, _, _dir) = subject(
        "no-handler",
        &[
            "--grace",
            "3s",
            "--max-failed",
            "1000",
            "--assertions",
            "warn",
        ],
    );
    run.expect_exit(0);
    assert_eq!(run.report()["signal"]["killed"], true);
}

#[test]
fn a_drain_that_does_not_fit_is_reached_but_not_stopped() {
    let more = [
        "--grace",
        "3s",
        "--slow-path",
        "/work?ms=6000",
        "--env",
        "DRAIN_DEADLINE_MS=20000",
        "--env",
        "SAFETY_MS=30000",
    ];
    let workdir = workdir();
    let flags = [
        &["--env", "SUBJECT=overrun", "--env", "DRAIN_DELAY_MS=1000"],
        &more[..],
    ]
    .concat();
    let run = signal(&workdir, &flags, &[PROGRAM, "subject"]);
    run.expect_exit(1);
    let report = run.report();
    assert_eq!(
        report["signal"]["effect"], "not_stopped",
        "{:#}",
        report["signal"]
    );
    assert!(
        run.causes().contains_key("sigkill_overrun"),
        "{:?}",
        run.causes()
    );
}

#[test]
fn a_graceful_node_server_passes_and_its_log_has_the_same_requests_in_flight() {
    let workdir = workdir();
    let flags = ["--path", "/?ms=1", "--slow-path", "/?ms=800"];
    let run = signal(&workdir, &flags, &["node", "server.js"]);
    run.expect_exit(0);
    let report = run.report();
    let signal = &report["signal"];
    assert_eq!(signal["processes"][0]["name"], "node");
    let log = log(&run.recording_dir());
    let told = log.split("shutting down with ").nth(1).unwrap();
    let told: i64 = told.split(' ').next().unwrap().parse().unwrap();
    let seen = signal["in_flight"]["at_signal"].as_i64().unwrap();
    // Requests that it had not read yet are in flight for the load alone, responses that had not arrived too.
    assert!(
        0 < told && told <= seen,
        "the server had {told}, the load saw {seen}"
    );
    assert!(log.contains("drained"));
}

#[test]
fn a_shell_in_front_of_the_server_keeps_the_signal_for_itself() {
    let workdir = workdir();
    let run = signal(
        &workdir,
        &["--grace", "3s"],
        &["sh", "-c", "node server.js; true"],
    );
    run.expect_exit(1);
    let report = run.report();
    let signal = &report["signal"];
    assert_eq!(signal["effect"], "ignored", "{signal:#}");
    let processes: Vec<(&str, &str)> = signal["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (p["name"].as_str().unwrap(), p["action"].as_str().unwrap()))
        .collect();
    assert_eq!(processes, [("sh", "default"), ("node", "handler")]);
    let summary = signal["summary"].as_str().unwrap();
    assert!(summary.contains("passed nothing on to node"), "{summary}");
    assert!(
        run.causes().keys().all(|c| c == "unforwarded_signal"),
        "{:?}",
        run.causes()
    );
    assert!(!log(&run.recording_dir()).contains("shutting down"));
}

#[test]
fn another_signal_is_sent_where_another_is_asked_for() {
    let workdir = workdir();
    let server =
        "trap 'echo got INT; kill $pid; exit 0' INT; node deaf.js & pid=$!; while :; do wait; done";
    let run = signal(
        &workdir,
        &["--signal", "int", "--max-failed", "1000"],
        &["sh", "-c", server],
    );
    let report = run.report();
    assert_eq!(report["signal"]["signal"], "SIGINT");
    assert_eq!(
        report["signal"]["effect"], "handled",
        "{:#}",
        report["signal"]
    );
    assert!(log(&run.recording_dir()).contains("got INT"));
}

#[test]
fn a_manifest_is_run_with_one_replica_and_its_own_grace() {
    let workdir = workdir();
    let run = signal(
        &workdir,
        &[
            "--manifest",
            "scenarios/manifests/graceful.yaml",
            "--pod-header",
            "x-pod-name",
        ],
        &[],
    );
    run.expect_exit(0);
    let report = run.report();
    assert_eq!(report["pods"].as_array().unwrap().len(), 1);
    assert_eq!(report["signal"]["grace_ms"], 10_000.0);
    assert!(workdir.ledgers().answered(200) > 0);
}

#[test]
fn the_reports_are_made_again_from_the_recording_byte_for_byte() {
    let workdir = workdir();
    let run = signal(&workdir, &[], &["node", "server.js"]);
    run.expect_exit(0);
    let recording = run.recording_dir();
    let again = workdir.rollscope(&["analyze", recording.to_str().unwrap(), "--out", "again"]);
    again.expect_exit(0);
    for file in ["report.json", "timeline.html"] {
        let read = |dir: &str| std::fs::read(workdir.path().join(dir).join(file)).unwrap();
        assert!(read("out") == read("again"), "{file}");
    }
    let schema = workdir.rollscope(&["report", "--schema"]);
    let schema: Value = serde_json::from_str(&schema.stdout).unwrap();
    assert_eq!(
        rollscope_tests::violations(&schema, &run.report()),
        Vec::<String>::new()
    );
}
