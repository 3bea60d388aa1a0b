//! Container logs: from before the rollout on, across cuts and restarts.

use rollscope_records::{LogSource, Recording};
use serde_json::json;

use crate::standin::Fault;
use crate::world::{PODS, World, eventually, gaps, pod};

const CONTAINER: &str = "web-aaa-1/web";

fn lines(recording: &Recording, pod_name: &str) -> Vec<String> {
    let of_pod =
        |source: &LogSource| matches!(source, LogSource::Container { pod, .. } if pod == pod_name);
    let logs = recording.logs.iter().filter(|l| of_pod(&l.source));
    logs.map(|l| l.line.clone()).collect()
}

async fn followed(world: &World, container: &str) {
    eventually("a follower", || world.standin.followers(container) == 1).await;
}

#[tokio::test]
async fn lines_are_recorded_once_with_the_runtimes_time_across_a_cut() {
    let world = World::start().await;
    followed(&world, CONTAINER).await;
    world.standin.log(
        CONTAINER,
        &[
            "2026-01-01T00:00:01.700000000Z one",
            "2026-01-01T00:00:01.700000000Z two",
        ],
    );
    let asked = |world: &World| {
        world
            .standin
            .asked()
            .iter()
            .filter(|a| a.path().ends_with("/log"))
            .count()
    };
    assert_eq!(asked(&world), 1);
    // The lines must be through before the cut: a cut connection may lose what was not read yet.
    eventually("the lines", || tail(&world).ends_with("two")).await;
    world.standin.end_log(CONTAINER, false);
    followed(&world, CONTAINER).await;
    world.standin.log(
        CONTAINER,
        &["2026-01-01T00:00:01.800000000Z password=hunter2"],
    );
    eventually("the last line", || tail(&world).contains("password")).await;
    let again = world.standin.asked();
    let again = again.iter().rfind(|a| a.path().ends_with("/log")).unwrap();
    assert_eq!(again.query("sinceTime").unwrap(), "2026-01-01T00:00:01Z");
    let recording = world.finish().await;
    assert_eq!(
        lines(&recording, "web-aaa-1"),
        ["one", "two", "password=redacted"]
    );
    assert_eq!(
        recording.logs[0].timestamp.as_deref(),
        Some("2026-01-01T00:00:01.700000000Z")
    );
    assert_eq!(recording.gaps().count(), 0);
}

/// The last line that was written to the recording's file so far.
fn tail(world: &World) -> String {
    let text = std::fs::read_to_string(world.recorder.dir().join("logs.jsonl")).unwrap_or_default();
    let last = text.lines().last().unwrap_or_default();
    let record: serde_json::Value = serde_json::from_str(last).unwrap_or_default();
    record["line"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_container_that_is_not_started_yet_is_followed_from_its_first_line() {
    let world = World::start().await;
    let mut waiting = pod("web-bbb-1", "bbb", false);
    waiting["status"]["containerStatuses"][0]["state"] =
        json!({"waiting": {"reason": "ContainerCreating"}});
    world.standin.put(PODS, waiting);
    world.pod_known("web-bbb-1", true).await;
    world
        .standin
        .fault(&format!("{PODS}/web-bbb-1/log"), Fault::Status(400, None));
    world
        .standin
        .log("web-bbb-1/web", &["2026-01-01T00:00:01Z first"]);
    world.standin.put(PODS, pod("web-bbb-1", "bbb", true));
    followed(&world, "web-bbb-1/web").await;
    eventually("the line", || tail(&world) == "first").await;
    let recording = world.finish().await;
    assert_eq!(lines(&recording, "web-bbb-1"), ["first"]);
}

#[tokio::test]
async fn the_log_of_a_deleted_pod_that_was_read_to_its_end_has_no_gap() {
    let world = World::start().await;
    followed(&world, CONTAINER).await;
    world.standin.log(CONTAINER, &["2026-01-01T00:00:01Z bye"]);
    world.standin.end_log(CONTAINER, true);
    eventually("the line", || tail(&world) == "bye").await;
    for _ in 0..3 {
        world
            .standin
            .fault(&format!("{PODS}/web-aaa-1/log"), Fault::Status(404, None));
    }
    world.standin.delete(PODS, "web-aaa-1");
    world.pod_known("web-aaa-1", false).await;
    let recording = world.finish().await;
    assert_eq!(lines(&recording, "web-aaa-1"), ["bye"]);
    assert_eq!(recording.gaps().count(), 0);
}

#[tokio::test]
async fn a_log_cut_just_before_the_pod_is_gone_is_a_gap() {
    let world = World::start().await;
    followed(&world, CONTAINER).await;
    for _ in 0..50 {
        world
            .standin
            .fault(&format!("{PODS}/web-aaa-1/log"), Fault::Status(404, None));
    }
    let asked = || {
        world
            .standin
            .asked()
            .iter()
            .filter(|a| a.path().ends_with("/log"))
            .count()
    };
    world.standin.end_log(CONTAINER, false);
    eventually("an attempt in vain", || asked() >= 2).await;
    world.standin.delete(PODS, "web-aaa-1");
    world.pod_known("web-aaa-1", false).await;
    let recorded = || {
        let watch = world.recorder.dir().join("watch.jsonl");
        std::fs::read_to_string(watch)
            .unwrap_or_default()
            .contains("logs/web-aaa-1/web")
    };
    eventually("the gap", recorded).await;
    let recording = world.finish().await;
    let gaps = gaps(&recording, "logs/web-aaa-1/web");
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0].to, None);
}

#[tokio::test]
async fn a_restart_in_place_is_followed_and_the_instance_before_is_read_to_its_end() {
    let world = World::start().await;
    followed(&world, CONTAINER).await;
    world.standin.log(CONTAINER, &["2026-01-01T00:00:01Z one"]);
    eventually("the line", || tail(&world) == "one").await;
    // The stream breaks, the container writes a last line and restarts before we are back.
    world
        .standin
        .fault(&format!("{PODS}/web-aaa-1/log"), Fault::Status(500, None));
    world.standin.end_log(CONTAINER, false);
    world
        .standin
        .log(CONTAINER, &["2026-01-01T00:00:02Z last words"]);
    let mut restarted = pod("web-aaa-1", "aaa", true);
    restarted["status"]["containerStatuses"][0]["restartCount"] = json!(1);
    world.standin.put(PODS, restarted);
    followed(&world, CONTAINER).await;
    world
        .standin
        .log(CONTAINER, &["2026-01-01T00:00:03Z again"]);
    eventually("the line", || tail(&world) == "again").await;
    let recording = world.finish().await;
    assert_eq!(
        lines(&recording, "web-aaa-1"),
        ["one", "last words", "again"]
    );
    assert_eq!(recording.gaps().count(), 0);
}

#[tokio::test]
async fn a_line_over_64_kib_is_cut_and_says_so() {
    let world = World::start().await;
    followed(&world, CONTAINER).await;
    let long = format!("2026-01-01T00:00:01Z {}", "x".repeat(100_000));
    world
        .standin
        .log(CONTAINER, &[&long, "2026-01-01T00:00:02Z next"]);
    eventually("the next line", || tail(&world) == "next").await;
    let recording = world.finish().await;
    let lines = lines(&recording, "web-aaa-1");
    assert_eq!(lines.len(), 2);
    assert!(
        lines[0].len() < 66_000 && lines[0].ends_with("bytes more]"),
        "{}",
        lines[0].len()
    );
}
