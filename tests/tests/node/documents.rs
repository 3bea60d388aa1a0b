//! Jobs whose events are in a JSON document of the service's own, against the queue.

use std::fs;

use rollscope_tests::{Redis, Workdir};

use super::{PROGRAM, jobs};

#[test]
fn jobs_events_of_a_service_of_its_own_are_read_and_jobs_come_at_a_rate_of_their_own() {
    const SUBJECT: &str = "worker-graceful";
    const LIST: &str = "list: \"jobs:events\" }";
    const MIX: &str = "  rate: 10/s\n";
    let workdir = Workdir::new(PROGRAM);
    let redis = Redis::of_subject(&workdir, SUBJECT).unwrap();
    let file = format!("scenarios/node/{SUBJECT}.yaml");
    let text = fs::read_to_string(workdir.path().join(&file)).unwrap();
    let source = format!("  redis: {{ url: \"{}\", {LIST}", redis.url());
    let document = "  rate: 1/s\n  http: { url: /jobs/events }";
    assert!(text.contains(&source) && text.contains(MIX), "{text}");
    let text = text
        .replace(&source, document)
        .replace(MIX, "  rate: 9/s\n");
    workdir.write(&file, &text);
    let run = workdir.run(&file);
    run.expect_exit(0);
    let report = run.report();
    assert_eq!(report["jobs"]["source"], "http");
    jobs::check(&report, &redis);
    let recording = run.recording();
    let due: Vec<_> = recording
        .requests
        .iter()
        .filter(|r| r.name == "enqueue")
        .map(|r| r.scheduled)
        .collect();
    assert!(
        due.windows(2)
            .all(|pair| pair[1].nanos_since(pair[0]) == 1_000_000_000)
    );
}
