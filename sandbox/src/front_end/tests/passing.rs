//! What passes through the `http` front end, and how.

use tokio::io::AsyncReadExt;

use super::client::Client;
use super::cluster::Cluster;
use super::pod::{OK, Pod};

#[tokio::test]
async fn requests_of_a_client_share_one_connection_to_the_pod() {
    let pod = Pod::answering(OK).await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    let mut client = Client::connect(front_end.address()).await;
    for _ in 0..20 {
        let answer = client.get("/").await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "ok\n"));
        assert!(answer.has("via: 1.1 ingress"));
    }
    assert_eq!((pod.connections(), pod.heads().len()), (1, 20));
    let counters = front_end.counters();
    assert_eq!(
        (
            counters.connections,
            counters.requests,
            counters.by_status[&200]
        ),
        (1, 20, 20)
    );
}

#[tokio::test]
async fn requests_take_turns_among_the_pods() {
    let (a, b) = (Pod::answering(OK).await, Pod::answering(OK).await);
    let front_end = Cluster::new(&[("a", a.address), ("b", b.address)]).http();
    let mut client = Client::connect(front_end.address()).await;
    for _ in 0..10 {
        client.get("/").await;
    }
    assert_eq!((a.heads().len(), b.heads().len()), (5, 5));
}

#[tokio::test]
async fn a_pods_connection_close_is_not_passed_to_the_client() {
    let pod =
        Pod::answering("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    let mut client = Client::connect(front_end.address()).await;
    for _ in 0..3 {
        let answer = client.get("/").await;
        assert_eq!(answer.status, 200);
        assert!(!answer.has("connection: close"), "{}", answer.head);
    }
    assert_eq!(pod.connections(), 3);
}

#[tokio::test]
async fn a_clients_connection_close_ends_its_own_connection_only() {
    let pod = Pod::answering(OK).await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    for _ in 0..3 {
        let mut client = Client::connect(front_end.address()).await;
        client
            .write("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
            .await;
        assert!(client.answer().await.has("connection: close"));
        assert_eq!(client.byte().await, None);
    }
    assert_eq!(pod.connections(), 1);
}

#[tokio::test]
async fn headers_between_two_neighbours_are_not_passed_on() {
    let pod = Pod::answering(
        "HTTP/1.1 200 OK\r\nconnection: x-private\r\nx-private: 1\r\nkeep-alive: timeout=5\r\n\
         x-pod-name: a\r\nserver: app\r\nvia: 1.0 inner\r\ncontent-length: 0\r\n\r\n",
    )
    .await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    let mut client = Client::connect(front_end.address()).await;
    client
        .write("GET /p?q=1 HTTP/1.1\r\nhost: shop.example\r\nconnection: keep-alive, x-hop\r\nx-hop: 1\r\nte: trailers\r\nx-end: 2\r\n\r\n")
        .await;
    let answer = client.answer().await;
    for gone in [
        "x-private: 1",
        "keep-alive: timeout=5",
        "connection: x-private",
    ] {
        assert!(!answer.has(gone), "{gone}");
    }
    for kept in [
        "x-pod-name: a",
        "server: app",
        "via: 1.0 inner",
        "via: 1.1 ingress",
    ] {
        assert!(answer.has(kept), "{kept}: {}", answer.head);
    }
    let head = pod.heads().remove(0);
    assert!(head.starts_with("GET /p?q=1 HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("host: shop.example\r\n") && head.contains("x-end: 2\r\n"),
        "{head}"
    );
    assert!(head.contains("x-forwarded-for: 127.0.0.1\r\n"), "{head}");
    assert!(!head.contains("x-hop") && !head.contains("te:"), "{head}");
}

#[tokio::test]
async fn a_response_is_passed_on_while_it_comes() {
    let pod = Pod::start(|mut connection| async move {
        connection.head().await;
        connection
            .write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            .await;
        // The rest comes only when the client, through the test, has asked for it.
        connection.head().await;
    })
    .await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    let mut client = Client::connect(front_end.address()).await;
    client.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(client.until("first").await.is_some());
}

#[tokio::test]
async fn request_bodies_arrive_as_they_were_sent() {
    let pod = Pod::start(|mut connection| async move {
        while let Some(head) = connection.head().await {
            let mut body = [0; 5];
            if head.contains("transfer-encoding: chunked") {
                connection.stream.read_exact(&mut [0; 3]).await.unwrap();
                connection.stream.read_exact(&mut body).await.unwrap();
                connection.stream.read_exact(&mut [0; 7]).await.unwrap();
            } else {
                connection.stream.read_exact(&mut body).await.unwrap();
            }
            assert_eq!(&body, b"hello");
            connection.write(OK).await;
        }
    })
    .await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    let mut client = Client::connect(front_end.address()).await;
    client
        .write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello")
        .await;
    assert_eq!(client.answer().await.status, 200);
    client
        .write("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        .await;
    assert_eq!(client.answer().await.status, 200);
    assert_eq!(pod.connections(), 1);
}

#[tokio::test]
async fn a_large_body_passes_whole() {
    let pod = Pod::start(|mut connection| async move {
        connection.head().await;
        connection
            .write("HTTP/1.1 200 OK\r\ncontent-length: 500000\r\n\r\n")
            .await;
        for _ in 0..50 {
            connection.write(&"x".repeat(10_000)).await;
        }
        connection.head().await;
    })
    .await;
    let front_end = Cluster::new(&[("a", pod.address)]).http();
    let answer = Client::connect(front_end.address()).await.get("/").await;
    assert!(answer.complete);
    assert_eq!(answer.body.len(), 500_000);
}
