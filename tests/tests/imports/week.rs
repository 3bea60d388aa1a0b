//! A generated week with ten deploys, three of them bad.

use rollscope_tests::Workdir;
use rollscope_tests::week::{self, FORMAT, Goes};
use serde_json::Value;

use super::PROGRAM;

fn cause(goes: Goes) -> Option<&'static str> {
    match goes {
        Goes::Well => None,
        Goes::EarlyClose => Some("early_close"),
        Goes::DependencyClosedFirst => Some("dependency_closed_first"),
        Goes::NoEndpoints => Some("no_endpoints"),
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn the_three_bad_deploys_of_a_week_are_found_with_their_causes_and_nothing_else() {
    let workdir = Workdir::new(PROGRAM);
    let week = week::write(workdir.path(), 20_261_116);
    let logs = ["access.log", "access.log.1.gz"];
    let args = [
        "import",
        logs[0],
        logs[1],
        "--log-format",
        FORMAT,
        "--watch",
        "watch",
        "--out",
        "out",
    ];
    let run = workdir.rollscope(&args);
    run.expect_exit(1);
    let told = run.json("deploys.json");
    assert_eq!(number(&told["lines"]), week.lines);
    assert_eq!(number(&told["malformed"]), 0);
    let deploys = told["deploys"].as_array().unwrap();
    assert_eq!(deploys.len(), week.deploys.len(), "{told:#}");
    for ((deploy, goes), failed) in deploys.iter().zip(&week.deploys).zip(&week.failed) {
        let causes: Vec<_> = deploy["causes"].as_object().unwrap().keys().collect();
        let expected: Vec<_> = cause(*goes).into_iter().collect();
        assert_eq!(causes, expected, "{deploy:#}\n{}", run.stdout);
        assert_eq!(
            number(&deploy["failed_beyond_background"]),
            *failed,
            "{deploy:#}"
        );
        let outcome = if *goes == Goes::Well {
            "passed"
        } else {
            "gate_failed"
        };
        assert_eq!(deploy["outcome"], outcome, "{deploy:#}");
        let folder = run.out.join(deploy["folder"].as_str().unwrap());
        assert!(folder.join("timeline.html").is_file());
    }
    let outside = number(&told["outside"]["failed"]);
    let within: u64 = deploys.iter().map(|d| number(&d["failed"])).sum();
    let all: u64 = week.failed.iter().sum::<u64>() + week.noise;
    assert_eq!(outside + within, all, "every failure is counted once");
    assert!(
        run.stdout.contains("3 of 10 deploys failed requests"),
        "{}",
        run.stdout
    );
    let index = std::fs::read_to_string(run.out.join("index.html")).unwrap();
    assert!(index.contains("dependency_closed_first"));
}
