//! Why a front end did not start.

use std::io;
use std::net::SocketAddr;

/// A front end could not start.
#[derive(Debug, thiserror::Error)]
pub enum FrontEndError {
    /// The `http` front end cannot listen.
    #[error(
        "the front end of service {service:?} cannot listen on {address}: {source}: \
         free the address or choose another port"
    )]
    Listen {
        /// The Service.
        service: String,
        /// Where it was to listen.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}
