//! The way of one request through the `http` front end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode, Uri, Version};
use hyper::body::Incoming;
use serde_json::json;
use tokio::time::timeout;

use super::counters::Counters;
use super::relay::RelayBody;
use super::routes::Routes;
use super::upstream::{ConnectFailure, Sender, Upstream};
use crate::truth;

/// The status that is counted for a client that left before it had any.
const CLIENT_LEFT: u16 = 499;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// How long the front end waits for a pod.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// For a connection.
    pub(super) connect: Duration,
    /// For the head of the response, and then for each piece of its body.
    pub(super) read: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            read: Duration::from_secs(60),
        }
    }
}

/// A reverse proxy that never sends a request twice.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) routes: Arc<Routes>,
    pub(super) counters: Arc<Counters>,
    pub(super) timeouts: Timeouts,
}

impl Proxy {
    /// Answers a client's request.
    pub(super) async fn handle(
        &self,
        request: Request<Incoming>,
        client: SocketAddr,
    ) -> Response<RelayBody> {
        self.counters.count(|c| c.requests += 1);
        let mut waiting = WaitingClient(Some(&self.counters));
        let mut way = Way::begun(&self.routes, client);
        let response = match self.forward(request, client, &mut way).await {
            Ok(response) => {
                way.status = Some(response.status().as_u16());
                way.how = "status";
                response
            }
            Err(own) => own_response(own),
        };
        drop(way);
        waiting.answered(response.status());
        response
    }

    /// The pod's response, or the status of the front end's own.
    async fn forward(
        &self,
        request: Request<Incoming>,
        client: SocketAddr,
        way: &mut Way<'_>,
    ) -> Result<Response<RelayBody>, StatusCode> {
        let Some(upstream) = self.routes.in_turn() else {
            way.how = "none";
            self.counters.count(|c| c.no_endpoint += 1);
            return Err(StatusCode::SERVICE_UNAVAILABLE);
        };
        way.pod = Some(upstream.name().to_owned());
        way.reused = true;
        self.counters.pod(upstream.name(), |pod| pod.requests += 1);
        let mut request = to_pod(request, client);
        while let Some(sender) = upstream.take_idle() {
            match self.send(&upstream, sender, request).await {
                Ok(response) => return Ok(response),
                // Closed while it was idle, and nothing was written to it.
                Err(Failure::Unsent(unsent)) => request = *unsent,
                Err(Failure::Sent(status)) => {
                    way.how = sent_how(status);
                    return Err(status);
                }
            }
        }
        way.reused = false;
        way.how = "refused";
        let sender = self.connect(&upstream).await.inspect_err(|status| {
            if *status == StatusCode::GATEWAY_TIMEOUT {
                way.how = "timed_out";
            }
        })?;
        way.how = "cut";
        let sent = self.send(&upstream, sender, request).await;
        sent.map_err(|failure| match failure {
            Failure::Unsent(_) => {
                self.counters.pod(upstream.name(), |pod| pod.cut += 1);
                StatusCode::BAD_GATEWAY
            }
            Failure::Sent(status) => {
                way.how = sent_how(status);
                status
            }
        })
    }

    async fn connect(&self, upstream: &Upstream) -> Result<Sender, StatusCode> {
        let connected = upstream.connect(self.timeouts.connect).await;
        self.counters.pod(upstream.name(), |pod| match connected {
            Ok(_) => pod.connections += 1,
            Err(ConnectFailure::Refused) => pod.refused += 1,
            Err(ConnectFailure::TimedOut) => pod.timed_out += 1,
        });
        connected.map_err(|failure| match failure {
            ConnectFailure::Refused => StatusCode::BAD_GATEWAY,
            ConnectFailure::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        })
    }

    async fn send(
        &self,
        upstream: &Arc<Upstream>,
        mut sender: Sender,
        request: Request<Incoming>,
    ) -> Result<Response<RelayBody>, Failure> {
        let read = self.timeouts.read;
        let response = match timeout(read, sender.try_send_request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(mut error)) => {
                return Err(match error.take_message() {
                    Some(request) => Failure::Unsent(Box::new(request)),
                    None => {
                        self.counters.pod(upstream.name(), |pod| pod.cut += 1);
                        Failure::Sent(StatusCode::BAD_GATEWAY)
                    }
                });
            }
            Err(_) => {
                self.counters.pod(upstream.name(), |pod| pod.timed_out += 1);
                return Err(Failure::Sent(StatusCode::GATEWAY_TIMEOUT));
            }
        };
        let (mut head, body) = response.into_parts();
        remove_hop_by_hop(&mut head.headers);
        let via = HeaderValue::from_static("1.1 ingress");
        head.headers.append(header::VIA, via);
        head.version = Version::HTTP_11;
        let (upstream, counters) = (Arc::clone(upstream), Arc::clone(&self.counters));
        let body = RelayBody::relayed(body, sender, upstream, counters, read);
        Ok(Response::from_parts(head, body))
    }
}

/// What the truth log is told of one request, when it is over.
struct Way<'a> {
    routes: &'a Routes,
    client: u16,
    from: u64,
    pod: Option<String>,
    how: &'static str,
    status: Option<u16>,
    reused: bool,
}

impl<'a> Way<'a> {
    fn begun(routes: &'a Routes, client: SocketAddr) -> Self {
        Self {
            routes,
            client: client.port(),
            from: truth::now(),
            pod: None,
            how: "client_left",
            status: None,
            reused: false,
        }
    }
}

impl Drop for Way<'_> {
    fn drop(&mut self) {
        self.routes.truth.note("proxied", || {
            json!({
                "pod": self.pod,
                "fallback": self.routes.is_fallback(),
                "client": self.client,
                "from": self.from,
                "how": self.how,
                "status": self.status,
                "reused": self.reused,
            })
        });
    }
}

fn sent_how(status: StatusCode) -> &'static str {
    match status {
        StatusCode::GATEWAY_TIMEOUT => "timed_out",
        _ => "cut",
    }
}

/// A request that has no response.
enum Failure {
    /// Nothing of it was written.
    Unsent(Box<Request<Incoming>>),
    /// It was sent; the client gets this status.
    Sent(StatusCode),
}

/// Counts the status of a request, whatever becomes of it.
struct WaitingClient<'a>(Option<&'a Counters>);

impl WaitingClient<'_> {
    fn answered(&mut self, status: StatusCode) {
        if let Some(counters) = self.0.take() {
            counters.status(status.as_u16());
        }
    }
}

impl Drop for WaitingClient<'_> {
    fn drop(&mut self) {
        if let Some(counters) = self.0.take() {
            counters.status(CLIENT_LEFT);
        }
    }
}

/// The request as the pod gets it.
fn to_pod(request: Request<Incoming>, client: SocketAddr) -> Request<Incoming> {
    let (mut head, body) = request.into_parts();
    remove_hop_by_hop(&mut head.headers);
    if let Some(authority) = head.uri.authority()
        && !head.headers.contains_key(header::HOST)
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        head.headers.insert(header::HOST, host);
    }
    if let Some(target) = head.uri.path_and_query() {
        head.uri = Uri::from(target.clone());
    }
    if let Ok(ip) = HeaderValue::from_str(&client.ip().to_string()) {
        head.headers.append(FORWARDED_FOR, ip);
    }
    head.version = Version::HTTP_11;
    Request::from_parts(head, body)
}

/// Removes what is between two neighbours only (RFC 9110, 7.6.1).
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in [
        header::CONNECTION,
        header::PROXY_AUTHENTICATE,
        header::PROXY_AUTHORIZATION,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
    ] {
        headers.remove(name);
    }
}

/// A response that no pod made.
fn own_response(status: StatusCode) -> Response<RelayBody> {
    let mut response = Response::new(RelayBody::own(format!("{status}\n")));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::SERVER, HeaderValue::from_static("ingress"));
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, plain);
    response
}
