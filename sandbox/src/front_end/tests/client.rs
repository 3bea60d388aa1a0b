//! A raw HTTP client.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// One connection to a front end.
pub(super) struct Client {
    pub(super) stream: TcpStream,
}

/// What came back for a request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
    /// Whether the body was complete.
    pub(super) complete: bool,
}

impl Answer {
    /// Whether the head has this line, in lower case.
    pub(super) fn has(&self, line: &str) -> bool {
        self.head.to_ascii_lowercase().lines().any(|l| l == line)
    }
}

impl Client {
    pub(super) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        Self { stream }
    }

    pub(super) async fn write(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    pub(super) async fn get(&mut self, path: &str) -> Answer {
        self.write(&format!(
            "GET {path} HTTP/1.1\r\nhost: shop.example\r\n\r\n"
        ))
        .await;
        self.answer().await
    }

    /// The next response.
    pub(super) async fn answer(&mut self) -> Answer {
        let head = self.until("\r\n\r\n").await.expect("a head");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let lower = head.to_ascii_lowercase();
        let mut answer = Answer {
            status,
            head,
            body: String::new(),
            complete: true,
        };
        if lower.contains("transfer-encoding: chunked") {
            answer.complete = self.chunks(&mut answer.body).await.is_some();
        } else {
            let length = lower
                .lines()
                .find_map(|l| l.strip_prefix("content-length: "));
            let length: usize = length.expect("a length").parse().unwrap();
            answer.complete = self.bytes(length, &mut answer.body).await.is_some();
        }
        answer
    }

    async fn chunks(&mut self, body: &mut String) -> Option<()> {
        loop {
            let size = usize::from_str_radix(self.until("\r\n").await?.trim(), 16).unwrap();
            self.bytes(size, body).await?;
            self.until("\r\n").await?;
            if size == 0 {
                return Some(());
            }
        }
    }

    async fn bytes(&mut self, count: usize, to: &mut String) -> Option<()> {
        for _ in 0..count {
            to.push(char::from(self.byte().await?));
        }
        Some(())
    }

    /// Everything up to and with `end`.
    pub(super) async fn until(&mut self, end: &str) -> Option<String> {
        let mut text = String::new();
        while !text.ends_with(end) {
            text.push(char::from(self.byte().await?));
        }
        Some(text)
    }

    /// The next byte; `None` at the end of the connection.
    pub(super) async fn byte(&mut self) -> Option<u8> {
        let read = timeout(Duration::from_secs(20), self.stream.read_u8()).await;
        read.expect("a byte or an end in time").ok()
    }
}
