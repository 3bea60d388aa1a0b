//! TLS for https targets, by rustls with the machine's own certificate authorities.

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::socket::Socket;
use crate::LoadError;
use crate::target::BaseUrl;

/// What a TLS handshake with the target needs.
#[derive(Clone)]
pub(crate) struct Tls {
    connector: TlsConnector,
    server: ServerName<'static>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Tls {
    /// TLS for `base`, trusting the machine's certificate authorities (`SSL_CERT_FILE` and `SSL_CERT_DIR` are
    /// honoured). `None` when the target is plain http.
    pub(crate) fn for_target(base: &BaseUrl) -> Result<Option<Self>, LoadError> {
        if base.tls {
            Self::trusting(base, native_roots()?).map(Some)
        } else {
            Ok(None)
        }
    }

    /// TLS for `base`, trusting `roots`.
    pub(crate) fn trusting(base: &BaseUrl, roots: RootCertStore) -> Result<Self, LoadError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(LoadError::Tls)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let server = ServerName::try_from(base.host.clone()).map_err(|e| LoadError::BaseUrl {
            url: base.authority.clone(),
            problem: format!("the host cannot be a TLS server's name: {e}"),
        })?;
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            server,
        })
    }

    /// Shakes hands on a connected stream.
    pub(super) async fn handshake(
        &self,
        stream: Rc<TcpStream>,
    ) -> io::Result<Box<TlsStream<Socket>>> {
        self.connector
            .connect(self.server.clone(), Socket::new(stream))
            .await
            .map(Box::new)
    }
}

fn native_roots() -> Result<RootCertStore, LoadError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    if usable > 0 {
        return Ok(roots);
    }
    let problem = match found.errors.first() {
        Some(e) => e.to_string(),
        None => "the certificate store is empty".to_owned(),
    };
    Err(LoadError::Roots { problem })
}
