//! The reports of one run say the same, and say it the same way every time.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../examples/sample/mod.rs"]
mod sample;

use rollscope_reports::{Format, report_json, summary, timeline_html, write_reports};
use serde_json::Value;

fn embedded(page: &str) -> Value {
    let start = page
        .find("<script id=\"data\" type=\"application/json\">")
        .unwrap();
    let text = &page[start..];
    let text = &text[text.find('>').unwrap() + 1..];
    serde_json::from_str(&text[..text.find("</script>").unwrap()]).unwrap()
}

/// The page's text without its tags, script and style.
fn words(page: &str) -> String {
    let body = &page[page.find("<body>").unwrap()..page.find("<script").unwrap()];
    let mut out = String::new();
    let mut inside = false;
    for c in body.chars() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            c if !inside => out.push(c),
            _ => {}
        }
    }
    out
}

#[test]
fn counts_agree_in_json_page_and_terminal() {
    let (a, r) = sample::early_close(4_400);
    let report: Value = serde_json::from_str(&report_json(&a)).unwrap();
    let page = timeline_html(&a, &r);
    let data = embedded(&page);
    let (text, terminal) = (words(&page), summary(&a, "timeline.html", 100, false));

    let failed = report["requests"]["failed"].as_u64().unwrap();
    assert_eq!(
        failed,
        r.requests.iter().filter(|r| r.outcome.is_failure()).count() as u64
    );
    assert_eq!(data["failed"]["count"].as_u64().unwrap(), failed);
    assert!(
        text.contains(&format!(
            "{failed} of 4,400 requests failed; the gate allows 0."
        )),
        "{text}"
    );
    assert!(
        terminal.contains(&format!("{failed} of 4,400 requests failed, 0 allowed")),
        "{terminal}"
    );
    for burst in report["bursts"].as_array().unwrap() {
        let (id, failed) = (&burst["id"], &burst["failed"]);
        let section = &text[text
            .find(&format!("#{id} Closed before traffic stopped coming"))
            .unwrap()..];
        assert!(section.contains(&format!("{failed} failed")), "burst {id}");
    }
}

#[test]
fn every_level_of_bins_holds_every_request() {
    let (a, r) = sample::early_close(20_000);
    let data = embedded(&timeline_html(&a, &r));
    let levels = data["levels"].as_array().unwrap();
    assert!(levels.len() >= 3, "{} levels", levels.len());
    for level in levels {
        let series = level["counts"].as_object().unwrap();
        let total: u64 = series
            .values()
            .flat_map(|c| c.as_array().unwrap())
            .map(|n| n.as_u64().unwrap())
            .sum();
        assert_eq!(total, 20_000, "width {}", level["width_ms"]);
    }
}

#[test]
fn twenty_thousand_requests_are_a_small_page() {
    let (a, r) = sample::early_close(20_000);
    let size = timeline_html(&a, &r).len();
    assert!(size < 500_000, "{size} bytes");
}

#[test]
fn equal_input_gives_equal_bytes() {
    let (a, r) = sample::early_close(4_400);
    let (b, s) = sample::early_close(4_400);
    assert_eq!(timeline_html(&a, &r), timeline_html(&b, &s));
    assert_eq!(report_json(&a), report_json(&b));
}

#[test]
fn report_json_has_the_published_names() {
    let (a, _) = sample::early_close(4_400);
    let text = report_json(&a);
    assert!(text.ends_with("}\n"));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["schema"], "rollscope/report/v1");
    assert_eq!(report["verdict"]["outcome"], "gate_failed");
    let has = |object: &Value, names: &[&str]| {
        for name in names {
            assert!(object.get(name).is_some(), "{name} is missing");
        }
    };
    has(
        &report,
        &[
            "verdict",
            "requests",
            "latency_ms",
            "pods",
            "bursts",
            "unattributed",
            "findings",
            "assertions",
            "clocks",
            "generator",
            "gaps",
        ],
    );
    has(&report["verdict"], &["outcome", "exit_code", "reasons"]);
    has(
        &report["requests"],
        &[
            "planned",
            "sent",
            "dropped",
            "ok",
            "failed",
            "aborted",
            "non_2xx",
            "transport",
            "truncated",
            "by_outcome",
        ],
    );
    has(
        &report["latency_ms"]["scheduled"],
        &["p50", "p90", "p99", "p999", "max"],
    );
    has(&report["latency_ms"], &["dispatched"]);
    let pod = &report["pods"][0];
    has(
        pod,
        &[
            "name",
            "uid",
            "template_hash",
            "deletion_requested_ms",
            "signal_ms",
            "first_drain_sign",
            "last_new_connection_ms",
            "propagation_lag_ms",
            "in_flight_at_signal",
            "cut",
            "exit",
            "margin_to_deadline_ms",
        ],
    );
    has(&pod["exit"], &["code", "reason", "at_ms"]);
    has(
        &report["bursts"][0],
        &[
            "id",
            "from_ms",
            "to_ms",
            "failed",
            "pods",
            "cause",
            "detail",
            "confidence",
            "evidence",
            "against",
            "ruled_out",
            "advice",
        ],
    );
    has(&report["findings"][0], &["cause", "pods", "evidence"]);
}

#[test]
fn the_first_screen_says_which_pod_why_and_what_number_to_change() {
    let (a, r) = sample::early_close(4_400);
    let text = words(&timeline_html(&a, &r));
    let first = &text[..text
        .find("Timeline")
        .map(|_| text.find("The drawing needs JavaScript").unwrap())
        .unwrap()];
    for word in [
        "Gate failed",
        "checkout-7d9f6bb8c4-4xk2p",
        "early_close (refused)",
        "lifecycle.preStop.sleep.seconds",
        "at least 5",
    ] {
        assert!(first.contains(word), "{word} is not on the first screen");
    }
}

#[test]
fn a_clean_run_says_what_was_looked_at() {
    let (a, r) = sample::clean();
    let text = words(&timeline_html(&a, &r));
    for word in [
        "Passed",
        "None of 4,400 requests failed.",
        "3 pods terminated under load; in flight at the signal: 3, 5, 2.",
    ] {
        assert!(text.contains(word), "{word} is not said");
    }
}

#[test]
fn an_invalid_run_says_why_before_anything_else() {
    let (a, r) = sample::invalid();
    let text = words(&timeline_html(&a, &r));
    assert!(text.find("was blind").unwrap() < text.find("What was looked at").unwrap());
    assert!(text.contains("the run cannot prove that the rollout is clean"));
}

#[test]
fn a_run_without_pods_or_requests_still_has_its_report() {
    let (mut a, mut r) = sample::clean();
    a.pods.clear();
    a.stages.clear();
    a.generator = None;
    r.requests.clear();
    r.watch.clear();
    r.logs.clear();
    let text = words(&timeline_html(&a, &r));
    assert!(text.contains("No pod was observed."));
    assert!(text.contains("No request was recorded."));
}

#[test]
fn both_files_are_written_into_a_new_folder() {
    let dir = tempfile::tempdir().unwrap();
    let (a, r) = sample::early_close(4_400);
    let paths = write_reports(&dir.path().join("a/b"), &Format::DEFAULT, &a, &r).unwrap();
    assert_eq!(
        std::fs::read_to_string(paths.of(Format::Html).unwrap()).unwrap(),
        timeline_html(&a, &r)
    );
    assert_eq!(
        std::fs::read_to_string(paths.of(Format::Json).unwrap()).unwrap(),
        report_json(&a)
    );
    assert_eq!(
        std::fs::read_dir(dir.path().join("a/b")).unwrap().count(),
        2
    );
}

#[test]
fn a_file_in_the_folders_place_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out");
    std::fs::write(&file, "x").unwrap();
    let (a, r) = sample::clean();
    let error = write_reports(&file, &Format::DEFAULT, &a, &r)
        .unwrap_err()
        .to_string();
    assert!(error.contains(file.to_str().unwrap()), "{error}");
}
