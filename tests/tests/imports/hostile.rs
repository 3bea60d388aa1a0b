//! What is not as it should be.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use rollscope_tests::{Finished, Workdir};

use super::PROGRAM;

/// 2026-11-24T10:00:00Z.
const TEN: i64 = 1_795_514_400;

/// An access log of an hour, a request each second; `status` by the second.
fn log(status: impl Fn(i64) -> Option<u16>) -> String {
    let mut text = String::new();
    for second in 0..3600 {
        let at = time::OffsetDateTime::from_unix_timestamp(TEN + second).unwrap();
        if let Some(status) = status(second) {
            writeln!(
                text,
                "192.0.2.1 - - [24/Nov/2026:{:02}:{:02}:{:02} +0000] \"GET /a HTTP/1.1\" {status} 3 \"-\" \"-\"",
                at.hour(),
                at.minute(),
                at.second()
            )
            .unwrap();
        }
    }
    text
}

const WINDOW: &str = "from,to,name\n2026-11-24T10:30:00Z,2026-11-24T10:33:00Z,shop 1.4\n";

fn import(workdir: &Workdir, log: &str) -> Finished {
    workdir.write("windows.csv", WINDOW);
    workdir.rollscope(&[
        "import",
        log,
        "--log-format",
        "nginx",
        "--windows",
        "windows.csv",
        "--out",
        "out",
    ])
}

#[test]
fn a_window_without_anything_wrong_passes_and_a_lone_log_says_that_it_knows_no_pods() {
    let workdir = Workdir::new(PROGRAM);
    workdir.write("access.log", &log(|_| Some(200)));
    let run = import(&workdir, "access.log");
    run.expect_exit(0);
    assert!(
        run.stdout.contains("no pods were observed"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("shop 1.4"), "{}", run.stdout);
}

#[test]
fn failures_of_a_window_that_nothing_explains_fail_it_with_an_unknown_cause() {
    let workdir = Workdir::new(PROGRAM);
    let bad = |s: i64| Some(if (1810..1840).contains(&s) { 502 } else { 200 });
    workdir.write("access.log", &log(bad));
    let run = import(&workdir, "access.log");
    run.expect_exit(1);
    let told = run.json("deploys.json");
    let deploy = &told["deploys"][0];
    assert_eq!(deploy["failed_beyond_background"], 30, "{told:#}");
    let causes: Vec<_> = deploy["causes"].as_object().unwrap().keys().collect();
    assert!(
        causes.iter().all(|c| *c == "unknown" || *c == "several"),
        "{causes:?}"
    );
}

#[test]
fn the_same_failures_all_day_long_are_no_deploys() {
    let workdir = Workdir::new(PROGRAM);
    workdir.write(
        "access.log",
        &log(|s| Some(if s % 10 == 0 { 502 } else { 200 })),
    );
    let run = import(&workdir, "access.log");
    run.expect_exit(0);
}

#[test]
fn a_hole_in_the_log_over_a_deploy_is_never_a_pass() {
    let workdir = Workdir::new(PROGRAM);
    workdir.write(
        "access.log",
        &log(|s| (!(1800..1990).contains(&s)).then_some(200)),
    );
    let run = import(&workdir, "access.log");
    run.expect_exit(3);
    assert!(
        run.stdout.contains("no line of that time"),
        "{}",
        run.stdout
    );
    let workdir = Workdir::new(PROGRAM);
    workdir.write("access.log", &log(|s| (s < 600).then_some(200)));
    import(&workdir, "access.log").expect_exit(3);
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_too_many_of_them_prove_nothing() {
    let workdir = Workdir::new(PROGRAM);
    let good = log(|_| Some(200));
    let huge = "x".repeat(3 << 20);
    workdir.write("access.log", &format!("{good}\u{1b}[31m\u{0}\n{huge}\n\n"));
    let run = import(&workdir, "access.log");
    run.expect_exit(0);
    assert_eq!(run.json("deploys.json")["malformed"], 2);
    assert!(!run.stdout.contains('\u{1b}'), "{}", run.stdout);
    let workdir = Workdir::new(PROGRAM);
    workdir.write("access.log", &format!("{good}{}", "no line\n".repeat(200)));
    import(&workdir, "access.log").expect_exit(3);
}

#[test]
fn what_is_no_log_is_told_before_anything_is_written() {
    let workdir = Workdir::new(PROGRAM);
    workdir.write("access.log", &"{\"not\": \"a line\"}\n".repeat(50));
    let run = import(&workdir, "access.log");
    run.expect_exit(2);
    assert!(run.stderr.contains("not in this format"), "{}", run.stderr);
    import(&workdir, "missing.log").expect_exit(2);
    workdir.write("access.log", &log(|_| Some(200)));
    workdir.write("windows.csv", "2026-11-24T10:30:00Z,sometime\n");
    let run = workdir.rollscope(&[
        "import",
        "access.log",
        "--log-format",
        "nginx",
        "--windows",
        "windows.csv",
        "--out",
        "o",
    ]);
    run.expect_exit(2);
    assert!(run.stderr.contains("windows.csv:1"), "{}", run.stderr);
    let run = workdir.rollscope(&[
        "import",
        "access.log",
        "--log-format",
        "nginx",
        "--out",
        "o",
    ]);
    run.expect_exit(2);
    assert!(run.stderr.contains("--windows"), "{}", run.stderr);
    let run = workdir.rollscope(&[
        "import",
        "access.log",
        "--log-format",
        "apache",
        "--out",
        "o",
    ]);
    run.expect_exit(2);
}

#[test]
fn what_is_piped_in_is_read_once_and_a_file_counts_once() {
    let workdir = Workdir::new(PROGRAM);
    workdir.write("access.log", &log(|_| Some(200)));
    workdir.write("windows.csv", WINDOW);
    let piped = format!(
        "exec {PROGRAM} import <(cat access.log) --log-format nginx --windows windows.csv --out piped"
    );
    let mut shell = std::process::Command::new("bash");
    let output = shell
        .args(["-c", &piped])
        .current_dir(workdir.path())
        .output()
        .unwrap();
    let run = workdir.finished(output);
    run.expect_exit(0);
    assert!(run.stdout.contains("3,600 lines"), "{}", run.stdout);
    let args = [
        "import",
        "access.log",
        "./access.log",
        "--log-format",
        "nginx",
        "--windows",
        "windows.csv",
        "--out",
        "o",
    ];
    let run = workdir.rollscope(&args);
    run.expect_exit(2);
    assert!(run.stderr.contains("given twice"), "{}", run.stderr);
}

/// A token in a path, text that would run, and a name that would move the cursor.
#[test]
fn nothing_secret_is_kept_and_nothing_runs() {
    let workdir = Workdir::new(PROGRAM);
    let bad = log(|s| Some(if (1810..1820).contains(&s) { 502 } else { 200 }));
    let bad = bad
        .replace("GET /a ", "GET /a?token=c2VjcmV0LXNlY3JldA ")
        .replace("\"-\" \"-\"", "\"-\" \"<script>alert(1)</script>\"");
    workdir.write("access.log", &bad);
    let window = "2026-11-24T10:30:00Z,2026-11-24T10:33:00Z,<script>alert(2)</script>\u{1b}[2J\n";
    workdir.write("windows.csv", window);
    let args = [
        "import",
        "access.log",
        "--log-format",
        "nginx",
        "--windows",
        "windows.csv",
        "--out",
        "out",
    ];
    let run = workdir.rollscope(&args);
    run.expect_exit(1);
    assert!(!run.stdout.contains('\u{1b}'), "{}", run.stdout);
    let told = run.json("deploys.json");
    let folder = run.out.join(told["deploys"][0]["folder"].as_str().unwrap());
    let files = [
        "timeline.html",
        "report.json",
        "recording.rollscope/balancer.jsonl",
        "recording.rollscope/run.json",
    ];
    let texts = files.map(|file| fs::read_to_string(folder.join(file)).unwrap());
    assert!(!texts.iter().any(|text| text.contains("c2VjcmV0LXNlY3JldA")));
    let index = fs::read_to_string(run.out.join("index.html")).unwrap();
    assert!(!texts[0].contains("<script>alert") && !index.contains("<script>alert"));
}

#[test]
fn a_pattern_that_does_not_compile_is_told_before_anything_is_read() {
    let workdir = Workdir::new(PROGRAM);
    workdir.write("access.log", &log(|_| Some(200)));
    workdir.write("windows.csv", WINDOW);
    let args = [
        "import",
        "access.log",
        "--log-format",
        "nginx",
        "--windows",
        "windows.csv",
        "--mark",
        "x=(",
        "--out",
        "o",
    ];
    let run = workdir.rollscope(&args);
    run.expect_exit(2);
    assert!(run.stderr.contains("--mark x"), "{}", run.stderr);
}

#[test]
fn a_compressed_log_that_is_cut_is_read_as_far_as_it_goes_and_told() {
    let workdir = Workdir::new(PROGRAM);
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(log(|_| Some(200)).as_bytes()).unwrap();
    let bytes = zipped.finish().unwrap();
    fs::write(
        workdir.path().join("access.log.gz"),
        &bytes[..bytes.len() / 4],
    )
    .unwrap();
    let run = import(&workdir, "access.log.gz");
    run.expect_exit(3);
    assert!(
        run.stdout.contains("compressed file is cut"),
        "{}",
        run.stdout
    );
}

#[test]
fn events_and_audit_logs_say_when_there_was_a_deploy() {
    let workdir = Workdir::new(PROGRAM);
    workdir.write("access.log", &log(|_| Some(200)));
    let event = |minute: u32, reason: &str| {
        format!(
            r#"{{"kind":"Event","reason":"{reason}","lastTimestamp":"2026-11-24T10:{minute:02}:00Z","metadata":{{"name":"e{minute}"}},"involvedObject":{{"kind":"Pod","name":"web-1"}}}}"#
        )
    };
    let events = [
        event(20, "Killing"),
        event(21, "Killing"),
        event(40, "ScalingReplicaSet"),
        event(50, "Pulled"),
    ];
    workdir.write(
        "events.json",
        &format!(r#"{{"kind":"List","items":[{}]}}"#, events.join(",")),
    );
    let args = [
        "import",
        "access.log",
        "--log-format",
        "nginx",
        "--events",
        "events.json",
        "--out",
        "events",
    ];
    let run = workdir.rollscope(&args);
    run.expect_exit(0);
    assert!(run.stdout.contains("; 2 deploys"), "{}", run.stdout);
    let audited = r#"{"stage":"ResponseComplete","verb":"patch","stageTimestamp":"2026-11-24T10:30:00.5Z","objectRef":{"resource":"deployments","name":"web"},"responseStatus":{"code":200}}"#;
    workdir.write(
        "audit.log",
        &format!("{audited}\n{}\n", audited.replace("200", "403")),
    );
    let args = [
        "import",
        "access.log",
        "--log-format",
        "nginx",
        "--audit",
        "audit.log",
        "--out",
        "audit",
    ];
    let run = workdir.rollscope(&args);
    run.expect_exit(0);
    assert!(run.stdout.contains("; 1 deploy\n"), "{}", run.stdout);
    assert!(
        run.stdout.contains("2026-11-24T10:30:00Z"),
        "{}",
        run.stdout
    );
}
