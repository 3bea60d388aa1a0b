//! `--repeat`: the signal at another moment each time, and the sum of it.

use serde_json::Value;

use super::program::{nothing_is_left, signal, workdir};

fn runs(sum: &Value) -> &Vec<Value> {
    sum["runs"].as_array().unwrap()
}

#[test]
fn five_runs_meet_five_moments_and_a_graceful_server_passes_all_of_them() {
    let workdir = workdir();
    let flags = [
        "--repeat",
        "5",
        "--path",
        "/?ms=1",
        "--slow-path",
        "/body?ms=900",
        "--env",
        "DELAY=2500",
        "--endpoint-lag",
        "1500ms",
    ];
    let run = signal(&workdir, &flags, &["node", "server.js"]);
    let sum = run.json("signal.json");
    let moments: Vec<&str> = runs(&sum)
        .iter()
        .map(|r| r["moment"].as_str().unwrap())
        .collect();
    assert_eq!(
        moments,
        [
            "steady load",
            "before the first request",
            "between requests",
            "twice",
            "in mid-body"
        ]
    );
    // On a busy machine the load may be late; nothing else may be wrong.
    let late = |r: &Value| r["reasons"].to_string().contains("the rate was not held");
    let good = |r: &Value| r["exit_code"] == 0 || (r["exit_code"] == 3 && late(r));
    assert!(runs(&sum).iter().all(good), "{sum:#}");
    assert!(runs(&sum).iter().all(|r| r["failed"] == 0), "{sum:#}");
    let [_, before, between, twice, body] = &runs(&sum)[..] else {
        panic!("{sum:#}");
    };
    // Nothing had been asked before the signal, and what came after it was answered.
    assert_eq!(before["signal"]["idle"]["at_signal"], 0, "{before:#}");
    assert!(
        before["signal"]["new_connections"]["answered"].as_u64() > Some(0),
        "{before:#}"
    );
    let started = |r: &Value| r["folder"].as_str().unwrap().to_owned();
    let first: Value = read(&workdir, &started(before));
    let signalled = first["signal"]["sent_ms"][0][1].as_f64().unwrap();
    let begun = first["generator"]["from"].as_i64().unwrap() as f64 / 1e6;
    assert!(
        signalled < begun,
        "signal at {signalled} ms, load from {begun} ms"
    );
    // Only connections without a request were there.
    assert_eq!(
        between["signal"]["in_flight"]["at_signal"], 0,
        "{between:#}"
    );
    assert!(
        between["signal"]["idle"]["at_signal"].as_u64() > Some(0),
        "{between:#}"
    );
    assert_eq!(twice["signal"]["sent_ms"].as_array().unwrap().len(), 2);
    assert!(
        body["signal"]["in_flight"]["in_body"].as_u64() > Some(0),
        "{body:#}"
    );
    assert!(run.out.join("index.html").exists());
    assert!(run.stdout.contains("of 5 runs passed"), "{}", run.stdout);
    nothing_is_left(&workdir);
}

fn read(workdir: &rollscope_tests::Workdir, folder: &str) -> Value {
    let path = workdir.path().join("out").join(folder).join("report.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_handler_for_the_first_signal_only_is_found_by_the_second_and_the_worst_run_decides() {
    let workdir = workdir();
    // PID 1 without a handler ignores the second signal; this one takes it as an order to leave at once.
    workdir.write("impatient.js", "
      let told = 0;
      const server = require('node:http').createServer((q, r) => setTimeout(() => r.end('ok'), 300)).listen(process.env.PORT);
      process.on('SIGTERM', () => {
        told += 1;
        if (told === 2) process.exit(1);
        setTimeout(() => server.close(() => process.exit(0)), 1500);
        setTimeout(() => setInterval(() => server.closeIdleConnections(), 20), 1500);
      });");
    let run = signal(
        &workdir,
        &["--repeat", "4", "--max-failed", "3"],
        &["node", "impatient.js"],
    );
    run.expect_exit(1);
    let sum = run.json("signal.json");
    let twice = &runs(&sum)[3];
    assert_eq!(
        (twice["moment"].as_str(), twice["exit_code"].as_u64()),
        (Some("twice"), Some(1)),
        "{sum:#}"
    );
    assert_eq!(sum["exit_code"], 1);
}
