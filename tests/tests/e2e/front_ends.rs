//! Real balancers in front of the pods; their own logs are the witness of what the report says.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use rollscope_records::BalancerRecord;
use rollscope_reports::REPORT_SCHEMA;
use rollscope_tests::{Finished, Workdir, violations};
use serde_json::Value;

use super::PROGRAM;

/// What a line of an access log says, read without the parsers.
struct Said {
    status: String,
    /// Tries that named their upstream.
    tries: u64,
    /// Tries before the last.
    retries: u64,
}

/// `127.0.0.1:5 1790000000.123 0.001 "GET / HTTP/1.1" 200 3 "OK" "-" [a, b] [502, 200] ...`
fn of_nginx(line: &str) -> Said {
    let status = line.split('"').nth(2).unwrap().trim();
    let upstreams = line.split('[').nth(1).unwrap().split(']').next().unwrap();
    let tries = match upstreams {
        "-" => 0,
        list => list.split(", ").count() as u64,
    };
    Said {
        status: status.split(' ').next().unwrap().to_owned(),
        tries,
        retries: tries.saturating_sub(1),
    }
}

/// `127.0.0.1:5 [time] web pods/pod1 127.1.2.3:4 0/0/0/1/1 200 3 ---- 1/1/0/0/+1 0/0 "-" "GET / HTTP/1.1"`
fn of_haproxy(line: &str) -> Said {
    let words: Vec<_> = line.split(' ').collect();
    let retries = words[9].rsplit('/').next().unwrap();
    Said {
        status: words[6].to_owned(),
        tries: u64::from(!words[3].ends_with("<NOSRV>")),
        retries: retries.trim_start_matches('+').parse().unwrap(),
    }
}

fn access_log(run: &Finished) -> Vec<String> {
    let mut access = None;
    let mut lines = Vec::new();
    for record in run.recording().balancers {
        match record {
            BalancerRecord::Log(log) if log.format.is_some() => access = Some(log.log),
            BalancerRecord::Line { log, line, .. } if Some(log) == access => lines.push(line),
            _ => {}
        }
    }
    lines
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn sum(counts: &Value) -> u64 {
    counts.as_object().unwrap().values().map(number).sum()
}

/// Runs a shipped scenario and holds the report against the balancer's log and the pods' ledgers. The run's files go
/// with the folder that is returned.
fn checked(scenario: &str, exit: i32, said: fn(&str) -> Said) -> (Workdir, Finished, Value) {
    let workdir = Workdir::new(PROGRAM);
    let temporary = workdir.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let file = format!("scenarios/{scenario}.yaml");
    let mut command = workdir.command(&["run", &file, "--out", "out"]);
    let run = workdir.finished(command.env("TMPDIR", &temporary).output().unwrap());
    run.expect_exit(exit);
    let report = run.report();
    let schema = serde_json::from_str(REPORT_SCHEMA).unwrap();
    assert_eq!(violations(&schema, &report), Vec::<String>::new());
    let balancer = report["balancers"][0].clone();
    let lines: Vec<Said> = access_log(&run).iter().map(|l| said(l)).collect();
    let requests = lines.len() as u64;
    assert_eq!(number(&balancer["malformed"]), 0, "{balancer}");
    assert_eq!(number(&balancer["requests"]), requests);
    assert_eq!(
        number(&report["requests"]["sent"]),
        requests,
        "each request has a line"
    );
    assert_eq!(
        number(&balancer["joined"]),
        requests,
        "each line has its request"
    );
    let mut by_status: BTreeMap<&str, u64> = BTreeMap::new();
    for line in &lines {
        *by_status.entry(&line.status).or_default() += 1;
    }
    assert_eq!(balancer["by_status"], serde_json::json!(by_status));
    let well = by_status.get("200").copied().unwrap_or(0);
    assert_eq!(number(&report["requests"]["ok"]), well);
    assert_eq!(number(&report["requests"]["failed"]), requests - well);
    assert_eq!(
        workdir.ledgers().answered(200),
        well,
        "the pods answered as many"
    );
    let tries: u64 = lines.iter().map(|l| l.tries).sum();
    assert_eq!(sum(&balancer["tries"]), tries, "{balancer}");
    let near = lines
        .iter()
        .filter(|l| l.status == "200" && l.retries > 0)
        .count();
    assert_eq!(number(&balancer["near_misses"]), near as u64);
    assert_nothing_is_left(&temporary);
    (workdir, run, balancer)
}

/// Nothing of a balancer is left in the run's folder for temporary files, and no process that works there.
fn assert_nothing_is_left(temporary: &Path) {
    let left: Vec<_> = std::fs::read_dir(temporary).unwrap().flatten().collect();
    let ours = |name: &str| name.starts_with("rollscope-front-end-");
    let left = left
        .iter()
        .filter(|e| ours(&e.file_name().to_string_lossy()));
    assert_eq!(left.count(), 0);
    assert_eq!(processes_in(temporary), Vec::<u32>::new());
}

/// Processes whose command line names the folder.
fn processes_in(folder: &Path) -> Vec<u32> {
    let folder = folder.to_str().unwrap();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(folder)
    })
    .collect()
}

/// The pods that the rollout ended, and nothing else, are blamed.
fn blames_old_pods(run: &Finished, pods: &Value) {
    let report = run.report();
    let old = |name: &Value| {
        let known = report["pods"].as_array().unwrap();
        known.iter().any(|p| p["name"] == *name && p["old"] == true)
    };
    let named = pods.as_array().unwrap();
    assert!(!named.is_empty() && named.iter().all(old), "{pods}");
}

fn fails_with_early_close(scenario: &str, said: fn(&str) -> Said) {
    let (_workdir, run, balancer) = checked(scenario, 1, said);
    let causes: Vec<_> = run.causes().into_keys().collect();
    assert_eq!(causes, ["early_close"], "{}", run.stdout);
    assert_eq!(number(&balancer["near_misses"]), 0);
    assert!(run.stdout.contains("balancer"), "{}", run.stdout);
    let report = run.report();
    for burst in report["bursts"].as_array().unwrap() {
        blames_old_pods(&run, &burst["pods"]);
    }
    let html = std::fs::read_to_string(run.out.join("timeline.html")).unwrap();
    assert!(html.contains("id=\"balancers\""));
}

fn passes_with_near_misses(scenario: &str, said: fn(&str) -> Said) {
    let (_workdir, run, balancer) = checked(scenario, 0, said);
    assert_eq!(run.causes(), BTreeMap::new());
    let near = balancer["near"].as_array().unwrap();
    assert!(!near.is_empty(), "{balancer}");
    let counted: u64 = near.iter().map(|n| number(&n["count"])).sum();
    assert_eq!(counted, number(&balancer["near_misses"]), "{balancer}");
    for miss in near {
        assert_eq!(miss["cause"], "early_close", "{balancer}");
        blames_old_pods(&run, &miss["pods"]);
    }
    assert!(run.stdout.contains("near miss"), "{}", run.stdout);
}

#[test]
fn the_log_of_nginx_says_what_the_report_says() {
    fails_with_early_close("nginx", of_nginx);
}

#[test]
fn retries_of_nginx_hide_the_failures_and_not_their_cause() {
    passes_with_near_misses("nginx-retries", of_nginx);
}

#[test]
fn the_log_of_haproxy_says_what_the_report_says() {
    fails_with_early_close("haproxy", of_haproxy);
}

#[test]
fn retries_of_haproxy_hide_the_failures_and_not_their_cause() {
    passes_with_near_misses("haproxy-retries", of_haproxy);
}

#[test]
fn a_readiness_path_that_turns_takes_a_pod_out_of_its_health_check_in_time() {
    let workdir = Workdir::new(PROGRAM);
    let run = workdir.run("scenarios/health-checked.yaml");
    run.expect_exit(0);
    assert_eq!(run.causes(), BTreeMap::new());
    let requests = number(&run.json("front-end.json")["requests"]);
    assert_eq!(number(&run.report()["requests"]["sent"]), requests);
}

#[test]
fn without_the_readiness_flip_a_health_check_notices_too_late() {
    let workdir = Workdir::new(PROGRAM);
    let run = workdir.run("scenarios/health-checked-no-flip.yaml");
    run.expect_exit(1);
    let causes: Vec<_> = run.causes().into_keys().collect();
    assert_eq!(causes, ["early_close"], "{}", run.stdout);
    let report = run.report();
    let advice = report["bursts"][0]["advice"].to_string();
    assert!(advice.contains("flip readiness at SIGTERM"), "{advice}");
    let front_end = run.json("front-end.json");
    let failed = number(&front_end["by_status"]["502"]);
    assert_eq!(number(&report["requests"]["failed"]), failed);
}

#[test]
fn a_program_that_is_missing_is_the_environments_and_its_package_is_named() {
    let workdir = Workdir::new(PROGRAM);
    for (scenario, package) in [("nginx", "nginx-light"), ("haproxy", "haproxy")] {
        let file = format!("scenarios/{scenario}.yaml");
        let mut command = workdir.command(&["run", &file, "--out", scenario]);
        // Nothing is found there, nor where Debian keeps the programs of administrators.
        command
            .env("PATH", workdir.path())
            .env("ROLLSCOPE_PROGRAMS", workdir.path());
        let run = workdir.finished(command.output().unwrap());
        run.expect_exit(4);
        assert!(run.stderr.contains(package), "{}", run.stderr);
    }
}

/// Even a kill that the program can't handle ends what it started.
#[test]
fn a_balancer_ends_with_the_program_that_started_it() {
    for scenario in ["nginx", "haproxy"] {
        let workdir = Workdir::new(PROGRAM);
        let temporary = workdir.path().join("tmp");
        std::fs::create_dir(&temporary).unwrap();
        let file = format!("scenarios/{scenario}.yaml");
        let mut command = workdir.command(&["run", &file, "--out", "out"]);
        let mut run = command.env("TMPDIR", &temporary).spawn().unwrap();
        until("it runs", || !processes_in(&temporary).is_empty());
        run.kill().unwrap();
        run.wait().unwrap();
        until("it has ended", || processes_in(&temporary).is_empty());
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{what}: not in time"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
