//! The client's side of the `http` front end: its listener and its connections.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::proxy::Proxy;

/// Connections that the kernel holds until they are accepted.
const BACKLOG: u32 = 1024;

/// Opens the listener.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves clients for as long as it is polled. Dropped, it drops every connection.
pub(super) async fn serve(listener: TcpListener, proxy: Arc<Proxy>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, client)) => {
                    proxy.counters.count(|c| c.connections += 1);
                    connections.spawn(connection(stream, client, Arc::clone(&proxy)));
                }
                // No file descriptors, or a connection that died in the backlog: what listens must not spin.
                Err(_) => sleep(Duration::from_millis(5)).await,
            },
            Some(_) = connections.join_next() => (),
        }
    }
}

async fn connection(stream: TcpStream, client: SocketAddr, proxy: Arc<Proxy>) {
    // Without it only latency suffers.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let proxy = Arc::clone(&proxy);
        async move { Ok::<_, Infallible>(proxy.handle(request, client).await) }
    });
    // An error is the client's end of the connection, or a response that was cut: the client sees it, and the
    // counters have it.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
