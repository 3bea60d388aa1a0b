//! One GET, as probes and hooks send it.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, header};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::HTTPGetAction;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use tokio::net::TcpStream;
use tokio::time::Duration;

use super::pod::Pod;
use k8s_openapi::api::core::v1::Container;

/// Where a probe or hook of a container goes. The container's first declared port stands for the port that the sandbox
/// gave it; with none declared every port does. Another declared port is taken as it is.
pub(super) fn port(pod: &Pod, container: &Container, asked: &IntOrString) -> Result<u16, String> {
    let own = pod.ports.get(&container.name).copied().unwrap_or(0);
    let declared = container.ports.as_deref().unwrap_or_default();
    let index = declared.iter().position(|p| match asked {
        IntOrString::Int(n) => p.container_port == *n,
        IntOrString::String(name) => p.name.as_ref() == Some(name),
    });
    match (index, asked) {
        (Some(0), _) => Ok(own),
        (Some(i), _) => as_port(declared[i].container_port),
        (None, IntOrString::Int(_)) if declared.is_empty() => Ok(own),
        (None, IntOrString::Int(n)) => as_port(*n),
        (None, IntOrString::String(name)) => name.parse().map_err(|_| {
            format!(
                "couldn't find port {name:?} in container {:?}",
                container.name
            )
        }),
    }
}

fn as_port(number: i32) -> Result<u16, String> {
    u16::try_from(number).map_err(|_| format!("invalid port number: {number}"))
}

/// Sends the request; the status of the answer, or what went wrong in the words of Go's client.
pub(super) async fn get(
    pod: &Pod,
    container: &Container,
    action: &HTTPGetAction,
    limit: Duration,
) -> Result<u16, String> {
    if action
        .scheme
        .as_deref()
        .is_some_and(|s| s.eq_ignore_ascii_case("https"))
    {
        return Err("the sandbox sends no HTTPS probes; use scheme HTTP".to_owned());
    }
    let port = port(pod, container, &action.port)?;
    let host = action
        .host
        .as_deref()
        .filter(|h| !h.is_empty())
        .unwrap_or(&pod.ip);
    let path = action.path.as_deref().unwrap_or("/");
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    let url = format!("http://{host}:{port}{path}");
    let request = request(&format!("{host}:{port}"), &path, action)?;
    let told = |error: String| format!("Get \"{url}\": {error}");
    match tokio::time::timeout(limit, exchange(host, port, request)).await {
        Ok(result) => result.map_err(told),
        Err(_) => Err(told(
            "context deadline exceeded (Client.Timeout exceeded while awaiting headers)".to_owned(),
        )),
    }
}

fn request(
    authority: &str,
    path: &str,
    action: &HTTPGetAction,
) -> Result<Request<Empty<Bytes>>, String> {
    let mut request = Request::get(path)
        .header(header::HOST, authority)
        .header(header::USER_AGENT, "kube-probe/1.36")
        .header(header::ACCEPT, "*/*")
        .header(header::CONNECTION, "close")
        .body(Empty::new())
        .map_err(|e| format!("invalid path {path:?}: {e}"))?;
    for given in action.http_headers.iter().flatten() {
        let name: HeaderName = given
            .name
            .parse()
            .map_err(|e| format!("invalid header name {:?}: {e}", given.name))?;
        let value: HeaderValue = given
            .value
            .parse()
            .map_err(|e| format!("invalid value of header {:?}: {e}", given.name))?;
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}

async fn exchange(host: &str, port: u16, request: Request<Empty<Bytes>>) -> Result<u16, String> {
    let stream = connect(host, port).await?;
    let broken = |e: hyper::Error| {
        if e.is_incomplete_message() || e.is_canceled() {
            "EOF".to_owned()
        } else {
            e.to_string()
        }
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    let answer = async move {
        sender
            .send_request(request)
            .await
            .map(|r| r.status().as_u16())
    };
    tokio::pin!(answer);
    tokio::select! {
        status = &mut answer => status.map_err(broken),
        // The connection is driven here and goes with this future: nobody waits for the body.
        _ = connection => answer.await.map_err(broken),
    }
}

/// Opens a connection; an error in Go's words.
pub(super) async fn connect(host: &str, port: u16) -> Result<TcpStream, String> {
    TcpStream::connect((host, port)).await.map_err(|error| {
        let what = match error.kind() {
            std::io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
            std::io::ErrorKind::ConnectionReset => "connection reset by peer".to_owned(),
            _ => error.to_string(),
        };
        format!("dial tcp {host}:{port}: connect: {what}")
    })
}
