//! Raw sockets that misbehave: the witness of what became of each try.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// What an upstream does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    Answer,
    Answer503,
    /// Closes once it has read the request.
    Close,
    /// Closes with unread bytes, which the kernel answers with a reset.
    Reset,
    /// Closes in the middle of the body.
    Truncate,
    /// Holds the request for longer than a balancer waits.
    Hang,
}

/// An upstream, which lives as long as the test's process.
#[derive(Debug, Clone)]
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    /// Connections on which a request began.
    seen: Arc<AtomicUsize>,
}

impl Upstream {
    pub(crate) fn new(does: Does) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let upstream = Self {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
        };
        let seen = Arc::clone(&upstream.seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || serve(stream, does, &seen));
            }
        });
        upstream
    }

    pub(crate) fn seen(&self) -> usize {
        self.seen.load(SeqCst)
    }
}

/// An address where nothing listens.
pub(crate) fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

fn serve(mut stream: TcpStream, does: Does, seen: &AtomicUsize) {
    let mut byte = [0];
    if stream.read(&mut byte).unwrap_or(0) == 0 {
        return;
    }
    seen.fetch_add(1, SeqCst);
    if does == Does::Reset {
        return;
    }
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    let say = |status: &str, length: usize, body: &str| {
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
    };
    let answer = match does {
        Does::Answer => say("200 OK", 3, "ok\n"),
        Does::Answer503 => say("503 Service Unavailable", 5, "busy\n"),
        Does::Truncate => say("200 OK", 100_000, &"x".repeat(20_000)),
        Does::Hang => {
            std::thread::sleep(Duration::from_secs(4));
            return;
        }
        Does::Close | Does::Reset => return,
    };
    // The balancer may have left.
    let _ = stream.write_all(answer.as_bytes());
}
