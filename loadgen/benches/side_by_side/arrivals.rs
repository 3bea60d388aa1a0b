//! A server that writes down when each request arrives, as a process of its own.

use std::io::Write;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_tcp_quickack;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::nginx::{free_port, wait_for};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A running server.
pub(crate) struct Arrivals {
    child: Child,
    port: u16,
}

impl Arrivals {
    /// Starts it and waits until it listens.
    pub(crate) fn start() -> Self {
        let port = free_port();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["arrivals", &port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for(port);
        Self { child, port }
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Ends it; the times of the arrivals in order, ns.
    pub(crate) fn times(mut self) -> Vec<u64> {
        drop(self.child.stdin.take());
        let output = self.child.wait_with_output().unwrap();
        let times = output.stdout.chunks_exact(8);
        let mut times: Vec<u64> = times
            .map(|b| u64::from_le_bytes(b.try_into().unwrap()))
            .collect();
        times.sort_unstable();
        times
    }
}

/// The server: ends when its standard input does, and writes the times of all arrivals to its standard output.
pub(crate) fn serve(args: &[String]) {
    let port: u16 = args[0].parse().unwrap();
    let begun = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (note, mut noted) = mpsc::unbounded_channel();
    let server = async move {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, begun, note.clone()));
        }
    };
    std::thread::spawn(move || runtime.block_on(server));
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line).is_ok_and(|n| n > 0) {}
    let mut bytes = Vec::new();
    while let Ok(at) = noted.try_recv() {
        let at: Duration = at;
        bytes.extend((at.as_nanos() as u64).to_le_bytes());
    }
    std::io::stdout().write_all(&bytes).unwrap();
}

async fn answer(mut stream: TcpStream, begun: Instant, note: mpsc::UnboundedSender<Duration>) {
    let _ = stream.set_nodelay(true);
    let _ = set_tcp_quickack(stream.as_fd(), true);
    let mut bytes = [0; 4096];
    let mut end = 0;
    while let Ok(more @ 1..) = stream.read(&mut bytes[end..]).await {
        let at = begun.elapsed();
        end += more;
        // No tool pipelines: a request is what ends with an empty line.
        if !bytes[..end].ends_with(b"\r\n\r\n") {
            continue;
        }
        end = 0;
        let _ = note.send(at);
        if stream.write_all(RESPONSE).await.is_err() {
            return;
        }
    }
}
