//! The way from the Service's address to a pod, chosen when a connection is made, as kube-proxy does it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rollscope_loadgen::{Dialer, NoRoute};
use rollscope_sandbox::front_end::FrontEnd;

/// Dials what an `l4` front end chooses.
#[derive(Debug)]
pub(crate) struct ThroughFrontEnd(pub(crate) Arc<FrontEnd>);

impl Dialer for ThroughFrontEnd {
    fn dial(&self, _service: SocketAddr) -> io::Result<SocketAddr> {
        // Without an endpoint kube-proxy rejects: the client sees a refused connection.
        self.0
            .choose()
            .ok_or_else(|| io::Error::from_raw_os_error(ECONNREFUSED))
    }
}

/// Dials the pod itself, as long as its endpoint is routed to. Then a client would have got another instance.
#[derive(Debug)]
pub(crate) struct WhileRouted(pub(crate) Arc<FrontEnd>);

impl Dialer for WhileRouted {
    fn dial(&self, pod: SocketAddr) -> io::Result<SocketAddr> {
        match self.0.choose() {
            Some(_) => Ok(pod),
            None => Err(NoRoute.into()),
        }
    }
}

/// Connection refused, on Linux.
const ECONNREFUSED: i32 = 111;
