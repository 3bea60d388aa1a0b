//! A JSON document with a list of jobs' events.

use std::net::SocketAddr;
use std::sync::Arc;
use std::{fmt, io};

use http::header::{ACCEPT, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rollscope_scenarios::JobFields;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::{PATIENCE, Unread};

/// The longest document that is read, bytes.
const LONGEST: usize = 32 << 20;

/// Where the events are, in a document that is asked for by GET, each time on a connection of its own: one that waited
/// for the next time would be one more that a shutdown has to deal with.
#[derive(Debug)]
pub struct Document {
    url: Uri,
    headers: HeaderMap,
    list: String,
    fields: JobFields,
    tls: Option<ClientConfig>,
    route: Option<Route>,
}

/// Gives the address to ask instead of the URL's own, each time.
pub struct Route(Box<dyn Fn() -> io::Result<SocketAddr> + Send + Sync>);

impl Route {
    /// The route that `address` gives.
    pub fn new(address: impl Fn() -> io::Result<SocketAddr> + Send + Sync + 'static) -> Self {
        Self(Box::new(address))
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Route")
    }
}

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
enum DocumentError {
    #[error("cannot connect: {0}")]
    Connect(#[from] io::Error),
    #[error("{0}")]
    Exchange(#[from] hyper::Error),
    #[error("no answer within {PATIENCE:?}")]
    Silent,
    #[error("it answered {0}, expected 200")]
    Status(u16),
    #[error(
        "its answer broke off, or is longer than {LONGEST} bytes (ask for newer events only): {0}"
    )]
    Body(Box<dyn std::error::Error + Send + Sync>),
    #[error("its answer is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("there is no list at {0:?} in its answer (jobs.http.list)")]
    NoList(String),
}

impl Document {
    /// The document at `url`, with these headers; `list` and `fields` say where the events are in it. `tls`: for an
    /// `https` URL.
    ///
    /// # Errors
    ///
    /// A URL or a header that cannot be sent, in words.
    pub fn new(
        url: &str,
        headers: &[(String, String)],
        (list, fields): (&str, &JobFields),
        tls: Option<ClientConfig>,
    ) -> Result<Self, String> {
        let uri = url.parse::<Uri>().ok().filter(|u| u.authority().is_some());
        let uri = uri.ok_or_else(|| "the URL of jobs.http cannot be asked for".to_owned())?;
        let mut sent = HeaderMap::new();
        sent.insert(ACCEPT, HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            let key = HeaderName::try_from(name).ok();
            let value = HeaderValue::try_from(value).ok();
            let (Some(key), Some(mut value)) = (key, value) else {
                return Err(format!("the header {name:?} of jobs.http cannot be sent"));
            };
            value.set_sensitive(true);
            sent.insert(key, value);
        }
        Ok(Self {
            url: uri,
            headers: sent,
            list: list.to_owned(),
            fields: fields.clone(),
            tls,
            route: None,
        })
    }

    /// The same, asked at another address than its URL's, in plain HTTP.
    pub fn by(mut self, route: Route) -> Self {
        self.route = Some(route);
        self
    }

    /// Every event that is there.
    pub(super) async fn read(&mut self) -> Result<Vec<String>, Unread> {
        let read = timeout(PATIENCE, self.events()).await;
        let read = read.unwrap_or(Err(DocumentError::Silent));
        read.map_err(|error| Unread {
            why: format!(
                "the document {}: {error}",
                rollscope_scenarios::redacted_path(&self.url.to_string())
            ),
            missing: false,
        })
    }

    async fn events(&self) -> Result<Vec<String>, DocumentError> {
        let stream = self.connect().await?;
        let text = match &self.tls {
            Some(tls) => {
                let host = self.host().trim_matches(['[', ']']).to_owned();
                let host = ServerName::try_from(host).map_err(io::Error::other)?;
                let connector = TlsConnector::from(Arc::new(tls.clone()));
                self.exchange(connector.connect(host, stream).await?)
                    .await?
            }
            None => self.exchange(stream).await?,
        };
        events_in(&serde_json::from_slice(&text)?, &self.list, &self.fields)
    }

    fn host(&self) -> &str {
        self.url.host().unwrap_or_default()
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        if let Some(Route(address)) = &self.route {
            return TcpStream::connect(address()?).await;
        }
        let usual = if self.tls.is_some() { 443 } else { 80 };
        let port = self.url.port_u16().unwrap_or(usual);
        TcpStream::connect((self.host().trim_matches(['[', ']']), port)).await
    }

    /// Asks on a connection for the document's text.
    async fn exchange<S>(&self, stream: S) -> Result<Bytes, DocumentError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends with its sender; what goes wrong with it is the request's error.
        tokio::spawn(connection);
        let mut request = Request::new(Empty::<Bytes>::new());
        let path = self.url.path_and_query().map_or("/", |p| p.as_str());
        *request.uri_mut() = Uri::try_from(path).unwrap_or_default();
        *request.headers_mut() = self.headers.clone();
        let host = self.url.authority().map_or("", |a| a.as_str());
        if let Ok(host) = HeaderValue::try_from(host) {
            request.headers_mut().entry(HOST).or_insert(host);
        }
        let answer = sender.send_request(request).await?;
        if answer.status().as_u16() != 200 {
            return Err(DocumentError::Status(answer.status().as_u16()));
        }
        let body = Limited::new(answer.into_body(), LONGEST).collect().await;
        Ok(body.map_err(DocumentError::Body)?.to_bytes())
    }
}

/// The events of a document, in the shape of a recording's lines.
fn events_in(
    document: &Value,
    list: &str,
    fields: &JobFields,
) -> Result<Vec<String>, DocumentError> {
    let found = document.pointer(list).and_then(Value::as_array);
    let found = found.ok_or_else(|| DocumentError::NoList(list.to_owned()))?;
    Ok(found.iter().filter_map(|e| event(e, fields)).collect())
}

/// An element without a key is no event.
fn event(element: &Value, fields: &JobFields) -> Option<String> {
    if let Some(key) = text_of(element) {
        return Some(key);
    }
    let at = |pointer: &str| element.pointer(pointer);
    let mut own = Map::new();
    own.insert("job".to_owned(), Value::String(text_of(at(&fields.job)?)?));
    for (name, pointer) in [("event", &fields.event), ("pod", &fields.pod)] {
        let text = at(pointer).and_then(text_of);
        own.extend(text.map(|t| (name.to_owned(), Value::String(t))));
    }
    let time = at(&fields.t).filter(|t| t.is_number() || t.is_string());
    own.extend(time.map(|t| ("t".to_owned(), t.clone())));
    Some(Value::Object(own).to_string())
}

/// A text, or a number as one.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use rustls::pki_types::PrivatePkcs8KeyDer;
    use rustls::{RootCertStore, ServerConfig};
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    fn fields(job: &str, event: &str, pod: &str, t: &str) -> JobFields {
        let [job, event, pod, t] = [job, event, pod, t].map(str::to_owned);
        JobFields { job, event, pod, t }
    }

    fn usual() -> JobFields {
        fields("/job", "/event", "/pod", "/t")
    }

    #[test]
    fn elements_are_read_where_the_scenario_says_and_others_of_their_fields_are_left_out() {
        let document = json!({ "items": [
            { "id": 7, "state": { "name": "done" }, "worker": "web-1", "at": "2026-12-01T09:00:00.5Z", "secret": "x" },
            { "id": "8", "state": null },
            { "state": { "name": "done" } },
            "9",
        ] });
        let own = fields("/id", "/state/name", "/worker", "/at");
        let events = events_in(&document, "/items", &own).unwrap();
        let parsed: Vec<Value> = events[..2]
            .iter()
            .map(|e| serde_json::from_str(e).unwrap())
            .collect();
        assert_eq!(
            parsed,
            [
                json!({ "job": "7", "event": "done", "pod": "web-1", "t": "2026-12-01T09:00:00.5Z" }),
                json!({ "job": "8" }),
            ]
        );
        assert_eq!(events[2..], ["9"]);
    }

    #[test]
    fn a_document_without_the_list_is_told_by_its_pointer() {
        let error = events_in(&json!({}), "/items", &usual()).unwrap_err();
        assert!(error.to_string().contains("\"/items\""), "{error}");
    }

    /// Reads once from a server that answers with `answer`; what it was asked, too.
    async fn asked(answer: &'static str) -> (Result<Vec<String>, Unread>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let headers = [("authorization".to_owned(), "Bearer s3cret".to_owned())];
        let url = "http://10.0.0.7:80/jobs?since=1h";
        let document = Document::new(url, &headers, ("", &usual()), None).unwrap();
        let mut document = document.by(Route::new(move || Ok(address)));
        assert!(!format!("{document:?}").contains("s3cret"));
        (document.read().await, server.await.unwrap())
    }

    #[tokio::test]
    async fn a_document_is_asked_for_with_its_headers() {
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n[\"7-1\"]";
        let (events, request) = asked(answer).await;
        assert_eq!(events.unwrap(), ["7-1"]);
        assert!(
            request.starts_with("GET /jobs?since=1h HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(request.contains("host: 10.0.0.7:80\r\n"), "{request}");
        assert!(
            request.contains("authorization: Bearer s3cret"),
            "{request}"
        );
    }

    #[tokio::test]
    async fn a_document_over_tls_is_only_taken_from_who_proves_its_name() {
        let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = own.signing_key.serialize_der();
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![own.cert.der().clone()],
                PrivatePkcs8KeyDer::from(key).into(),
            )
            .unwrap();
        let trusting = |roots: RootCertStore| {
            ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots)
                .with_no_client_auth()
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/jobs", listener.local_addr().unwrap());
        let acceptor = TlsAcceptor::from(Arc::new(server));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    continue;
                };
                let _ = stream.read(&mut [0; 4096]).await;
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n[\"7-1\"]";
                stream.write_all(answer).await.unwrap();
                let _ = stream.shutdown().await;
            }
        });
        let mut roots = RootCertStore::empty();
        roots.add(own.cert.der().clone()).unwrap();
        let asked = async |roots: RootCertStore| {
            let document = Document::new(&url, &[], ("", &usual()), Some(trusting(roots)));
            document.unwrap().read().await
        };
        assert_eq!(asked(roots).await.unwrap(), ["7-1"]);
        let refused = asked(RootCertStore::empty()).await.unwrap_err().why;
        assert!(refused.contains("certificate"), "{refused}");
    }

    #[tokio::test]
    async fn an_answer_that_is_none_is_told_with_its_address_and_brings_nothing_to_an_end() {
        for (answer, told) in [
            (
                "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n",
                "answered 503",
            ),
            (
                "HTTP/1.1 302 Off\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n",
                "answered 302",
            ),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
                "is not JSON",
            ),
        ] {
            let unread = asked(answer).await.0.unwrap_err();
            assert!(
                unread.why.contains(told) && unread.why.contains("/jobs"),
                "{}",
                unread.why
            );
            assert!(!unread.missing);
        }
    }
}
