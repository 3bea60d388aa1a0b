//! Raw requests to an API server, through the kube client.

use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// Longest wait for an answer that is not a stream.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Longest wait for the head of an answer whose body is a stream.
const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// An API server: the client to it, and its name for messages.
#[derive(Clone)]
pub struct ApiServer {
    client: Client,
    name: String,
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Why a request to an API server got no good answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiFailure {
    /// The request could not be made.
    #[error("the request could not be made: {0}")]
    Request(String),
    /// No answer: connection refused, reset, TLS and the like.
    #[error("{0}")]
    Unreachable(String),
    /// No answer in time.
    #[error("no answer within {}", humantime::format_duration(*.0))]
    Timeout(Duration),
    /// An answer with a status that says no.
    #[error("HTTP {code} {reason}: {message}")]
    Status {
        /// HTTP status.
        code: u16,
        /// Machine-readable reason of the `metav1.Status` (`Forbidden`, `Expired` ...); may be empty.
        reason: String,
        /// The server's words.
        message: String,
        /// The header `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// An answer that is not what the Kubernetes API sends.
    #[error("the answer is not what a Kubernetes API server sends: {0}")]
    Malformed(String),
}

impl ApiFailure {
    /// The HTTP status, where there was one.
    pub const fn code(&self) -> Option<u16> {
        match self {
            Self::Status { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// How long the server asked us to wait.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl ApiServer {
    /// An API server behind an existing client. `name` is its URL or context, for messages.
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        Self {
            client,
            name: name.into(),
        }
    }

    /// Its URL or context.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends a request; the answer's body is a stream.
    pub(crate) async fn stream(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Body>, ApiFailure> {
        let sent = tokio::time::timeout(HEAD_WITHIN, self.send(request));
        match sent.await {
            Ok(answer) => answer,
            Err(_) => Err(ApiFailure::Timeout(HEAD_WITHIN)),
        }
    }

    /// Sends a request; the answer is one JSON document.
    pub(crate) async fn json(&self, request: Request<Vec<u8>>) -> Result<Value, ApiFailure> {
        let exchange = async {
            let answer = self.send(request).await?;
            let body = answer.into_body().collect().await.map_err(unreachable)?;
            serde_json::from_slice(&body.to_bytes())
                .map_err(|e| ApiFailure::Malformed(e.to_string()))
        };
        match tokio::time::timeout(ANSWER_WITHIN, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(ApiFailure::Timeout(ANSWER_WITHIN)),
        }
    }

    async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Body>, ApiFailure> {
        let answer = self
            .client
            .send(request.map(Body::from))
            .await
            .map_err(unreachable)?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        Err(status_failure(answer).await)
    }
}

/// The innermost cause is the one that says something (`Connection refused (os error 111)`).
fn unreachable(error: kube::Error) -> ApiFailure {
    let mut words = vec![error.to_string()];
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        let text = cause.to_string();
        if !words.iter().any(|w| w.contains(&text)) {
            words.push(text);
        }
        source = cause.source();
    }
    ApiFailure::Unreachable(words.join(": "))
}

async fn status_failure(answer: Response<Body>) -> ApiFailure {
    let code = answer.status();
    let retry_after = answer
        .headers()
        .get(http::header::RETRY_AFTER)
        .and_then(|v| v.to_str().ok())
        .and_then(|v| v.trim().parse().ok())
        .map(Duration::from_secs);
    let body = match answer.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => Default::default(),
    };
    let mut failure = status_of_body(code.as_u16(), &body);
    if let ApiFailure::Status { retry_after: r, .. } = &mut failure {
        *r = retry_after;
    }
    failure
}

/// Reads a `metav1.Status`; a body that is none is quoted, cut to a line.
pub(crate) fn status_of_body(code: u16, body: &[u8]) -> ApiFailure {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let text = |name: &str| {
        parsed
            .as_ref()
            .and_then(|s| s[name].as_str())
            .map(str::to_owned)
    };
    let standard = StatusCode::from_u16(code)
        .ok()
        .and_then(|c| c.canonical_reason());
    ApiFailure::Status {
        code,
        reason: text("reason").unwrap_or_else(|| standard.unwrap_or_default().to_owned()),
        message: text("message").unwrap_or_else(|| {
            let raw = String::from_utf8_lossy(body);
            raw.lines()
                .next()
                .unwrap_or_default()
                .chars()
                .take(200)
                .collect()
        }),
        retry_after: None,
    }
}
