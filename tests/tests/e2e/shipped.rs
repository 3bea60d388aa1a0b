//! Every shipped scenario: exit code, cause, pods, and the counts against the subjects' own ledgers and the front
//! end's counters.

use std::collections::{BTreeMap, BTreeSet};

use rollscope_tests::{Finished, Ledgers, Workdir};
use serde_json::Value;

use super::PROGRAM;
use super::fidelity;

/// A shipped scenario and what is expected of it.
struct Shipped {
    name: &'static str,
    exit_code: i32,
    /// The only cause of its bursts.
    cause: Option<&'static str>,
    /// The real recording of the same behaviour, for the sandbox's fidelity.
    real: Option<&'static str>,
}

impl Shipped {
    fn check(&self) {
        let workdir = Workdir::new(PROGRAM);
        let run = workdir.run(&format!("scenarios/{}.yaml", self.name));
        run.expect_exit(self.exit_code);
        let report = run.report();
        self.check_causes(&run, &report);
        check_sums(&report);
        check_pods(&run, &report);
        check_witnesses(&run, &report, &workdir.ledgers());
        check_outputs(&run);
        if let Some(real) = self.real {
            fidelity::check(&run.recording(), real);
        }
    }

    fn check_causes(&self, run: &Finished, report: &Value) {
        let causes: BTreeSet<_> = run.causes().into_keys().collect();
        let expected: BTreeSet<_> = self.cause.into_iter().map(str::to_owned).collect();
        assert_eq!(causes, expected, "{}", run.stdout);
        assert_eq!(report["unattributed"], 0);
        assert_eq!(
            report["requests"]["failed"].as_u64().unwrap() > 0,
            self.cause.is_some()
        );
        if let Some(cause) = self.cause {
            assert!(
                run.stdout.contains(cause),
                "the summary does not name {cause}:\n{}",
                run.stdout
            );
        }
    }
}

fn count(report: &Value, name: &str) -> u64 {
    report["requests"][name]
        .as_u64()
        .unwrap_or_else(|| panic!("no count {name}"))
}

fn outcome(report: &Value, names: &[&str]) -> u64 {
    names
        .iter()
        .filter_map(|n| report["requests"]["by_outcome"][n].as_u64())
        .sum()
}

fn check_sums(report: &Value) {
    let of = |name| count(report, name);
    assert_eq!(of("planned"), of("sent") + of("dropped"));
    assert_eq!(of("sent"), of("ok") + of("failed") + of("aborted"));
    assert_eq!((of("dropped"), of("aborted")), (0, 0));
    let in_bursts: u64 = report["bursts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| b["failed"].as_u64().unwrap())
        .sum();
    assert_eq!(
        of("failed"),
        in_bursts + report["unattributed"].as_u64().unwrap()
    );
}

/// The pods that a burst names are pods that the rollout ended.
fn check_pods(run: &Finished, report: &Value) {
    let pods: BTreeMap<_, _> = report["pods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (p["name"].as_str().unwrap(), p["old"] == true))
        .collect();
    assert_eq!(pods.values().filter(|old| **old).count(), 3, "{pods:?}");
    assert_eq!(pods.values().filter(|old| !**old).count(), 3, "{pods:?}");
    for burst in report["bursts"].as_array().unwrap() {
        let named = burst["pods"].as_array().unwrap();
        assert!(!named.is_empty(), "a burst without a pod:\n{}", run.stdout);
        assert!(
            named.iter().all(|p| pods[p.as_str().unwrap()]),
            "{named:?} are not all old pods"
        );
    }
}

fn check_witnesses(run: &Finished, report: &Value, ledgers: &Ledgers) {
    let front_end = run.json("front-end.json");
    let through_proxy = front_end["requests"].as_u64().unwrap() > 0;
    assert_eq!(
        ledgers.0.len(),
        6,
        "three old and three new pods keep a ledger"
    );
    // What a kill caught between the kernel and the ledger was answered in the client's eyes alone.
    let (answered, undecided) = (ledgers.answered(200), ledgers.total(|l| l.undecided));
    let unwritten = count(report, "ok").checked_sub(answered);
    let unwritten = unwritten.expect("no answer without who answered");
    assert!(
        unwritten <= undecided,
        "{unwritten} answers more than the {answered} of who answered, {undecided} undecided"
    );
    if through_proxy {
        assert_eq!(
            count(report, "sent"),
            front_end["requests"].as_u64().unwrap()
        );
        return;
    }
    // l4: every connection that the front end gave to a pod carried a request, was refused, or died before one was read.
    let chosen: u64 = front_end["by_pod"]
        .as_object()
        .unwrap()
        .values()
        .map(|p| p["connections"].as_u64().unwrap())
        .sum();
    let accepted = ledgers.total(|l| l.accepted);
    let to_pods =
        outcome(report, &["connect_refused"]) - front_end["no_endpoint"].as_u64().unwrap();
    let refused = outcome(report, &["connect_refused"]);
    let in_backlog = chosen.checked_sub(accepted + to_pods);
    let in_backlog = in_backlog.expect("no more connections end than were begun");
    // Requests: what reached no pod was refused or died unread; what reached one was answered or cut.
    let (received, cut) = (ledgers.total(|l| l.received), ledgers.total(|l| l.cut));
    assert_eq!(received, answered + cut, "received, says who received");
    let cut = cut - unwritten;
    let unread = count(report, "sent") - refused - received;
    assert_eq!(count(report, "failed"), refused + cut + unread);
    let resets = outcome(
        report,
        &["reset_before_headers", "eof_before_headers", "write_failed"],
    );
    assert_eq!(
        resets,
        cut + unread,
        "cut in flight, {in_backlog} never read"
    );
}

fn check_outputs(run: &Finished) {
    let html = std::fs::read_to_string(run.out.join("timeline.html")).unwrap();
    assert!(html.contains("Content-Security-Policy"));
    assert!(run.stdout.contains("timeline.html"), "{}", run.stdout);
    let lines = run.stdout.lines().count();
    assert!(lines <= 24, "the summary has {lines} lines");
    assert_eq!(run.recording().losses, []);
}

#[test]
fn graceful_behind_an_ingress_fails_nothing() {
    Shipped {
        name: "graceful",
        exit_code: 0,
        cause: None,
        real: Some("a-graceful"),
    }
    .check();
}

#[test]
fn graceful_behind_a_service_address_fails_nothing() {
    Shipped {
        name: "graceful-l4",
        exit_code: 0,
        cause: None,
        real: Some("a-graceful"),
    }
    .check();
}

#[test]
fn a_graceful_shutdown_fails_no_step_of_a_journey() {
    Shipped {
        name: "journeys",
        exit_code: 0,
        cause: None,
        real: None,
    }
    .check();
}

#[test]
fn early_close_is_named() {
    let real = Some("l-close-no-delay");
    Shipped {
        name: "early-close",
        exit_code: 1,
        cause: Some("early_close"),
        real,
    }
    .check();
}

#[test]
fn unforwarded_signal_is_named() {
    let (cause, real) = (Some("unforwarded_signal"), Some("c-unforwarded"));
    Shipped {
        name: "unforwarded-signal",
        exit_code: 1,
        cause,
        real,
    }
    .check();
}

#[test]
fn unforwarded_signal_of_a_shell_is_named() {
    let (cause, real) = (Some("unforwarded_signal"), Some("c-unforwarded"));
    Shipped {
        name: "shell-wrapped",
        exit_code: 1,
        cause,
        real,
    }
    .check();
}

#[test]
fn sigkill_overrun_is_named() {
    let (cause, real) = (Some("sigkill_overrun"), Some("e-overrun"));
    Shipped {
        name: "sigkill-overrun",
        exit_code: 1,
        cause,
        real,
    }
    .check();
}

#[test]
fn sigkill_overrun_of_held_keep_alive_connections_is_named() {
    let (cause, real) = (Some("sigkill_overrun"), Some("m-no-close-header"));
    Shipped {
        name: "keepalive-hang",
        exit_code: 1,
        cause,
        real,
    }
    .check();
}

/// Behind an ingress the same fault looks otherwise: 502s that the ingress made, without a pod in them.
#[test]
fn early_close_behind_an_ingress_is_named_and_the_ingress_counted_the_same() {
    let workdir = Workdir::new(PROGRAM);
    workdir.variant(
        "early-close",
        "behind",
        &[("front_end: l4", "front_end: http")],
    );
    let run = workdir.run("scenarios/behind.yaml");
    run.expect_exit(1);
    let report = run.report();
    let causes: Vec<_> = run.causes().into_keys().collect();
    assert_eq!(causes, ["early_close"], "{}", run.stdout);
    check_sums(&report);
    let front_end = run.json("front-end.json");
    let answered = |status: &str| front_end["by_status"][status].as_u64().unwrap_or(0);
    assert_eq!(
        count(&report, "sent"),
        front_end["requests"].as_u64().unwrap()
    );
    assert_eq!(count(&report, "ok"), answered("200"));
    assert_eq!(count(&report, "failed"), answered("502"));
    assert_eq!(count(&report, "non_2xx"), answered("502"));
    assert_eq!(count(&report, "ok"), workdir.ledgers().answered(200));
}
