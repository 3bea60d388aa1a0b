//! A pod's socket with a script in the place of a server.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// A complete answer.
pub(super) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok\n";

/// A listening pod.
pub(super) struct Pod {
    pub(super) address: SocketAddr,
    seen: Arc<Seen>,
    _serving: JoinSet<()>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    ended: AtomicUsize,
    heads: Mutex<Vec<String>>,
}

/// One connection to a pod.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    seen: Arc<Seen>,
}

impl Connection {
    /// The next request's head; `None` at the end of the connection.
    pub(super) async fn head(&mut self) -> Option<String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match self.stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => {
                    self.seen.ended.fetch_add(1, SeqCst);
                    return None;
                }
            }
        }
        let head = String::from_utf8(head).unwrap();
        self.seen.heads.lock().unwrap().push(head.clone());
        Some(head)
    }

    pub(super) async fn write(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Ends the connection with a reset.
    pub(super) fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }
}

impl Pod {
    /// A pod that runs `script` on each connection.
    pub(super) async fn start<F>(script: impl Fn(Connection) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let counted = Arc::clone(&seen);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.connections.fetch_add(1, SeqCst);
                let seen = Arc::clone(&counted);
                connections.spawn(script(Connection { stream, seen }));
            }
        });
        Self {
            address,
            seen,
            _serving: serving,
        }
    }

    /// A pod that answers every request with the same bytes and keeps its connections.
    pub(super) async fn answering(answer: &'static str) -> Self {
        Self::start(move |mut connection| async move {
            while connection.head().await.is_some() {
                connection.write(answer).await;
            }
        })
        .await
    }

    /// An address on which nothing listens.
    pub(super) async fn refusing() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    }

    /// Connections accepted so far.
    pub(super) fn connections(&self) -> usize {
        self.seen.connections.load(SeqCst)
    }

    /// Connections whose end the pod has read.
    pub(super) fn ended(&self) -> usize {
        self.seen.ended.load(SeqCst)
    }

    /// The heads of all requests so far.
    pub(super) fn heads(&self) -> Vec<String> {
        self.seen.heads.lock().unwrap().clone()
    }
}

/// Waits until `met` holds.
pub(super) async fn wait_for(what: &str, mut met: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !met() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        sleep(Duration::from_millis(2)).await;
    }
}
