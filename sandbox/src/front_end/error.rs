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
    /// The program of the front end is not installed.
    #[error(
        "the front end {program} is not installed: install it (Debian's package is {package}), or choose another front_end"
    )]
    Missing {
        /// The program.
        program: &'static str,
        /// Debian's package of it.
        package: &'static str,
    },
    /// The program did not start.
    #[error("the front end {program} did not start: {said}")]
    Program {
        /// The program.
        program: &'static str,
        /// What was wrong, in its own words where it had some.
        said: String,
    },
}
