//! Endpoints that come and go, and when traffic follows.

use std::net::SocketAddr;
use std::time::Duration;

use rollscope_scenarios::FrontEnd as FrontEndKind;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::super::FrontEnd;
use super::client::Client;
use super::cluster::{Cluster, Conditions, DRAINING, READY};
use super::pod::{OK, Pod, wait_for};
use crate::Kind;

const NAMED_A: &str = "HTTP/1.1 200 OK\r\nx-pod-name: a\r\ncontent-length: 0\r\n\r\n";

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[tokio::test]
async fn an_endpoint_that_turned_not_ready_gets_traffic_until_the_lag_is_over_and_none_after() {
    let (a, b) = (Pod::answering(NAMED_A).await, Pod::answering(OK).await);
    let cluster = Cluster::new(&[("a", a.address), ("b", b.address)]);
    let front_end = cluster.front_end(FrontEndKind::Http, (600, 600));
    let mut client = Client::connect(front_end.address()).await;
    let turned = Instant::now();
    cluster.set(&[("a", a.address, DRAINING), ("b", b.address, READY)]);
    let mut last_on_a = None;
    while turned.elapsed() < Duration::from_millis(1500) {
        let sent = turned.elapsed();
        let answer = client.get("/").await;
        assert_eq!(answer.status, 200);
        if answer.has("x-pod-name: a") {
            last_on_a = Some(sent);
        }
        sleep(Duration::from_millis(5)).await;
    }
    let last = last_on_a.expect("traffic on a").as_millis();
    assert!((400..1000).contains(&last), "{last} ms");
}

/// Polls `choose` until it gives what is expected.
async fn chosen(front_end: &FrontEnd, expected: Option<SocketAddr>) {
    let what = format!("the choice of {expected:?}");
    wait_for(&what, || (0..20).all(|_| front_end.choose() == expected)).await;
}

#[tokio::test]
async fn l4_never_chooses_early_or_forgets_a_change() {
    let (a, b) = (address("127.0.0.1:1001"), address("127.0.0.1:1002"));
    let cluster = Cluster::new(&[("a", a)]);
    let front_end = cluster.front_end(FrontEndKind::L4, (300, 300));
    assert_eq!(front_end.choose(), Some(a));
    let begun = Instant::now();
    cluster.set(&[("b", b, READY)]);
    assert_eq!(front_end.choose(), Some(a));
    chosen(&front_end, Some(b)).await;
    assert!(begun.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn l4_falls_back_to_terminating_endpoints_that_serve() {
    let (a, b) = (address("127.0.0.1:1001"), address("127.0.0.1:1002"));
    let cluster = Cluster::new(&[("a", a), ("b", b)]);
    let front_end = cluster.front_end(FrontEndKind::L4, (0, 0));
    cluster.set(&[("a", a, DRAINING), ("b", b, (false, false, true))]);
    chosen(&front_end, Some(a)).await;
    cluster.set(&[
        ("a", a, (false, false, true)),
        ("b", b, (false, false, true)),
    ]);
    chosen(&front_end, None).await;
    cluster.set(&[("a", a, DRAINING), ("b", b, READY)]);
    chosen(&front_end, Some(b)).await;
}

#[tokio::test]
async fn changes_of_an_endpoint_arrive_in_their_order_whatever_their_lags() {
    let a = address("127.0.0.1:1001");
    let cluster = Cluster::new(&[]);
    let front_end = cluster.front_end(FrontEndKind::L4, (0, 200));
    for round in 0..6 {
        for state in [READY, DRAINING, READY, (false, false, true)] {
            cluster.set(&[("a", a, state)]);
            tokio::task::yield_now().await;
        }
        let last: Conditions = if round % 2 == 0 {
            READY
        } else {
            (false, false, false)
        };
        cluster.set(&[("a", a, last)]);
        sleep(Duration::from_millis(300)).await;
        chosen(&front_end, (round % 2 == 0).then_some(a)).await;
    }
}

#[tokio::test]
async fn l4_counts_what_it_chose_and_shows_the_virtual_address() {
    let (a, b) = (address("127.0.0.1:1001"), address("127.0.0.1:1002"));
    let cluster = Cluster::new(&[("a", a), ("b", b)]);
    let front_end = cluster.front_end(FrontEndKind::L4, (0, 0));
    assert_eq!(front_end.address(), address("127.0.0.1:0"));
    let on_a = (0..200).filter(|_| front_end.choose() == Some(a)).count() as u64;
    let counters = front_end.counters();
    assert_eq!(counters.connections, 200);
    assert_eq!(counters.by_pod["a"].connections, on_a);
    assert_eq!(counters.by_pod["b"].connections, 200 - on_a);
    assert!((50..150).contains(&on_a), "{on_a}");
    cluster.set(&[]);
    wait_for("no endpoints", || front_end.choose().is_none()).await;
    assert_eq!(front_end.counters().no_endpoint, 1);
}

#[tokio::test]
async fn a_removed_endpoint_loses_its_idle_connections_and_keeps_its_requests() {
    let pod = Pod::start(|mut connection| async move {
        while let Some(head) = connection.head().await {
            if head.starts_with("GET /slow") {
                sleep(Duration::from_millis(250)).await;
            }
            connection.write(OK).await;
        }
    })
    .await;
    let cluster = Cluster::new(&[("a", pod.address)]);
    let front_end = cluster.http();
    let (mut slow, mut quick) = (
        Client::connect(front_end.address()).await,
        Client::connect(front_end.address()).await,
    );
    slow.write("GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await;
    wait_for("the slow request", || pod.heads().len() == 1).await;
    assert_eq!(quick.get("/").await.status, 200);
    cluster.set(&[("a", pod.address, DRAINING)]);
    wait_for("the end of the idle connection", || pod.ended() == 1).await;
    assert_eq!(quick.get("/").await.status, 503);
    assert_eq!(slow.answer().await.status, 200);
    wait_for("the end of the other connection", || pod.ended() == 2).await;
    assert_eq!(pod.connections(), 2);
}

#[tokio::test]
async fn after_lost_history_the_endpoints_are_listed_again() {
    let (a, b) = (address("127.0.0.1:1001"), address("127.0.0.1:1002"));
    let cluster = Cluster::new(&[("a", a)]);
    let front_end = cluster.front_end(FrontEndKind::L4, (0, 0));
    // The follower has had no turn yet: its watch is older than what the store still remembers.
    cluster.set(&[("b", b, READY)]);
    cluster.store.compact();
    chosen(&front_end, Some(b)).await;
    cluster.set(&[("a", a, READY)]);
    chosen(&front_end, Some(a)).await;
}

#[tokio::test]
async fn slices_of_other_services_and_deleted_slices_do_not_count() {
    let a = address("127.0.0.1:1001");
    let cluster = Cluster::new(&[("a", a)]);
    let front_end = cluster.front_end(FrontEndKind::L4, (0, 0));
    let other = json!({
        "metadata": {"name": "api-x1", "namespace": "shop", "labels": {"kubernetes.io/service-name": "api"}},
        "ports": [{"port": 1}],
        "endpoints": [{"addresses": ["127.0.0.9"]}],
    });
    cluster.store.create(Kind::EndpointSlice, other).unwrap();
    let more = json!({
        "metadata": {"name": "web-x2", "namespace": "shop", "labels": {"kubernetes.io/service-name": "web"}},
        "ports": [{"port": 1002}],
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": true}}],
    });
    cluster.store.create(Kind::EndpointSlice, more).unwrap();
    cluster
        .store
        .remove(Kind::EndpointSlice, "shop", "web-x1")
        .unwrap();
    chosen(&front_end, Some(address("127.0.0.1:1002"))).await;
    cluster
        .store
        .remove(Kind::EndpointSlice, "shop", "web-x2")
        .unwrap();
    chosen(&front_end, None).await;
}
