//! Watches that are cut, expire, stall and repeat: each ends in correct records or an explicit gap.

use std::time::Duration;

use rollscope_collector::WatchTiming;
use rollscope_records::{ObjectKind, WatchRecord};
use serde_json::json;

use crate::standin::{Fault, status_object};
use crate::world::{DEPLOYMENTS, EVENTS, PODS, World, events, gaps, pod};

#[tokio::test]
async fn everything_listed_and_watched_is_recorded_without_secrets() {
    let world = World::start().await;
    world.standin.put(PODS, pod("web-aaa-2", "aaa", false));
    world.standin.put(PODS, pod("web-aaa-2", "aaa", true));
    world.pod_known("web-aaa-2", true).await;
    world.standin.delete(PODS, "web-aaa-2");
    world.pod_known("web-aaa-2", false).await;
    let recording = world.finish().await;
    assert_eq!(
        events(&recording, ObjectKind::Pod),
        [
            "ADDED web-aaa-1",
            "ADDED web-aaa-2",
            "MODIFIED web-aaa-2",
            "DELETED web-aaa-2"
        ]
    );
    assert_eq!(events(&recording, ObjectKind::Deployment), ["ADDED web"]);
    assert_eq!(
        events(&recording, ObjectKind::EndpointSlice),
        ["ADDED web-x"]
    );
    assert_eq!(recording.gaps().count(), 0);
    let text = format!("{:?}", recording.watch);
    assert!(!text.contains("s3cret"), "an env value was recorded");
    let kinds = recording.watch.iter().all(|record| match record {
        WatchRecord::Event { kind, object, .. } => object["kind"] == kind.as_str(),
        WatchRecord::Gap(_) => true,
    });
    assert!(kinds, "listed objects carry their kind like watched ones");
}

#[tokio::test]
async fn watches_ask_only_for_what_concerns_the_workload() {
    let world = World::start().await;
    let asked = world.standin.asked();
    let watch = |path: &str| {
        let mut watches = asked.iter().filter(|a| a.path() == path);
        watches
            .find(|a| a.query("watch").is_some())
            .unwrap()
            .clone()
    };
    assert_eq!(watch(PODS).query("labelSelector").unwrap(), "app=web");
    assert_eq!(
        watch(DEPLOYMENTS).query("fieldSelector").unwrap(),
        "metadata.name=web"
    );
    let slices = watch("/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices");
    assert_eq!(
        slices.query("labelSelector").unwrap(),
        "kubernetes.io/service-name=web"
    );
    assert_eq!(watch(EVENTS).query("allowWatchBookmarks").unwrap(), "true");
    assert!(
        asked.iter().all(|a| a.method == "GET"),
        "observing changes nothing"
    );
    world.finish().await;
}

#[tokio::test]
async fn a_stream_cut_in_the_middle_of_a_line_is_resumed_without_loss() {
    let world = World::start().await;
    world.standin.inject(PODS, "{\"type\":\"MODIFIED\",\"obj");
    world.standin.cut(PODS);
    world.standin.put(PODS, pod("web-aaa-2", "aaa", true));
    world.pod_known("web-aaa-2", true).await;
    let recording = world.finish().await;
    assert_eq!(
        events(&recording, ObjectKind::Pod),
        ["ADDED web-aaa-1", "ADDED web-aaa-2"]
    );
    assert_eq!(recording.gaps().count(), 0, "a short cut loses nothing");
}

#[tokio::test]
async fn after_a_410_the_new_list_is_recorded_with_a_gap_that_says_what_changed() {
    let world = World::start().await;
    world.standin.put(PODS, pod("web-aaa-2", "aaa", true));
    world.pod_known("web-aaa-2", true).await;
    world.standin.cut(PODS);
    world.standin.delete(PODS, "web-aaa-1");
    world.standin.put(PODS, pod("web-aaa-2", "aaa", false));
    world.standin.put(PODS, pod("web-aaa-3", "aaa", true));
    world.standin.compact();
    world.pod_known("web-aaa-3", true).await;
    world.pod_known("web-aaa-1", false).await;
    let recording = world.finish().await;
    let pods = events(&recording, ObjectKind::Pod);
    assert_eq!(
        pods,
        [
            "ADDED web-aaa-1",
            "ADDED web-aaa-2",
            "DELETED web-aaa-1",
            "MODIFIED web-aaa-2",
            "ADDED web-aaa-3"
        ]
    );
    let [gap] = gaps(&recording, "watch/Pod")[..] else {
        panic!("not one gap: {:?}", recording.gaps().collect::<Vec<_>>());
    };
    assert!(gap.to.unwrap() >= gap.from);
    for part in [
        "410",
        "added: web-aaa-3",
        "changed: web-aaa-2",
        "gone",
        "web-aaa-1",
    ] {
        assert!(gap.reason.contains(part), "{}", gap.reason);
    }
}

#[tokio::test]
async fn a_410_inside_the_stream_counts_as_one_too() {
    let world = World::start().await;
    world.standin.compact();
    let error = json!({"type": "ERROR", "object": status_object(410)});
    world.standin.inject(PODS, &format!("{error}\n"));
    let asked = || {
        let asked = world.standin.asked();
        let lists = asked
            .iter()
            .filter(|a| a.path() == PODS && a.query("watch").is_none());
        lists.count()
    };
    crate::world::eventually("a second list", || asked() == 2).await;
    world.standin.put(PODS, pod("web-aaa-2", "aaa", true));
    world.pod_known("web-aaa-2", true).await;
    let recording = world.finish().await;
    let gaps = gaps(&recording, "watch/Pod");
    assert_eq!(gaps.len(), 1);
    assert!(
        gaps[0].reason.contains("nothing changed across it"),
        "{}",
        gaps[0].reason
    );
}

#[tokio::test]
async fn refusals_are_retried_as_the_server_asks_and_the_late_interval_is_marked() {
    let world = World::start().await;
    world.standin.fault(PODS, Fault::Status(500, None));
    world
        .standin
        .fault(PODS, Fault::Status(429, Some(("retry-after", "1"))));
    world.standin.cut(PODS);
    world.standin.put(PODS, pod("web-aaa-2", "aaa", true));
    world.pod_known("web-aaa-2", true).await;
    let recording = world.finish().await;
    assert_eq!(
        events(&recording, ObjectKind::Pod),
        ["ADDED web-aaa-1", "ADDED web-aaa-2"]
    );
    let gaps = gaps(&recording, "watch/Pod");
    assert_eq!(gaps.len(), 1, "more than a second without a watch");
    let gap = gaps[0];
    assert!(gap.to.unwrap().nanos_since(gap.from) >= 1_000_000_000);
    assert!(
        gap.reason.contains("429") && gap.reason.contains("nothing lost"),
        "{}",
        gap.reason
    );
}

#[tokio::test]
async fn a_server_that_stays_away_leaves_an_open_gap() {
    let world = World::start().await;
    world.standin.down(Some(500));
    let watches = || {
        world
            .standin
            .asked()
            .iter()
            .filter(|a| a.path() == PODS)
            .count()
    };
    let before = watches();
    crate::world::eventually("attempts in vain", || watches() >= before + 2).await;
    let recording = world.finish().await;
    for kind in [
        ObjectKind::Pod,
        ObjectKind::Deployment,
        ObjectKind::EndpointSlice,
    ] {
        let source = format!("watch/{}", kind.as_str());
        let gaps = gaps(&recording, &source);
        assert_eq!(gaps.len(), 1, "{source}");
        assert_eq!(gaps[0].to, None);
        assert!(gaps[0].reason.contains("500"), "{}", gaps[0].reason);
    }
}

#[tokio::test]
async fn a_half_open_connection_is_given_up_and_what_was_missed_comes_late_but_marked() {
    let timing = WatchTiming {
        lasts: Duration::from_secs(1),
        half_open_after: Duration::from_millis(300),
    };
    let world = World::start_with(timing).await;
    world.standin.fault(PODS, Fault::Stall);
    world.standin.cut(PODS);
    world.standin.put(PODS, pod("web-aaa-2", "aaa", true));
    world.pod_known("web-aaa-2", true).await;
    let recording = world.finish().await;
    assert_eq!(
        events(&recording, ObjectKind::Pod),
        ["ADDED web-aaa-1", "ADDED web-aaa-2"]
    );
    let half_open = |g: &&rollscope_records::Gap| g.reason.contains("half-open");
    let gaps = gaps(&recording, "watch/Pod");
    let gap = gaps.into_iter().find(half_open).unwrap();
    assert!(
        gap.to.unwrap().nanos_since(gap.from) >= 1_000_000_000,
        "{gap:?}"
    );
}

#[tokio::test]
async fn repeated_events_are_recorded_once_and_a_bookmark_moves_the_version() {
    let world = World::start().await;
    let object = world.standin.put(PODS, pod("web-aaa-2", "aaa", true));
    let again = json!({"type": "ADDED", "object": object});
    world.standin.inject(PODS, &format!("{again}\n{again}\n"));
    let bookmark = json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "900"}}});
    world.standin.inject(PODS, &format!("{bookmark}\n"));
    world.standin.cut(PODS);
    let from_bookmark = || {
        let asked = world.standin.asked();
        asked
            .iter()
            .any(|a| a.query("resourceVersion").as_deref() == Some("900"))
    };
    crate::world::eventually("a watch from the bookmark", from_bookmark).await;
    let recording = world.finish().await;
    assert_eq!(
        events(&recording, ObjectKind::Pod),
        ["ADDED web-aaa-1", "ADDED web-aaa-2"]
    );
}

#[tokio::test]
async fn a_deletion_without_the_last_change_before_it_is_recorded_as_it_came() {
    let world = World::start().await;
    let mut last = pod("web-aaa-1", "aaa", false);
    last["metadata"]["resourceVersion"] = json!("500");
    last["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let line = json!({"type": "DELETED", "object": last});
    world.standin.inject(PODS, &format!("{line}\n{line}\n"));
    world.pod_known("web-aaa-1", false).await;
    let recording = world.finish().await;
    assert_eq!(
        events(&recording, ObjectKind::Pod),
        ["ADDED web-aaa-1", "DELETED web-aaa-1"]
    );
}

#[tokio::test]
async fn the_api_servers_clock_is_sampled_at_the_start_and_goes_on() {
    let world = World::start().await;
    let samples = || {
        let asked = world.standin.asked();
        asked.iter().filter(|a| a.path() == "/version").count()
    };
    crate::world::eventually("three samples", || samples() >= 3).await;
    let recording = world.finish().await;
    assert!(recording.clocks.len() >= 2);
    let zero = recording.run.wall_start_unix_nanos;
    for sample in &recording.clocks {
        assert_eq!(sample.clock, "api-server");
        let (lo, hi) = (
            sample.reading_unix_nanos - zero - sample.after.nanos(),
            sample.reading_unix_nanos + sample.resolution_nanos - zero - sample.before.nanos(),
        );
        assert!(
            lo <= 0 && 0 <= hi,
            "one clock: the offset 0 must be possible"
        );
    }
}
