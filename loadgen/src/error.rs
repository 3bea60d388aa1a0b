//! Why a load cannot start.

use std::path::PathBuf;

/// Why a load cannot start. Nothing has been sent when one of these is returned.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The base URL is not one.
    #[error(
        "load.base_url {url:?}: {problem}; expected for example `https://staging.example.com` or `http://127.0.0.1:8080`"
    )]
    BaseUrl {
        /// The URL, without any user information.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The host does not resolve.
    #[error(
        "load.base_url: the host {host:?} cannot be resolved ({source}); check the name and this machine's DNS"
    )]
    Resolve {
        /// The host.
        host: String,
        /// What the resolver said.
        source: std::io::Error,
    },
    /// The rate cannot be paced.
    #[error(
        "load.rate: {0} requests per second cannot be paced; expected more than 0 and at most 1000000 per second"
    )]
    Rate(f64),
    /// Nothing may be in flight.
    #[error("load.max_in_flight is 0: no request could ever be sent; expected at least 1")]
    NothingInFlight,
    /// There is nothing to send.
    #[error("load.requests is empty: expected at least one request")]
    NoRequests,
    /// A request cannot be sent as it is written.
    #[error("load.requests[{request}]: {problem}")]
    Request {
        /// Its name.
        request: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A header's value comes from an environment variable that is not set.
    #[error(
        "load.requests[{request}].headers.{header}: the environment variable {variable} is not set; set it before the run"
    )]
    MissingVariable {
        /// The request's name.
        request: String,
        /// The header's name.
        header: String,
        /// The variable.
        variable: String,
    },
    /// The pod header is not a header's name.
    #[error("load.pod_header {0:?} is not a header's name; expected for example `x-pod-name`")]
    PodHeader(String),
    /// TLS cannot be set up.
    #[error("TLS could not be set up: {0}")]
    Tls(#[source] rustls::Error),
    /// A file for TLS is not what it should be.
    #[error("load.tls.{key} {path}: {problem}; expected {expected}", path = .path.display(), expected = tls_file(.key))]
    TlsFile {
        /// The scenario's key.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no certificate authority to trust.
    #[error(
        "no trusted certificate authority was found on this machine ({problem}); install the ca-certificates package or point SSL_CERT_FILE to a bundle"
    )]
    Roots {
        /// What was found instead.
        problem: String,
    },
    /// More connections than this process may open.
    #[error(
        "load.max_in_flight {wanted} needs more open files than this process may have ({limit}); raise the limit (ulimit -n) or lower max_in_flight"
    )]
    OpenFiles {
        /// The cap that was asked for.
        wanted: usize,
        /// The hard limit.
        limit: u64,
    },
    /// The process of the journeys could not be started.
    #[error("the process for load.journeys could not be started: {0}")]
    Journeys(#[source] std::io::Error),
    /// The generator's thread could not be set up.
    #[error("the load generator's thread could not be started: {0}")]
    Thread(#[source] std::io::Error),
}

fn tls_file(key: &str) -> &'static str {
    match key {
        "client_key" => "a PEM file with the private key of the client's certificate",
        _ => "a PEM file with at least one certificate",
    }
}
