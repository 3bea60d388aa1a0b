//! Each request once, before the load begins: a path that a program does not serve says nothing about its shutdown.

use std::net::SocketAddr;

use rollscope_scenarios::RequestSpec;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::exit::Failure;

/// Bytes of a response that are read to find its status.
const MOST_BYTES: usize = 4096;

/// Tries every path once.
pub(super) async fn all(address: SocketAddr, requests: &[RequestSpec]) -> Result<(), Failure> {
    let mut tried: Vec<&str> = Vec::new();
    for request in requests {
        if !tried.contains(&request.path.as_str()) {
            tried.push(&request.path);
            one(address, request).await?;
        }
    }
    Ok(())
}

async fn one(address: SocketAddr, request: &RequestSpec) -> Result<(), Failure> {
    let what = format!("GET {} on {address}", request.path);
    let answer = timeout(request.deadline, status(address, &request.path)).await;
    match answer {
        Ok(Ok(status)) if request.expects(status) => Ok(()),
        Ok(Ok(status)) => Err(Failure::usage(format!(
            "{what} answered {status} before the load began, expected 2xx; name a path that the program answers with 2xx by --path (and --slow-path)"
        ))),
        Ok(Err(error)) => Err(Failure::environment(format!(
            "{what} failed before the load began: {error}; does the program serve HTTP on PORT?"
        ))),
        Err(_) => Err(Failure::environment(format!(
            "{what} was not answered within {:?} before the load began",
            request.deadline
        ))),
    }
}

/// The status of a response. The rest of it is not waited for.
async fn status(address: SocketAddr, path: &str) -> std::io::Result<u16> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    while answer.len() < MOST_BYTES && !answer.contains(&b'\n') {
        if stream.read_buf(&mut answer).await? == 0 {
            break;
        }
    }
    let line = String::from_utf8_lossy(&answer);
    let status = line.split_ascii_whitespace().nth(1);
    let status = status.and_then(|s| s.parse().ok());
    status
        .filter(|_| line.starts_with("HTTP/"))
        .ok_or_else(|| std::io::Error::other("the answer is not HTTP"))
}
