//! Each subject through `rollscope signal`: one pod of its manifest.

use rollscope_tests::{Finished, Redis, Workdir};

use super::at_once::for_each;
use super::table::{Expected, expected};
use super::{PROGRAM, counts, verdict};

/// What every subject is asked for beside `/`, unless its row names paths.
const SLOW: &str = "--slow-path=/work?ms=300";

/// Jobs that wait for a worker before it starts, more than it works on at once, and what each takes.
const JOBS: usize = 6;
const JOB_MS: &str = "12000";

fn check(expected: &Expected) {
    let workdir = Workdir::new(PROGRAM);
    let redis = Redis::of_subject(&workdir, &expected.subject);
    if let Some(redis) = &redis {
        enqueue(redis);
    }
    let (run, paths) = signal(&workdir, expected);
    let report = verdict::check(&expected.signal, &run);
    assert_eq!(report["pods"].as_array().unwrap().len(), 1);
    // Each path is asked for once before the load begins.
    counts::check(&run, &report, &workdir.ledgers(), paths);
    if let Some(redis) = redis {
        check_jobs(&expected.subject, &redis);
    }
}

/// The run, and how many paths it loads.
fn signal(workdir: &Workdir, expected: &Expected) -> (Finished, u64) {
    let manifest = format!("scenarios/node/manifests/{}.yaml", expected.subject);
    let mut args = vec!["signal", "--out=out", "--manifest", &manifest];
    args.extend(["--pod-header=x-pod-name", "--endpoint-lag=500ms"]);
    args.extend(expected.flags.iter().map(String::as_str));
    let names = |flag: &str| expected.flags.iter().any(|f| f.starts_with(flag));
    if !names("--slow-path=") && !names("--path=") {
        args.push(SLOW);
    }
    let slow = args.iter().any(|a| a.starts_with("--slow-path="));
    (workdir.rollscope(&args), 1 + u64::from(slow))
}

fn enqueue(redis: &Redis) {
    for n in 0..JOBS {
        let key = format!("job-{n}");
        redis.cli(&["HSET", "jobs:length", &key, JOB_MS]);
        redis.cli(&["RPUSH", "jobs:queue", &key]);
    }
}

/// What became of the jobs that the worker had begun, by the queue's own account.
fn check_jobs(subject: &str, redis: &Redis) {
    let events = redis.events();
    let number = |event: &str| events.iter().filter(|e| e["event"] == event).count();
    let (reserved, returned, done) = (number("reserved"), number("returned"), number("done"));
    assert!(reserved > 0, "{events:?}");
    match subject {
        "worker-graceful" => assert_eq!(returned, reserved, "{events:?}"),
        "worker-lossy" => assert_eq!((returned, done), (0, 0), "{events:?}"),
        _ => {}
    }
}

#[test]
fn every_node_subject_gets_the_verdict_of_the_table_from_a_signal() {
    for_each(&expected(), check);
}
