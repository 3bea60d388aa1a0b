//! The report's counts of jobs against Redis itself.

use std::collections::BTreeMap;

use rollscope_tests::Redis;
use serde_json::Value;

/// Accepted, done and repeated jobs, and those that were given back or taken, are the same in the report and in the
/// queue. The queue may have gone on for a moment after the run.
pub(crate) fn check(report: &Value, redis: &Redis) {
    let jobs = &report["jobs"];
    let of = |name: &str| jobs[name].as_u64().unwrap();
    let events = redis.events();
    let number = |event: &str| events.iter().filter(|e| e["event"] == event).count() as u64;
    let mut done: BTreeMap<&str, u64> = BTreeMap::new();
    for event in events.iter().filter(|e| e["event"] == "done") {
        *done.entry(event["job"].as_str().unwrap()).or_default() += 1;
    }
    assert_eq!(jobs["missing"], Value::Null);
    // A submission whose answer was lost may have been accepted all the same.
    assert!(of("accepted") > 0 && of("accepted") <= number("accepted"));
    assert_eq!(of("accepted"), of("done") + of("lost") + of("open"));
    assert!(of("done") <= done.len() as u64);
    let repeated = done.values().filter(|n| **n > 1).count() as u64;
    assert!(of("done_twice") <= repeated);
    assert!(of("returned") <= number("returned"));
    assert!(of("lease_expired") <= number("lease_expired"));
    let kept = report["assertions"].as_array().unwrap().iter();
    let kept = kept.clone().find(|a| a["id"] == "jobs_kept").unwrap();
    assert_eq!(kept["held"], of("lost") + of("done_twice") == 0);
}
