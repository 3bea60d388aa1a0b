//! TLS for https targets, by rustls.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rollscope_records::Lane;
use rollscope_scenarios::TlsSpec;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::socket::Socket;
use crate::LoadError;
use crate::target::BaseUrl;

const HTTP_1: &[u8] = b"http/1.1";
const HTTP_2: &[u8] = b"h2";

/// What a TLS handshake with the target needs.
#[derive(Clone)]
pub(crate) struct Tls {
    http1: TlsConnector,
    http2: TlsConnector,
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
    /// TLS for `base` as `spec` says. Without authorities of its own, the machine's are trusted (`SSL_CERT_FILE` and
    /// `SSL_CERT_DIR` are honoured). `None` when the target is plain http.
    pub(crate) fn for_target(base: &BaseUrl, spec: &TlsSpec) -> Result<Option<Self>, LoadError> {
        if !base.tls {
            return Ok(None);
        }
        Self::trusting(base, spec, roots(spec)?).map(Some)
    }

    /// TLS for `base` as `spec` says, trusting `roots`.
    pub(crate) fn trusting(
        base: &BaseUrl,
        spec: &TlsSpec,
        roots: RootCertStore,
    ) -> Result<Self, LoadError> {
        let config = config_trusting(spec, roots)?;
        let name = spec.server_name.as_ref().unwrap_or(&base.host);
        let server = ServerName::try_from(name.clone()).map_err(|e| LoadError::BaseUrl {
            url: base.authority.clone(),
            problem: format!("{name:?} cannot be a TLS server's name: {e}"),
        })?;
        let speaking = |protocol: &[u8]| {
            let mut config = config.clone();
            config.alpn_protocols = vec![protocol.to_vec()];
            TlsConnector::from(Arc::new(config))
        };
        Ok(Self {
            http1: speaking(HTTP_1),
            http2: speaking(HTTP_2),
            server,
        })
    }

    /// Shakes hands on a connected stream, for the protocol of `lane`.
    pub(super) async fn handshake(
        &self,
        socket: Socket,
        lane: Lane,
    ) -> io::Result<Box<TlsStream<Socket>>> {
        let connector = match lane {
            Lane::Http2 => &self.http2,
            Lane::New | Lane::Reused | Lane::Stream | Lane::WebSocket | Lane::Journey => {
                &self.http1
            }
        };
        let stream = connector.connect(self.server.clone(), socket).await?;
        if lane == Lane::Http2 && stream.get_ref().1.alpn_protocol() != Some(HTTP_2) {
            return Err(io::Error::other(
                "the server did not choose h2 (ALPN): it does not speak HTTP/2 here",
            ));
        }
        Ok(Box::new(stream))
    }
}

/// rustls's configuration as `spec` says, for HTTP/1.1.
///
/// # Errors
///
/// A file that cannot be read or used, or no authority at all, with its key.
pub fn tls_config(spec: &TlsSpec) -> Result<ClientConfig, LoadError> {
    let mut config = config_trusting(spec, roots(spec)?)?;
    config.alpn_protocols = vec![HTTP_1.to_vec()];
    Ok(config)
}

fn config_trusting(spec: &TlsSpec, roots: RootCertStore) -> Result<ClientConfig, LoadError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(LoadError::Tls)?
        .with_root_certificates(roots);
    let mut config = match (&spec.client_cert, &spec.client_key) {
        (Some(cert), Some(key)) => config
            .with_client_auth_cert(certificates("client_cert", cert)?, private_key(key)?)
            .map_err(|e| wrong_file("client_key", key, &e))?,
        _ => config.with_no_client_auth(),
    };
    if spec.insecure {
        let anything = Arc::new(AnyCertificate(provider));
        config.dangerous().set_certificate_verifier(anything);
    }
    Ok(config)
}

/// The authorities that `spec` trusts.
fn roots(spec: &TlsSpec) -> Result<RootCertStore, LoadError> {
    match &spec.ca {
        Some(file) => roots_in(file),
        None if spec.insecure => Ok(RootCertStore::empty()),
        None => native_roots(),
    }
}

fn wrong_file(key: &'static str, path: &Path, problem: &dyn std::fmt::Display) -> LoadError {
    LoadError::TlsFile {
        key,
        path: path.to_owned(),
        problem: problem.to_string(),
    }
}

/// The certificates of a PEM file, at least one.
fn certificates(key: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, LoadError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|e| wrong_file(key, path, &e))?
        .collect();
    let found = found.map_err(|e| wrong_file(key, path, &e))?;
    if found.is_empty() {
        return Err(wrong_file(key, path, &"there is no certificate in it"));
    }
    Ok(found)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, LoadError> {
    PrivateKeyDer::from_pem_file(path).map_err(|e| wrong_file("client_key", path, &e))
}

fn roots_in(path: &Path) -> Result<RootCertStore, LoadError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("ca", path)? {
        roots
            .add(certificate)
            .map_err(|e| wrong_file("ca", path, &e))?;
    }
    Ok(roots)
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

/// Takes any certificate (`insecure: true`). The server must still own the one that it shows.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
