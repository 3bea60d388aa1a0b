//! The job workers on a real Redis, ended at random moments 50 times in a row.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rollscope_tests::{Redis, wait_until};
use serde_json::Value;

use super::table::repository;

const KILLS: usize = 50;
const LEASE_MS: u64 = 150;
const PATIENCE: Duration = Duration::from_secs(30);

/// A worker's process.
struct Worker {
    process: Child,
    name: String,
}

impl Worker {
    /// Works on so many jobs at once.
    fn start(subject: &str, round: usize, at_once: u32, redis: &Redis) -> Self {
        let name = format!("round-{round}");
        let process = Command::new("node")
            .arg(format!("{subject}.js"))
            .current_dir(repository().join("scenarios/subjects/node"))
            .env("PORT", "0")
            .env("POD_NAME", &name)
            .env("REDIS_URL", redis.url())
            .env("LEASE_MS", LEASE_MS.to_string())
            .env("WORKERS", at_once.to_string())
            .env("DRAIN_DELAY_MS", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("node");
        Self { process, name }
    }

    /// Its own events so far: job and event.
    fn events(&self, redis: &Redis) -> Vec<(String, String)> {
        let prefix = format!("{}/", self.name);
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let own = redis.events().into_iter();
        own.filter(|e| text(&e["pod"]).starts_with(&prefix))
            .map(|e| (text(&e["job"]), text(&e["event"])))
            .collect()
    }

    /// Whether it has reserved a job.
    fn has_begun(&self, redis: &Redis) -> bool {
        let events = self.events(redis);
        events.iter().any(|(_, event)| event == "reserved")
    }

    /// Whether it is at work on a job: it has reserved one, and not reported it as done since.
    fn is_at_work(&self, redis: &Redis) -> bool {
        let events = self.events(redis);
        let last = events.iter().rfind(|(_, event)| event == "reserved");
        last.is_some_and(|(key, _)| !is_reported(key, redis))
    }

    fn end(&mut self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.process.id()).unwrap());
        kill(pid, signal).unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn is_reported(key: &str, redis: &Redis) -> bool {
    redis.cli(&["HGET", "jobs:state", key]) == "done\n"
}

fn enqueue(redis: &Redis, from: usize, to: usize, ms: u64) {
    for n in from..to {
        redis.cli(&["HSET", "jobs:length", &format!("job-{n}"), &ms.to_string()]);
        redis.cli(&["RPUSH", "jobs:queue", &format!("job-{n}")]);
    }
}

/// Lets an unharmed worker take what is left, until nothing is queued or leased.
fn run_dry(subject: &str, redis: &Redis) {
    let mut worker = Worker::start(subject, 10 * KILLS, 8, redis);
    wait_until("an empty queue", PATIENCE, || {
        redis.cli(&["EXISTS", "jobs:queue", "jobs:leases"]) == "0\n" && !worker.is_at_work(redis)
    });
    worker.end(Signal::SIGTERM);
}

fn done(redis: &Redis) -> Vec<String> {
    let events = redis.events().into_iter();
    let done = events.filter(|e| e["event"] == "done");
    done.map(|e| e["job"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn worker_graceful_loses_nothing_and_repeats_no_effect_however_often_it_is_killed() {
    const JOBS: usize = 150;
    const MS: u64 = 120;
    let redis = Redis::start();
    let mut moments = StdRng::seed_from_u64(7);
    enqueue(&redis, 0, JOBS, MS);
    let mut in_a_job = 0;
    for round in 0..KILLS {
        let mut worker = Worker::start("worker-graceful", round, 1, &redis);
        // One in four may die before it has begun.
        if moments.random_ratio(3, 4) {
            wait_until("a running job", PATIENCE, || worker.has_begun(&redis));
        }
        sleep(Duration::from_millis(moments.random_range(0..2 * MS)));
        let signal = match moments.random_ratio(1, 4) {
            true => Signal::SIGTERM,
            false => Signal::SIGKILL,
        };
        worker.end(signal);
        in_a_job += usize::from(worker.is_at_work(&redis));
    }
    run_dry("worker-graceful", &redis);
    assert!(in_a_job > 10, "{in_a_job} kills met a running job");
    let (times, keys) = (done(&redis), BTreeSet::from_iter(done(&redis)));
    assert_eq!((times.len(), keys.len()), (JOBS, JOBS));
    let effects = redis.numbers("db:effects");
    assert_eq!(effects.len(), JOBS);
    assert!(effects.iter().all(|(_, n)| *n == 1), "{effects:?}");
    let states = redis.cli(&["HVALS", "jobs:state"]);
    assert_eq!(states.lines().filter(|s| *s == "done").count(), JOBS);
}

/// Ends a worker in the middle of a job [`KILLS`] times, each time at another moment of it. A moment that turns out to
/// have been between two jobs harms none, and another one is drawn.
fn end_in_a_job(subject: &str, signal: Signal, seed: u64, redis: &Redis) {
    const MS: u64 = 300;
    let mut moments = StdRng::seed_from_u64(seed);
    enqueue(redis, 0, 10, MS);
    let (mut round, mut met) = (0, 0);
    while met < KILLS {
        assert!(round < 3 * KILLS, "{met} of {round} met a running job");
        let mut worker = Worker::start(subject, round, 1, redis);
        wait_until("a running job", PATIENCE, || worker.has_begun(redis));
        sleep(Duration::from_millis(moments.random_range(0..MS / 2)));
        worker.end(signal);
        met += usize::from(was_met(&worker, signal, redis));
        enqueue(redis, 10 + 2 * round, 12 + 2 * round, MS);
        round += 1;
    }
}

/// Whether the end came in the middle of a job: after SIGKILL its work never got out, after a stop it did and was not
/// reported.
fn was_met(worker: &Worker, signal: Signal, redis: &Redis) -> bool {
    let events = worker.events(redis);
    let reserved = events.iter().rposition(|(_, event)| event == "reserved");
    let reserved = reserved.expect("a reserved job");
    let key = &events[reserved].0;
    let after = &events[reserved..];
    let done = after.contains(&(key.clone(), "done".to_owned()));
    match signal {
        Signal::SIGKILL => !done,
        _ => done && !is_reported(key, redis),
    }
}

#[test]
fn worker_lossy_loses_the_running_job_each_time_it_is_killed() {
    let redis = Redis::start();
    end_in_a_job("worker-lossy", Signal::SIGKILL, 8, &redis);
    run_dry("worker-lossy", &redis);
    let done: BTreeSet<String> = done(&redis).into_iter().collect();
    let accepted = redis.numbers("jobs:length").len();
    assert_eq!(accepted - done.len(), KILLS);
}

/// The effects beyond one for each job.
fn repeated(subject: &str, seed: u64) -> u64 {
    let redis = Redis::start();
    end_in_a_job(subject, Signal::SIGTERM, seed, &redis);
    run_dry(subject, &redis);
    let effects = redis.numbers("db:effects");
    assert_eq!(effects.len(), redis.numbers("jobs:length").len());
    effects.iter().map(|(_, times)| times - 1).sum()
}

#[test]
fn worker_redis_first_repeats_the_running_job_each_time_it_is_stopped() {
    assert_eq!(repeated("worker-redis-first", 9), KILLS as u64);
}

#[test]
fn worker_db_first_repeats_the_running_job_each_time_it_is_stopped() {
    assert_eq!(repeated("worker-db-first", 10), KILLS as u64);
}
