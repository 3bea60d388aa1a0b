//! The application: what is answered to which request.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Incoming};
use tokio::time::sleep;

use super::Subject;
use super::body::{self, AppBody, TrackedBody};
use super::connection::Track;
use super::held;
use super::server::Server;

const POD_NAME: HeaderName = HeaderName::from_static("x-pod-name");

/// The largest request body that is read.
const LARGEST_BODY: usize = 1 << 20;

/// The longest time that a request can ask for.
const LONGEST: Duration = Duration::from_secs(600);

/// How often an event comes where the request does not say.
const EVENTS: Duration = Duration::from_secs(1);

/// How much slower a request is while `slow-start` is slow.
const COLD_PENALTY: Duration = Duration::from_millis(800);

/// Answers one request of a connection.
pub(super) async fn handle(
    track: Arc<Track>,
    request: Request<Incoming>,
) -> Result<Response<TrackedBody>, Infallible> {
    let target = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str());
    let n = track.received(request.method().as_str(), target);
    let server = track.server();
    let head_only = request.method() == Method::HEAD;
    let mut response = if request.uri().path() == "/ws" {
        held::websocket(&track, request)
    } else {
        respond(server, request).await
    };
    if let Ok(name) = HeaderValue::from_str(&server.settings.pod_name) {
        response.headers_mut().insert(POD_NAME, name);
    }
    if server.says_close() && response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    let status = response.status().as_u16();
    Ok(response.map(|full| {
        let sent = if head_only { body::empty() } else { full };
        TrackedBody::new(sent, n, status, Arc::clone(&track))
    }))
}

async fn respond(server: &Arc<Server>, request: Request<Incoming>) -> Response<AppBody> {
    let (head, incoming) = request.into_parts();
    if !incoming.is_end_stream()
        && Limited::new(incoming, LARGEST_BODY)
            .collect()
            .await
            .is_err()
    {
        return text(StatusCode::PAYLOAD_TOO_LARGE, "body too large\n");
    }
    let path = head.uri.path();
    let length = asked_length(head.uri.query());
    if let Some(answer) = health(server, path) {
        return answer;
    }
    if server.settings.subject == Subject::SlowStart
        && server.started.elapsed() < server.settings.slow_start
    {
        sleep(COLD_PENALTY).await;
    }
    match (path, &head.method) {
        ("/", _) => after_query(server, Duration::ZERO).await,
        ("/work", _) => after_query(server, length).await,
        ("/stream", _) => plain(StatusCode::OK, body::stream(length)),
        ("/events", _) => event_stream(server, length),
        ("/jobs", &Method::POST) => enqueue(server, length).await,
        ("/jobs", _) => json(StatusCode::OK, &server.jobs.counts()),
        ("/fail", _) => text(StatusCode::INTERNAL_SERVER_ERROR, "as asked for\n"),
        ("/crash", _) if server.settings.subject == Subject::Crash => super::run::crash(server),
        _ => text(StatusCode::NOT_FOUND, "not found\n"),
    }
}

/// The health checks.
pub(super) fn health(server: &Server, path: &str) -> Option<Response<AppBody>> {
    match path {
        "/healthz/live" => Some(text(StatusCode::OK, "live\n")),
        "/healthz/ready" if server.is_draining() => {
            Some(text(StatusCode::SERVICE_UNAVAILABLE, "draining\n"))
        }
        "/healthz/ready" => Some(text(StatusCode::OK, "ready\n")),
        _ => None,
    }
}

async fn after_query(server: &Server, length: Duration) -> Response<AppBody> {
    if let Err(error) = server.pool.query().await {
        return text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n"));
    }
    if !length.is_zero() {
        sleep(length).await;
    }
    text(StatusCode::OK, "ok\n")
}

fn event_stream(server: &Arc<Server>, every: Duration) -> Response<AppBody> {
    let every = if every.is_zero() { EVENTS } else { every };
    let mut response = plain(StatusCode::OK, held::events(server, every));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

async fn enqueue(server: &Server, length: Duration) -> Response<AppBody> {
    if let Err(error) = server.pool.query().await {
        return text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n"));
    }
    server.jobs.enqueue(length);
    text(StatusCode::ACCEPTED, "queued\n")
}

/// `ms=N` of a query string; zero without it, at most [`LONGEST`].
fn asked_length(query: Option<&str>) -> Duration {
    query
        .unwrap_or_default()
        .split('&')
        .find_map(|pair| pair.strip_prefix("ms=")?.parse().ok())
        .map_or(Duration::ZERO, Duration::from_millis)
        .min(LONGEST)
}

fn text(status: StatusCode, text: impl Into<String>) -> Response<AppBody> {
    plain(status, body::full(text.into()))
}

fn json(status: StatusCode, value: &serde_json::Value) -> Response<AppBody> {
    let mut response = plain(status, body::full(format!("{value}\n")));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn plain(status: StatusCode, body: AppBody) -> Response<AppBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_asked_for_is_read_from_the_query_and_bounded() {
        assert_eq!(asked_length(None), Duration::ZERO);
        assert_eq!(asked_length(Some("a=1&ms=250")), Duration::from_millis(250));
        assert_eq!(asked_length(Some("ms=soon")), Duration::ZERO);
        assert_eq!(asked_length(Some("ms=99999999999")), LONGEST);
    }
}
