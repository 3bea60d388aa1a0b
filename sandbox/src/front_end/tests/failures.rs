//! What a client of the `http` front end sees when pods fail.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, sleep, timeout};

use super::super::FrontEnd;
use super::super::FrontEndError;
use super::client::{Answer, Client};
use super::cluster::Cluster;
use super::pod::{OK, Pod, wait_for};

async fn get(front_end: &FrontEnd) -> Answer {
    Client::connect(front_end.address()).await.get("/").await
}

fn assert_own(answer: &Answer, status: u16) {
    assert_eq!(answer.status, status);
    assert!(answer.has("server: ingress"), "{}", answer.head);
    assert!(!answer.head.contains("via:"), "{}", answer.head);
    assert!(
        answer.body.starts_with(&status.to_string()),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn no_endpoints_is_503() {
    let front_end = Cluster::new(&[]).http();
    assert_own(&get(&front_end).await, 503);
    let counters = front_end.counters();
    assert_eq!((counters.requests, counters.no_endpoint), (1, 1));
    assert_eq!(counters.by_status[&503], 1);
}

#[tokio::test]
async fn a_refused_connection_is_502_and_not_retried_elsewhere() {
    let pod = Pod::answering(OK).await;
    let front_end = Cluster::new(&[("a", Pod::refusing().await), ("b", pod.address)]).http();
    let mut client = Client::connect(front_end.address()).await;
    let mut seen = Vec::new();
    for _ in 0..6 {
        seen.push(client.get("/").await.status);
    }
    seen.sort_unstable();
    assert_eq!(seen, [200, 200, 200, 502, 502, 502]);
    let counters = front_end.counters();
    assert_eq!(
        (counters.by_pod["a"].requests, counters.by_pod["a"].refused),
        (3, 3)
    );
    assert_eq!(
        (
            counters.by_pod["b"].requests,
            counters.by_pod["b"].connections
        ),
        (3, 1)
    );
    assert_eq!((counters.connections, counters.requests), (1, 6));
}

#[tokio::test]
async fn an_end_before_the_head_is_502() {
    let pod = Pod::start(|mut connection| async move {
        connection.head().await;
    })
    .await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    assert_own(&get(&front_end).await, 502);
    assert_eq!(pod.heads().len(), 1);
    assert_eq!(
        (
            front_end.counters().by_pod["a"].cut,
            front_end.counters().by_pod["a"].truncated
        ),
        (1, 0)
    );
}

#[tokio::test]
async fn a_reset_before_the_head_is_502() {
    let pod = Pod::start(|mut connection| async move {
        connection.head().await;
        connection.reset();
    })
    .await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    assert_own(&get(&front_end).await, 502);
    assert_eq!(front_end.counters().by_pod["a"].cut, 1);
}

#[tokio::test]
async fn a_head_cut_in_the_middle_is_502() {
    let pod = Pod::start(|mut connection| async move {
        connection.head().await;
        connection.write("HTTP/1.1 200 OK\r\ncontent-le").await;
    })
    .await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    assert_own(&get(&front_end).await, 502);
}

async fn truncated_by(begin: &'static str, reset: bool) {
    let pod = Pod::start(move |mut connection| async move {
        connection.head().await;
        connection.write(begin).await;
        if reset {
            // What was written must not be lost with the reset.
            sleep(Duration::from_millis(50)).await;
            connection.reset();
        }
    })
    .await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    let answer = get(&front_end).await;
    assert_eq!(
        (answer.status, answer.body.as_str(), answer.complete),
        (200, "part", false)
    );
    assert!(answer.has("via: 1.1 ingress"));
    let counters = front_end.counters();
    assert_eq!(counters.by_status[&200], 1);
    assert_eq!(
        (counters.by_pod["a"].cut, counters.by_pod["a"].truncated),
        (1, 1)
    );
}

#[tokio::test]
async fn a_body_cut_short_of_its_length_is_truncated_for_the_client() {
    truncated_by("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart", false).await;
    truncated_by("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart", true).await;
}

#[tokio::test]
async fn a_chunked_body_cut_before_its_last_chunk_is_truncated_for_the_client() {
    truncated_by(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n",
        false,
    )
    .await;
    truncated_by(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n",
        true,
    )
    .await;
}

#[tokio::test]
async fn a_pod_that_does_not_answer_in_time_is_504() {
    let pod = Pod::start(|mut connection| async move {
        connection.head().await;
        connection.head().await;
    })
    .await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    let begun = Instant::now();
    assert_own(&get(&front_end).await, 504);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert_eq!(front_end.counters().by_pod["a"].timed_out, 1);
    wait_for("the end of the pod's connection", || pod.ended() == 1).await;
}

#[tokio::test]
async fn a_body_that_stalls_is_truncated_at_the_read_timeout() {
    let pod = Pod::start(|mut connection| async move {
        connection.head().await;
        connection
            .write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart")
            .await;
        connection.head().await;
    })
    .await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    let answer = get(&front_end).await;
    assert_eq!(
        (answer.status, answer.body.as_str(), answer.complete),
        (200, "part", false)
    );
    assert_eq!(front_end.counters().by_pod["a"].timed_out, 1);
}

#[tokio::test]
async fn a_pod_that_accepts_no_connection_is_504() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    // Connections that nobody accepts, until the kernel answers no more.
    let mut waiting = Vec::new();
    while let Ok(connected) = timeout(Duration::from_millis(200), TcpStream::connect(address)).await
    {
        waiting.push(connected.unwrap());
        assert!(waiting.len() < 100, "the backlog never fills");
    }
    let front_end = Cluster::new(&[("a", address)]).http();
    assert_own(&get(&front_end).await, 504);
    assert_eq!(front_end.counters().by_pod["a"].timed_out, 1);
}

#[tokio::test]
async fn a_reused_connection_that_dies_under_a_request_is_502_without_a_retry() {
    let pod = Pod::start(|mut connection| async move {
        connection.head().await;
        connection.write(OK).await;
        connection.head().await;
    })
    .await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    let mut client = Client::connect(front_end.address()).await;
    assert_eq!(client.get("/first").await.status, 200);
    assert_own(&client.get("/second").await, 502);
    assert_eq!((pod.connections(), pod.heads().len()), (1, 2));
    assert_eq!(client.get("/third").await.status, 200);
    assert_eq!(pod.connections(), 2);
}

#[tokio::test]
async fn a_pooled_connection_known_to_be_closed_is_not_used() {
    let pod = Pod::start(|mut connection| async move {
        connection.head().await;
        connection.write(OK).await;
    })
    .await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    let mut client = Client::connect(front_end.address()).await;
    for _ in 0..5 {
        assert_eq!(client.get("/").await.status, 200);
        // The end of the pod's connection is on its way to the front end.
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(front_end.counters().by_status[&200], 5);
    assert_eq!(pod.connections(), 5);
}

#[tokio::test]
async fn a_client_that_leaves_is_499_and_ends_the_pods_connection() {
    let pod = Pod::start(|mut connection| async move {
        connection.head().await;
        connection.head().await;
    })
    .await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    let mut client = Client::connect(front_end.address()).await;
    client.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    wait_for("the request at the pod", || pod.heads().len() == 1).await;
    drop(client);
    wait_for("the end of the pod's connection", || pod.ended() == 1).await;
    assert_eq!(front_end.counters().by_status[&499], 1);
}

#[tokio::test]
async fn an_address_in_use_is_named_with_the_service() {
    let cluster = Cluster::new(&[]);
    let first = cluster.http();
    let again = FrontEnd::start(
        rollscope_scenarios::FrontEnd::Http,
        cluster.store.clone(),
        "shop",
        "web",
        first.address(),
        rollscope_scenarios::DurationRange {
            min: Duration::ZERO,
            max: Duration::ZERO,
        },
        1,
    );
    let error = again.unwrap_err();
    assert!(matches!(&error, FrontEndError::Listen { address, .. } if *address == first.address()));
    assert!(
        error
            .to_string()
            .contains("service \"web\" cannot listen on 127.0.0.1:"),
        "{error}"
    );
}

#[tokio::test]
async fn a_stopped_front_end_refuses_and_ends_its_connections() {
    let pod = Pod::answering(OK).await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    let address = front_end.address();
    let mut client = Client::connect(address).await;
    assert_eq!(client.get("/").await.status, 200);
    front_end.stop().await;
    assert!(TcpStream::connect(address).await.is_err());
    assert_eq!(client.stream.read(&mut [0; 1]).await.unwrap_or(0), 0);
    wait_for("the end of the pod's connection", || pod.ended() == 1).await;
}

#[tokio::test]
async fn a_dropped_front_end_refuses() {
    let front_end = Cluster::new(&[]).http();
    let address = front_end.address();
    drop(front_end);
    let deadline = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(address).await.is_ok() {
        assert!(Instant::now() < deadline, "still listening");
        sleep(Duration::from_millis(2)).await;
    }
}
