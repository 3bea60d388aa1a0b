//! Where a connection really goes.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;

/// Maps the address that a client asked for to the one that is dialled, at the moment of the connection attempt, as
/// kube-proxy does with a Service's address. Records carry the address that was asked for.
pub trait Dialer: Send + Sync + Debug {
    /// The address to dial instead of `address`. An error ends the attempt with its kind and errno, as if the kernel
    /// had given it: `ECONNREFUSED` where no endpoint is left.
    fn dial(&self, address: SocketAddr) -> io::Result<SocketAddr>;

    /// Whether it always gives the address that it is asked for.
    fn is_direct(&self) -> bool {
        false
    }
}

/// A [`Dialer`]'s word for an address to which no new connection is to be made any more: the attempt is not a failure
/// ([`Outcome::Unrouted`](rollscope_records::Outcome::Unrouted)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the route to the only instance was withdrawn")]
pub struct NoRoute;

impl From<NoRoute> for io::Error {
    fn from(no_route: NoRoute) -> Self {
        Self::other(no_route)
    }
}

/// Dials what was asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Direct;

impl Dialer for Direct {
    fn dial(&self, address: SocketAddr) -> io::Result<SocketAddr> {
        Ok(address)
    }

    fn is_direct(&self) -> bool {
        true
    }
}
