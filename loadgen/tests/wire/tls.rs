//! TLS as the scenario says: authorities, client certificates, names, and what goes wrong with them.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rollscope_loadgen::{Direct, LoadConfig, RunningLoad};
use rollscope_records::{ConnectionRecord, Lane, Outcome, Phase, RequestRecord, RunClock};
use rollscope_scenarios::TlsSpec;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::harness::{Sink, ended, get, load, start};

type Own = CertifiedKey<KeyPair>;

/// A certificate for `name`, signed by itself.
fn own(name: &str) -> Own {
    generate_simple_self_signed([name.to_owned()]).unwrap()
}

fn key(own: &Own) -> PrivateKeyDer<'static> {
    PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()))
}

/// A server on loopback that shows `own` and asks for the certificate of `client`, if there is one. It speaks what
/// `alpn` says.
fn server(own: &Own, client: Option<&Own>, alpn: &[&str]) -> String {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match client {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let mut roots = RootCertStore::empty();
            roots.add(client.cert.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let mut config = builder
        .with_single_cert(vec![own.cert.der().clone()], key(own))
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|p| p.as_bytes().to_vec()).collect();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || serve(listener, TlsAcceptor::from(Arc::new(config))));
    format!("https://{address}")
}

fn serve(listener: std::net::TcpListener, acceptor: TlsAcceptor) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        listener.set_nonblocking(true).unwrap();
        let listener = TcpListener::from_std(listener).unwrap();
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let answer = service_fn(|_: hyper::Request<Incoming>| async {
                    let body = Full::new(Bytes::from_static(b"ok"));
                    Ok::<_, Infallible>(Response::new(body))
                });
                let io = TokioIo::new(stream);
                let _ = if is_h2 {
                    http2::Builder::new(TokioExecutor::new())
                        .serve_connection(io, answer)
                        .await
                } else {
                    http1::Builder::new().serve_connection(io, answer).await
                };
            });
        }
    });
}

fn pem(dir: &Path, name: &str, label: &str, der: &[u8]) -> PathBuf {
    let path = dir.join(name);
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    let text = format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        lines.join("\n")
    );
    std::fs::write(&path, text).unwrap();
    path
}

fn certificate(dir: &Path, own: &Own) -> PathBuf {
    pem(dir, "cert.pem", "CERTIFICATE", own.cert.der())
}

/// Sends two requests on `lane`; the record of the second one.
fn request(url: &str, lane: Lane, tls: TlsSpec) -> (RequestRecord, ConnectionRecord) {
    let mut load = load(20.0, vec![get(lane)]);
    load.requests[0].deadline = Duration::from_secs(3);
    load.tls = tls;
    let running = start(url, load, Arc::new(Direct));
    running.wait(|s| ended(s) >= 2);
    let mut run = running.stop(Duration::from_secs(5));
    (run.requests.remove(1), run.connections.remove(0))
}

fn ok(url: &str, lane: Lane, tls: TlsSpec) -> ConnectionRecord {
    let (request, connection) = request(url, lane, tls);
    assert_eq!(request.outcome, Outcome::Ok, "{request:?}");
    assert!(connection.secured >= connection.established && connection.secured.is_some());
    connection
}

fn refused(url: &str, tls: TlsSpec, reason: &str) {
    let (request, connection) = request(url, Lane::New, tls);
    assert_eq!(
        (request.outcome, request.phase),
        (Outcome::Tls, Phase::Tls),
        "{request:?}"
    );
    let detail = request.detail.unwrap();
    assert!(detail.contains(reason), "{detail}");
    assert_eq!(connection.detail, Some(detail));
    assert_eq!(connection.secured, None);
}

#[test]
fn a_servers_own_authority_is_trusted_when_the_scenario_names_it_and_only_then() {
    let (dir, own) = (tempfile::tempdir().unwrap(), own("127.0.0.1"));
    let url = server(&own, None, &["http/1.1"]);
    let ca = Some(certificate(dir.path(), &own));
    let trusting = TlsSpec {
        ca: ca.clone(),
        ..TlsSpec::default()
    };
    for lane in [Lane::New, Lane::Reused] {
        ok(&url, lane, trusting.clone());
    }
    refused(&url, TlsSpec::default(), "UnknownIssuer");
    let insecure = TlsSpec {
        insecure: true,
        ..TlsSpec::default()
    };
    ok(&url, Lane::New, insecure);
}

#[test]
fn the_name_that_is_proved_can_be_another_than_the_hosts() {
    let (dir, own) = (tempfile::tempdir().unwrap(), own("shop.internal"));
    let url = server(&own, None, &[]);
    let ca = Some(certificate(dir.path(), &own));
    let named = TlsSpec {
        ca: ca.clone(),
        server_name: Some("shop.internal".to_owned()),
        ..TlsSpec::default()
    };
    ok(&url, Lane::New, named);
    let unnamed = TlsSpec {
        ca,
        ..TlsSpec::default()
    };
    refused(&url, unnamed, "not valid for name");
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_it() {
    let (dir, own, client) = (
        tempfile::tempdir().unwrap(),
        own("127.0.0.1"),
        self::own("client"),
    );
    let url = server(&own, Some(&client), &[]);
    let anonymous = TlsSpec {
        ca: Some(certificate(dir.path(), &own)),
        ..TlsSpec::default()
    };
    let der = client.signing_key.serialize_der();
    let known = TlsSpec {
        client_cert: Some(pem(
            dir.path(),
            "client.pem",
            "CERTIFICATE",
            client.cert.der(),
        )),
        client_key: Some(pem(dir.path(), "key.pem", "PRIVATE KEY", &der)),
        ..anonymous.clone()
    };
    ok(&url, Lane::New, known);
    let (request, _) = request(&url, Lane::New, anonymous);
    // With TLS 1.3 the client has sent its request before it hears of it.
    assert_eq!(request.outcome, Outcome::Tls, "{request:?}");
}

#[test]
fn http2_is_agreed_on_by_alpn_or_not_spoken() {
    let (dir, own) = (tempfile::tempdir().unwrap(), own("127.0.0.1"));
    let tls = TlsSpec {
        ca: Some(certificate(dir.path(), &own)),
        ..TlsSpec::default()
    };
    let both = server(&own, None, &["h2", "http/1.1"]);
    let shared = ok(&both, Lane::Http2, tls.clone());
    assert!(shared.requests >= 2);
    ok(&both, Lane::Reused, tls.clone());
    let without_alpn = server(&own, None, &[]);
    let (request, _) = request(&without_alpn, Lane::Http2, tls.clone());
    assert_eq!((request.outcome, request.phase), (Outcome::Tls, Phase::Tls));
    let detail = request.detail.unwrap();
    assert!(detail.contains("did not choose h2"), "{detail}");
}

#[test]
fn files_that_are_none_are_refused_before_any_load() {
    let (dir, own) = (tempfile::tempdir().unwrap(), own("127.0.0.1"));
    let good = certificate(dir.path(), &own);
    let garbage = dir.path().join("garbage.pem");
    std::fs::write(&garbage, "this is not PEM").unwrap();
    let missing = dir.path().join("missing.pem");
    let spec = |ca: &Path, cert: &Path, key: &Path| TlsSpec {
        ca: Some(ca.to_owned()),
        client_cert: Some(cert.to_owned()),
        client_key: Some(key.to_owned()),
        ..TlsSpec::default()
    };
    for (tls, key, file) in [
        (spec(&garbage, &good, &good), "ca", &garbage),
        (spec(&missing, &good, &good), "ca", &missing),
        (spec(&good, &garbage, &good), "client_cert", &garbage),
        (spec(&good, &good, &garbage), "client_key", &garbage),
        (spec(&good, &good, &good), "client_key", &good),
    ] {
        let mut load = load(1.0, vec![get(Lane::New)]);
        load.tls = tls;
        let error = RunningLoad::start(LoadConfig {
            load,
            base_url: "https://127.0.0.1:1".to_owned(),
            env: Box::new(|_| None),
            clock: RunClock::start(),
            recorder: Arc::<Sink>::default(),
            dialer: Arc::new(Direct),
            share: None,
            program: None,
        });
        let error = error.unwrap_err().to_string();
        let expected = format!("load.tls.{key} {}", file.display());
        assert!(error.starts_with(&expected), "{error}");
    }
}
