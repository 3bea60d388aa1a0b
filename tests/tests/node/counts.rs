//! Requests that were cut: by the client's count, by the report's, and by the subject's own.

use rollscope_tests::{Finished, Ledgers};
use serde_json::Value;

fn outcomes(report: &Value, names: &[&str]) -> u64 {
    let counts = &report["requests"]["by_outcome"];
    names.iter().filter_map(|n| counts[n].as_u64()).sum()
}

fn count(report: &Value, name: &str) -> u64 {
    report["requests"][name].as_u64().unwrap()
}

/// What the client saw cut is what the report says of the pods, and what the subjects received and did not answer
/// together with what reached their sockets and was never read. `tried`: requests before the load, in no recording.
pub(crate) fn check(run: &Finished, report: &Value, ledgers: &Ledgers, tried: u64) {
    let cut_by_client = outcomes(
        report,
        &[
            "eof_before_headers",
            "reset_before_headers",
            "write_failed",
            "truncated_body",
            "reset_in_body",
        ],
    );
    let pods = report["pods"].as_array().unwrap();
    let of_pods: u64 = pods.iter().map(|p| p["cut"].as_u64().unwrap()).sum();
    // Of a container that ends and starts again, not every reset can be laid at its door.
    let restarted = pods
        .iter()
        .any(|p| !p["earlier_exits"].as_array().unwrap().is_empty());
    assert!(
        of_pods == cut_by_client || (restarted && of_pods < cut_by_client),
        "{cut_by_client} by the client, {of_pods} by the pods:\n{}",
        run.stdout
    );

    let never_there = outcomes(report, &["connect_refused", "unrouted"]);
    let (received, cut) = (ledgers.total(|l| l.received), ledgers.total(|l| l.cut));
    let unread = count(report, "sent") + tried - never_there - received;
    // The client gave up these, or waited for them no longer.
    let gave_up = outcomes(report, &["gave_up", "deadline_exceeded"]);
    let undecided = ledgers.total(|l| l.undecided);
    let expected = (cut + unread).saturating_sub(gave_up);
    assert!(
        (expected.saturating_sub(undecided)..=expected).contains(&cut_by_client),
        "the client saw {cut_by_client} cut; the subjects received {cut} that they did not answer ({undecided} of them \
         on the way out), {unread} were never read, {gave_up} given up by their client"
    );
    if gave_up == 0 {
        check_log(run, cut);
    }
}

/// The count in the last line of each log. One that was killed has none: of it only the ledger knows.
fn check_log(run: &Finished, cut_by_ledgers: u64) {
    let recording = run.recording();
    let lines = recording.logs.iter();
    let told: Vec<Value> = lines
        .filter_map(|l| serde_json::from_str(&l.line).ok())
        .collect();
    let of = |event: &'static str| told.iter().filter(move |l| l["ev"] == event);
    let report = run.report();
    let pods = report["pods"].as_array().unwrap();
    let alive = pods.iter().filter(|p| p["exit"].is_null()).count();
    if of("start").count() - of("exit").count() > alive {
        return;
    }
    let cut: u64 = of("exit").map(|l| l["cut"].as_u64().unwrap()).sum();
    assert_eq!(cut, cut_by_ledgers, "by the subjects' own last lines");
}
