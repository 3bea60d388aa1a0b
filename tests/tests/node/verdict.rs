//! A run against what the table expects of it.

use std::collections::BTreeSet;

use rollscope_tests::Finished;
use serde_json::Value;

use super::table::Verdict;

/// Exit code, causes and findings are those of the table. The report.
pub(crate) fn check(expected: &Verdict, run: &Finished) -> Value {
    run.expect_exit(expected.exit_code);
    let report = run.report();
    check_causes(expected, run, &report);
    check_findings(expected, run, &report);
    report
}

fn check_causes(expected: &Verdict, run: &Finished, report: &Value) {
    let causes: BTreeSet<_> = run.causes().into_keys().collect();
    let mut allowed = expected.beside.clone();
    allowed.extend(expected.cause.clone());
    let named = expected.cause.as_ref().is_none_or(|c| causes.contains(c));
    assert!(
        named && causes.is_subset(&allowed),
        "{causes:?}, expected {:?} and at most {:?} beside it:\n{}",
        expected.cause,
        expected.beside,
        run.stdout
    );
    assert_eq!(report["unattributed"], 0);
    let failed = report["requests"]["failed"].as_u64().unwrap() > 0;
    assert_eq!(failed, !causes.is_empty(), "{}", run.stdout);
}

fn check_findings(expected: &Verdict, run: &Finished, report: &Value) {
    let found = report["findings"].as_array().unwrap().iter();
    let found: BTreeSet<_> = found
        .map(|f| f["cause"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        expected.findings.is_subset(&found),
        "{found:?}, expected {:?}:\n{}",
        expected.findings,
        run.stdout
    );
}
